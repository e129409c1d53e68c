//! Derives RSA keys from a stream of bytes. Written and pinned here so that a seed yields the same keys on every
//! machine and after every crate update.
//!
//! # The definition, v1
//!
//! 1. A prime of `bits / 2` bits: draw that many bits (big-endian bytes); set the two highest and the lowest; take the
//!    first prime among that number and the following 8191 odd numbers of the same length whose remainder modulo 65537
//!    is not 1. If there is none, draw again.
//! 2. `p` is the first such prime, `q` the next drawn with `|p - q| > 2^(bits/2 - 100)`; the larger becomes `p`.
//! 3. `e = 65537`, `d = 1/e` modulo the least common multiple of `p - 1` and `q - 1`. If `d` is not longer than
//!    `bits / 2` bits, start again at 1.
//!
//! "Prime" means: passes Miller-Rabin to the bases 2, 3, 5, 7 and 11. The sieve before that only saves time. The two
//! highest bits make `p q` exactly `bits` long. Taking the next prime favours primes after long gaps, as OpenSSL's
//! search does; that costs a fraction of a bit.
//!
//! # Timing
//!
//! The prime search is not constant-time: its duration reveals how many candidates were tried, and a spy sharing the
//! processor's caches could see more. We accept that: keys are generated once, offline, by the user who owns the seed
//! file next to them, and no attacker can request a second, timed run. The derived values are computed with
//! `crypto-bigint` and signatures with `ring`, both constant-time.

use crypto_bigint::{BoxedUint, ConcatenatingMul as _, Gcd as _, NonZero, Resize as _};
use zeroize::Zeroizing;

use super::prime::{Words, first_prime};
use crate::base::secret::Stream;

/// The public exponent of every generated key.
const E: u32 = 65537;

/// A key's numbers, big-endian.
pub(super) struct Numbers {
    pub(super) n: Vec<u8>,
    pub(super) e: Vec<u8>,
    pub(super) d: Zeroizing<Vec<u8>>,
    pub(super) p: Zeroizing<Vec<u8>>,
    pub(super) q: Zeroizing<Vec<u8>>,
    /// `d` modulo `p - 1`.
    pub(super) dp: Zeroizing<Vec<u8>>,
    /// `d` modulo `q - 1`.
    pub(super) dq: Zeroizing<Vec<u8>>,
    /// `1/q` modulo `p`.
    pub(super) inverse: Zeroizing<Vec<u8>>,
}

/// Draws a key of 2048, 3072 or 4096 bits.
pub(super) fn generate(stream: &mut Stream, bits: u32) -> Numbers {
    let half = bits / 2;
    loop {
        let p = prime(stream, half);
        let mut q = prime(stream, half);
        while distance(&p, &q).bits_vartime() <= half - 100 {
            q = prime(stream, half);
        }
        let (p, q) = if *p > *q { (p, q) } else { (q, p) };
        if let Some(numbers) = derive(&p, &q) {
            return numbers;
        }
    }
}

/// A prime `p` of `bits` bits with `p - 1` coprime to the public exponent.
fn prime(stream: &mut Stream, bits: u32) -> Zeroizing<BoxedUint> {
    let mut bytes = Zeroizing::new(vec![0; bits as usize / 8]);
    loop {
        stream.fill(&mut bytes);
        let mut start: Words = Zeroizing::new(
            bytes
                .rchunks(8)
                .map(|word| word.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
                .collect(),
        );
        if let Some(last) = start.last_mut() {
            *last |= 3 << 62;
        }
        if let Some(first) = start.first_mut() {
            *first |= 1;
        }
        if let Some(found) = first_prime(&start, E, |remainder| remainder != 1) {
            return Zeroizing::new(BoxedUint::from_words(found.iter().copied()));
        }
    }
}

fn distance(p: &BoxedUint, q: &BoxedUint) -> Zeroizing<BoxedUint> {
    Zeroizing::new(if p > q { p.wrapping_sub(q) } else { q.wrapping_sub(p) })
}

/// Derives the remaining numbers from the primes; none if `d` is too short.
fn derive(p: &BoxedUint, q: &BoxedUint) -> Option<Numbers> {
    let half = p.bits_precision();
    let one = BoxedUint::one_with_precision(half);
    let (p1, q1) = (Zeroizing::new(p.wrapping_sub(&one)), Zeroizing::new(q.wrapping_sub(&one)));
    let common = Zeroizing::new(p1.gcd(&q1));
    let multiple = Zeroizing::new(p1.wrapping_div(&*non_zero(&common)?).concatenating_mul(&*q1));
    let d = inverse_of_e(&multiple)?;
    if d.bits() <= half {
        return None;
    }
    let inverse: Option<BoxedUint> = q.invert_odd_mod(&Option::from(p.to_odd())?).into();
    Some(Numbers {
        n: p.concatenating_mul(q).to_be_bytes_trimmed_vartime().into(),
        e: vec![1, 0, 1],
        dp: bytes(&*inverse_of_e(&p1)?),
        dq: bytes(&*inverse_of_e(&q1)?),
        d: bytes(&d),
        p: bytes(p),
        q: bytes(q),
        inverse: bytes(&Zeroizing::new(inverse?)),
    })
}

fn non_zero(number: &BoxedUint) -> Option<Zeroizing<NonZero<BoxedUint>>> {
    Option::from(number.to_nz()).map(Zeroizing::new)
}

/// `1/e` modulo a number.
fn inverse_of_e(modulus: &BoxedUint) -> Option<Zeroizing<BoxedUint>> {
    let e = BoxedUint::from(E).resize(modulus.bits_precision());
    let inverse: Option<BoxedUint> = e.invert_mod(&*non_zero(modulus)?).into();
    inverse.map(Zeroizing::new)
}

fn bytes(number: &BoxedUint) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(number.to_be_bytes_trimmed_vartime().into())
}
