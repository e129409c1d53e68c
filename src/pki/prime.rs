//! The first prime at or after a number. Which one that is does not depend on how it is found: see [`super::rsa`].

use std::sync::LazyLock;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd, Resize as _};
use zeroize::Zeroizing;

use super::montgomery::Field;

/// How many odd numbers are looked at, the first included. Part of the definition of a key.
pub(super) const WINDOW: usize = 8192;

/// The bases of the prime test: the first primes. Part of the definition of a key.
///
/// Five rounds on a random number of 1024 bits let a composite through with a probability below 2^-119, on longer ones
/// far below that (Damgård, Landrock, Pomerance 1993, for random bases; FIPS 186 asks for as many rounds). The numbers
/// are the random part here, nobody can choose them to fit the bases.
const BASES: [u64; 5] = [2, 3, 5, 7, 11];

/// Primes below this are sieved out. More of them save tests and cost divisions: measured, not part of the definition.
const SIEVE: usize = 1 << 16;

/// The odd primes below [`SIEVE`], in groups whose product fits 32 bits, so that one long division serves a group.
static GROUPS: LazyLock<Vec<(u32, Vec<u32>)>> = LazyLock::new(|| {
    let mut composite = vec![false; SIEVE];
    let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
    for number in (3..SIEVE).step_by(2) {
        if composite[number] {
            continue;
        }
        (number * number..SIEVE).step_by(number).for_each(|multiple| composite[multiple] = true);
        let prime = number as u32;
        match groups
            .last_mut()
            .and_then(|(product, primes)| Some((product.checked_mul(prime)?, product, primes)))
        {
            Some((more, product, primes)) => {
                *product = more;
                primes.push(prime);
            }
            None => groups.push((prime, vec![prime])),
        }
    }
    groups
});

/// A number as little-endian words, wiped when dropped.
pub(super) type Words = Zeroizing<Vec<u64>>;

/// The first prime among `start`, `start + 2`, … that `accept` does not refuse by its remainder modulo `modulus`; none
/// if there is none in the window or in the length of `start`. `start` is odd, its highest bit is set.
pub(super) fn first_prime(start: &[u64], modulus: u32, accept: impl Fn(u32) -> bool) -> Option<Words> {
    let composite = sieve(start);
    let remainder = u64::from(remainder(start, modulus));
    (0..WINDOW as u64)
        .zip(&composite)
        .filter(|(index, composite)| {
            !**composite && accept(((remainder + 2 * index) % u64::from(modulus)) as u32)
        })
        .filter_map(|(index, _)| offset(start, 2 * index))
        .find(|candidate| is_prime(candidate))
}

/// Which numbers of the window have a small factor.
fn sieve(start: &[u64]) -> Vec<bool> {
    let mut composite = vec![false; WINDOW];
    for (product, primes) in GROUPS.iter() {
        let remainder = remainder(start, *product);
        for prime in primes {
            // start + 2 i = 0 modulo the prime: half of what is missing to its next odd multiple.
            let missing = (prime - remainder % prime) % prime;
            let half = if missing % 2 == 0 { missing / 2 } else { (missing + prime) / 2 };
            composite.iter_mut().skip(half as usize).step_by(*prime as usize).for_each(|flag| *flag = true);
        }
    }
    composite
}

fn remainder(number: &[u64], modulus: u32) -> u32 {
    let modulus = u64::from(modulus);
    let step = |rest: u64, half: u64| (rest << 32 | half) % modulus;
    number.iter().rev().fold(0, |rest, word| step(step(rest, word >> 32), word & 0xffff_ffff)) as u32
}

/// `start + add`; none if that needs another word.
fn offset(start: &[u64], add: u64) -> Option<Words> {
    let mut sum = Words::new(start.to_vec());
    let mut carry = add;
    for word in sum.iter_mut() {
        let (more, over) = word.overflowing_add(carry);
        *word = more;
        carry = u64::from(over);
    }
    (carry == 0).then_some(sum)
}

/// Whether a number of 1024, 1536 or 2048 bits is prime.
///
/// Unoptimised builds take the arithmetic of a crate that is always optimised; the answer is the same (tested).
fn is_prime(number: &[u64]) -> bool {
    if cfg!(debug_assertions) { is_prime_portable(number) } else { is_prime_fast(number) }
}

fn is_prime_fast(number: &[u64]) -> bool {
    fn with<const N: usize>(number: &[u64]) -> bool {
        let field = number.try_into().ok().and_then(Field::<N>::new);
        field.is_some_and(|field| BASES.iter().all(|base| field.is_probable_prime(*base)))
    }
    match number.len() {
        16 => with::<16>(number),
        24 => with::<24>(number),
        32 => with::<32>(number),
        _ => is_prime_portable(number),
    }
}

fn is_prime_portable(number: &[u64]) -> bool {
    let number = BoxedUint::from_words(number.iter().copied());
    let Some(odd) = Option::<Odd<BoxedUint>>::from(number.to_odd()) else { return false };
    let field = BoxedMontyParams::new_vartime(odd);
    let one = BoxedMontyForm::one(&field);
    let minus_one = one.neg();
    let less = number.wrapping_sub(BoxedUint::one_with_precision(number.bits_precision()));
    let twos = less.trailing_zeros_vartime();
    let exponent = less.wrapping_shr_vartime(twos);
    BASES.iter().all(|base| {
        let base = BoxedUint::from(*base).resize(number.bits_precision());
        let mut x = BoxedMontyForm::new(base, &field).pow(&exponent);
        x == one
            || x == minus_one
            || (1..twos).any(|_| {
                x = x.square();
                x == minus_one
            })
    })
}
