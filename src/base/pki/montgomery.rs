//! Modular squaring and doubling for an odd modulus: all that a prime test with a small base needs, and its whole cost.
//!
//! Written here because it is the hot loop of RSA key generation: columns summed in three words (Comba) take a third
//! less time than the constant-time arithmetic of `crypto-bigint`, which does everything else. The loop over a number's
//! bits and the final subtraction depend on the number: not constant-time, see [`super::rsa`].

/// Arithmetic modulo `n`: odd, and as long as its array (the highest bit is set). Numbers are little-endian words in
/// Montgomery form: `x` stands for `x / 2^(64 N)`.
pub(super) struct Field<const N: usize> {
    n: [u64; N],
    /// `-1 / n` modulo 2^64.
    inverse: u64,
    /// One, in Montgomery form: `2^(64 N) mod n`.
    one: [u64; N],
}

/// A column's sum: three words, room for 2^64 products.
#[derive(Clone, Copy, Default)]
struct Sum {
    low: u128,
    high: u64,
}

impl Sum {
    #[inline(always)]
    fn add(&mut self, a: u64, b: u64) {
        self.add_wide(u128::from(a) * u128::from(b), 0);
    }

    #[inline(always)]
    fn add_wide(&mut self, low: u128, high: u64) {
        let (sum, carry) = self.low.overflowing_add(low);
        self.low = sum;
        self.high += high + u64::from(carry);
    }

    /// Adds column `k` of `x²`, whose pairs start with word `from`.
    #[inline(always)]
    fn add_pairs<const N: usize>(&mut self, x: &[u64; N], from: usize, k: usize) {
        let mut pairs = Self::default();
        for i in from..k.div_ceil(2) {
            pairs.add(x[i], x[k - i]);
        }
        pairs.high = pairs.high << 1 | (pairs.low >> 127) as u64;
        pairs.low <<= 1;
        if k.is_multiple_of(2) {
            pairs.add(x[k / 2], x[k / 2]);
        }
        self.add_wide(pairs.low, pairs.high);
    }

    /// Removes the lowest word; the rest is the carry into the next column.
    #[inline(always)]
    fn shift(&mut self) -> u64 {
        let word = self.low as u64;
        self.low = self.low >> 64 | u128::from(self.high) << 64;
        self.high = 0;
        word
    }
}

/// `-1 / n` modulo 2^64, for an odd `n`.
pub(super) fn negative_inverse(n: u64) -> u64 {
    // Newton: each step doubles the number of correct bits, and an odd number is its own inverse modulo 8.
    (0..5).fold(n, |x, _| x.wrapping_mul(2u64.wrapping_sub(n.wrapping_mul(x)))).wrapping_neg()
}

/// `a - b`, and whether it underflowed.
#[inline(always)]
fn subtract<const N: usize>(a: &[u64; N], b: &[u64; N]) -> ([u64; N], bool) {
    let mut difference = [0; N];
    let mut borrow = false;
    for i in 0..N {
        let (word, first) = a[i].overflowing_sub(b[i]);
        let (word, second) = word.overflowing_sub(u64::from(borrow));
        difference[i] = word;
        borrow = first | second;
    }
    (difference, borrow)
}

impl<const N: usize> Field<N> {
    /// None if `n` is even or shorter than its array.
    pub(super) fn new(n: [u64; N]) -> Option<Self> {
        if n.first()? & 1 == 0 || n.last()? >> 63 == 0 {
            return None;
        }
        let (one, _) = subtract(&[0; N], &n);
        Some(Self { n, inverse: negative_inverse(n[0]), one })
    }

    /// Reduces `x + carry * 2^(64 N)`, which is below `2 n`, to below `n`.
    #[inline(always)]
    fn reduce(&self, x: [u64; N], carry: bool) -> [u64; N] {
        let (less, borrow) = subtract(&x, &self.n);
        if carry || !borrow { less } else { x }
    }

    fn add(&self, a: &[u64; N], b: &[u64; N]) -> [u64; N] {
        let mut sum = [0; N];
        let mut carry = false;
        for i in 0..N {
            let (word, first) = a[i].overflowing_add(b[i]);
            let (word, second) = word.overflowing_add(u64::from(carry));
            sum[i] = word;
            carry = first | second;
        }
        self.reduce(sum, carry)
    }

    /// `x * factor`, for a factor small enough that doubling and adding is cheap.
    fn times(&self, x: &[u64; N], factor: u64) -> [u64; N] {
        let mut product = *x;
        for bit in (0..factor.max(1).ilog2()).rev() {
            product = self.add(&product, &product);
            if factor >> bit & 1 == 1 {
                product = self.add(&product, x);
            }
        }
        product
    }

