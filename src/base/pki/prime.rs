//! Finds the first prime at or after a number. The search method does not affect the result: see [`super::rsa`].

use std::sync::LazyLock;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd, Resize as _};
use zeroize::Zeroizing;

use super::montgomery::{Field, negative_inverse};

/// How many odd numbers are tested, the first included. Part of the definition of a key.
pub(super) const WINDOW: usize = 8192;

/// The bases of the prime test: the first primes. Part of the definition of a key.
///
/// Five rounds on a random 1024-bit number let a composite through with a probability below 2^-119, on longer numbers
/// far below that (Damgård, Landrock, Pomerance 1993, for random bases; FIPS 186 asks for as many rounds). Here the
/// numbers are random instead: nobody can choose them to fit the bases.
const BASES: [u64; 5] = [2, 3, 5, 7, 11];

/// Primes below this are sieved out. Chosen by measurement, not part of the definition: more primes save tests but cost
/// divisions, which are slow without optimisation.
const SIEVE: usize = if cfg!(debug_assertions) { 1 << 14 } else { 1 << 19 };

/// The odd primes below [`SIEVE`], in groups: one long remainder serves a whole group.
static PRIMES: LazyLock<(Vec<u32>, Vec<Group>)> = LazyLock::new(|| {
    let mut composite = vec![false; SIEVE];
    let mut primes: Vec<u32> = Vec::new();
    for number in (3..SIEVE).step_by(2) {
        if !composite[number] {
            (number * number..SIEVE).step_by(number).for_each(|multiple| composite[multiple] = true);
            primes.push(number as u32);
        }
    }
    let mut groups = Vec::new();
    let (mut product, mut count) = (1, 0);
    for prime in primes.iter().map(|prime| u64::from(*prime)) {
        if product >= Group::LIMIT / prime {
            groups.push(Group::new(product, count));
            (product, count) = (1, 0);
        }
        product *= prime;
        count += 1;
    }
    groups.push(Group::new(product, count));
    (primes, groups)
});

/// Some primes and their product `m`, with the constants for Montgomery reduction.
struct Group {
    count: usize,
    product: u64,
    /// `-1 / m` modulo 2^64.
    inverse: u64,
    /// `2^128 mod m`.
    square: u64,
}

impl Group {
    /// Products stay below this, so that numbers below `2 m` can be multiplied without a last subtraction.
    const LIMIT: u64 = 1 << 62;

    fn new(product: u64, count: usize) -> Self {
        let word = (1u128 << 64) % u128::from(product);
        let square = (word * word % u128::from(product)) as u64;
        Self { count, product, inverse: negative_inverse(product), square }
    }

    /// `wide / 2^64` modulo `m`, below `2 m`.
    fn reduce(&self, wide: u128) -> u64 {
        let multiple = (wide as u64).wrapping_mul(self.inverse);
        ((wide + u128::from(multiple) * u128::from(self.product)) >> 64) as u64
    }

    /// A number congruent to `number` modulo `m`.
    fn remainder(&self, number: &[u64]) -> u64 {
        let multiply = |a: u64, b: u64| self.reduce(u128::from(a) * u128::from(b));
        // Each word divides by 2^64 once more; the end multiplies by that power.
        let divided = number.iter().fold(0, |sum, word| self.reduce(u128::from(*word) + u128::from(sum)));
        let words = number.len().max(1);
        let power = (0..words.ilog2()).rev().fold(self.square, |power, bit| {
            let squared = multiply(power, power);
            if words >> bit & 1 == 1 { multiply(squared, self.square) } else { squared }
        });
        multiply(divided, power)
    }
}

/// A number as little-endian words, wiped when dropped.
pub(super) type Words = Zeroizing<Vec<u64>>;

/// The first prime among `start`, `start + 2`, … whose remainder modulo `modulus` passes `accept`; none if there is
/// none in the window or in the length of `start`. `start` is odd and its highest bit is set.
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

/// Which numbers in the window have a small factor.
fn sieve(start: &[u64]) -> Vec<bool> {
    let mut composite = vec![false; WINDOW];
    let (primes, groups) = &*PRIMES;
    let mut primes = primes.iter();
    for group in groups {
        let remainder = group.remainder(start);
        for prime in primes.by_ref().take(group.count) {
            // The first i with start + 2 i = 0 modulo the prime: half the distance to its next odd multiple.
            let missing = prime - (remainder % u64::from(*prime)) as u32;
            let half = if missing == *prime {
                0
            } else if missing.is_multiple_of(2) {
                missing / 2
            } else {
                (missing + prime) / 2
            };
            let mut index = half as usize;
            while let Some(flag) = composite.get_mut(index) {
                *flag = true;
                index += *prime as usize;
            }
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
/// Unoptimised builds use a crate that is always optimised; the result is the same (tested).
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^1024 - 105 is the largest prime of that length.
    fn largest() -> Vec<u64> {
        let mut words = vec![u64::MAX; 16];
        words[0] -= 104;
        words
    }

    #[test]
    fn both_ways_see_the_same() {
        let prime = largest();
        assert!(is_prime_fast(&prime) && is_prime_portable(&prime));
        for less in [2, 4, 6, 8] {
            let mut other = prime.clone();
            other[0] -= less;
            assert!(!is_prime_fast(&other) && !is_prime_portable(&other));
        }
    }

    #[test]
    fn the_first_prime_is_found_within_the_length() {
        let mut start = largest();
        start[0] -= 2;
        assert_eq!(*first_prime(&start, 3, |_| true).unwrap(), largest());
        start[0] += 4;
        assert!(first_prime(&start, 3, |_| true).is_none());
    }

    /// The sieve finds exactly the numbers with small factors.
    #[test]
    fn the_sieve_is_right() {
        let start: Vec<u64> = (1..=16).map(|i| (u64::MAX / i) | 1).collect();
        let composite = sieve(&start);
        let (primes, _) = &*PRIMES;
        for (index, flag) in composite.iter().enumerate().step_by(61) {
            let number = offset(&start, 2 * index as u64).unwrap();
            assert_eq!(*flag, primes.iter().any(|prime| remainder(&number, *prime) == 0), "{index}");
        }
    }

    #[test]
    fn remainders_agree() {
        let number: Vec<u64> = (1..=24).map(|i| u64::MAX / i).collect();
        let (primes, groups) = &*PRIMES;
        let mut rest = primes.iter();
        for group in groups {
            let long = group.remainder(&number);
            for prime in rest.by_ref().take(group.count) {
                assert_eq!((long % u64::from(*prime)) as u32, remainder(&number, *prime));
            }
        }
        assert!(rest.next().is_none());
    }
}