    /// `x²`, column by column: the square's products (each pair once, doubled), then the multiples of `n` that make
    /// the lower half vanish.
    #[inline(never)]
    fn square(&self, x: &mut [u64; N]) {
        let n = &self.n;
        let mut multiples = [0; N];
        let mut result = [0; N];
        let mut sum = Sum::default();
        for k in 0..N {
            sum.add_pairs(x, 0, k);
            for i in 0..k {
                sum.add(multiples[i], n[k - i]);
            }
            multiples[k] = (sum.low as u64).wrapping_mul(self.inverse);
            sum.add(multiples[k], n[0]);
            sum.shift();
        }
        for k in N..2 * N - 1 {
            sum.add_pairs(x, k + 1 - N, k);
            for i in k + 1 - N..N {
                sum.add(multiples[i], n[k - i]);
            }
            result[k - N] = sum.shift();
        }
        result[N - 1] = sum.shift();
        *x = self.reduce(result, sum.low != 0);
    }

    /// Miller-Rabin: whether `n` looks prime to a small base. A prime always does.
    pub(super) fn is_probable_prime(&self, base: u64) -> bool {
        let (minus_one, _) = subtract(&self.n, &self.one);
        let bit = |index: usize| self.n[index / 64] >> (index % 64) & 1 == 1;
        let twos = (1..64 * N).find(|index| bit(*index)).unwrap_or(1);
        let mut x = self.one;
        for index in (twos..64 * N).rev() {
            self.square(&mut x);
            if bit(index) {
                x = self.times(&x, base);
            }
        }
        if x == self.one || x == minus_one {
            return true;
        }
        (1..twos).any(|_| {
            self.square(&mut x);
            x == minus_one
        })
    }
}

#[cfg(test)]
mod tests {
    use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
    use crypto_bigint::{BoxedUint, Resize as _};
    use proptest::prelude::*;

    use super::*;

    /// A number in the Montgomery form of `crypto-bigint`.
    fn other<const N: usize>(x: &[u64; N], n: &[u64; N]) -> BoxedMontyForm {
        let field = BoxedMontyParams::new_vartime(BoxedUint::from_words(*n).to_odd().unwrap());
        BoxedMontyForm::from_montgomery(BoxedUint::from_words(*x), &field)
    }

    fn same<const N: usize>(mut n: [u64; N], x: [u64; N], factor: u64) {
        n[0] |= 1;
        n[N - 1] |= 1 << 63;
        let field = Field::new(n).unwrap();
        let x = field.reduce(x, false);
        let theirs = other(&x, &n);
        let ours = |number: BoxedMontyForm| number.to_montgomery().to_words().to_vec();
        let mut squared = x;
        field.square(&mut squared);
        assert_eq!(squared.to_vec(), ours(theirs.square()));
        let multiplier = BoxedUint::from(factor).resize(64 * N as u32);
        let multiplier = BoxedMontyForm::new(multiplier, theirs.params());
        assert_eq!(field.times(&x, factor).to_vec(), ours(theirs.mul(&multiplier)));
        assert_eq!(field.one.to_vec(), ours(BoxedMontyForm::one(theirs.params())));
    }

    /// Words that produce carries.
    fn word() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), Just(u64::MAX), Just(1), Just(1 << 63), any::<u64>()]
    }

    proptest! {
        #[test]
        fn numbers_agree_with_crypto_bigint(
            n in proptest::collection::vec(word(), 32),
            x in proptest::collection::vec(word(), 32),
            factor in 1u64..100,
        ) {
            same::<2>(n[..2].try_into().unwrap(), x[..2].try_into().unwrap(), factor);
            same::<16>(n[..16].try_into().unwrap(), x[..16].try_into().unwrap(), factor);
            same::<32>(n[..].try_into().unwrap(), x[..].try_into().unwrap(), factor);
        }
    }

    #[test]
    fn fields_are_odd_and_full() {
        assert!(Field::new([2, 1 << 63]).is_none());
        assert!(Field::new([1, 1]).is_none());
        assert!(Field::new([1, 1 << 63]).is_some());
    }

    /// 2^64 - 59 is the largest prime of a word, 2^32 - 5 that of half a word.
    #[test]
    fn primes_are_seen() {
        let prime = Field::new([u64::MAX - 58]).unwrap();
        let square = Field::new([4294967291 * 4294967291]).unwrap();
        for base in [2, 3, 5, 7, 11] {
            assert!(prime.is_probable_prime(base));
            assert!(!square.is_probable_prime(base));
        }
    }
}
