//! Secret values: masked when printed, wiped when dropped, compared and hashed only on purpose.
//!
//! All randomness of a cluster comes from its [`Seed`], as [`Stream`]s of bytes: one per purpose and name, each
//! revealing nothing about any other.
//!
//! A short secret could be guessed from its plain hash, so secrets are hashed with a key that is derived from the seed
//! ([`IdKey`]). The same seed yields the same ids on every machine; without it an id reveals nothing.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use crate::base::digest::{Digest, KeyId};

/// Printed in place of a secret.
pub(crate) const MASK: &str = "(secret)";

/// A secret text. It has no `Display`, its `Debug` prints the mask, and it cannot be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes ownership, so that no copy stays behind.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The value itself. Review every call.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// The value as text; none if it is not UTF-8.
    pub fn reveal_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Length of a seed and of every key.
pub(crate) const KEY_LENGTH: usize = 32;

/// The root of a cluster's identity. Builders never see it: they get [`Stream`]s derived from it.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed(Zeroizing<[u8; KEY_LENGTH]>);

impl Seed {
    pub fn new(bytes: Zeroizing<[u8; KEY_LENGTH]>) -> Self {
        Self(bytes)
    }

    /// The bytes, to be stored in a seed file and nowhere else.
    pub fn reveal(&self) -> &[u8; KEY_LENGTH] {
        &self.0
    }

    pub fn id_key(&self) -> IdKey {
        IdKey::from_seed(&self.0)
    }

    /// The seed's public name, by which a lock recognises it.
    pub fn fingerprint(&self) -> KeyId {
        self.id_key().id()
    }

    /// Identifies the seed in a derivation without revealing it.
    pub fn digest(&self) -> Digest {
        self.id_key().digest_value(&Secret::new(self.0.to_vec()))
    }

    /// Endless bytes for one purpose and name. Purposes are constants of this crate and contain a version: the bytes
    /// never change.
    pub fn stream(&self, purpose: &str, name: &[&str]) -> Stream {
        let mut hasher =
            blake3::Hasher::new_keyed(&Zeroizing::new(blake3::derive_key(purpose, self.reveal())));
        for part in name {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let reader = hasher.finalize_xof();
        hasher.zeroize();
        Stream(reader)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Endless, deterministic secret bytes.
pub struct Stream(blake3::OutputReader);

impl Stream {
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }

    pub fn take<const N: usize>(&mut self) -> Zeroizing<[u8; N]> {
        let mut bytes = Zeroizing::new([0; N]);
        self.fill(bytes.as_mut());
        bytes
    }

    /// A uniformly distributed number below `bound`, by rejection sampling.
    pub fn below(&mut self, bound: u32) -> u32 {
        let fair = u32::MAX - u32::MAX % bound.max(1);
        loop {
            let drawn = u32::from_le_bytes(*self.take());
            if drawn < fair {
                return drawn % bound.max(1);
            }
        }
    }

    /// `length` uniformly distributed characters of an alphabet.
    pub fn text(&mut self, alphabet: &str, length: usize) -> Zeroizing<String> {
        let letters: Vec<char> = alphabet.chars().collect();
        Zeroizing::new((0..length).map(|_| letters[self.below(letters.len() as u32) as usize]).collect())
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The key of a cluster's secret digests. Derived from the seed, which cannot be recovered from it.
#[derive(Clone, PartialEq, Eq)]
pub struct IdKey(Zeroizing<[u8; KEY_LENGTH]>);

impl IdKey {
    pub fn from_seed(seed: &[u8; KEY_LENGTH]) -> Self {
        Self(Zeroizing::new(blake3::derive_key("tinderbox 2026-11-16 key of secret ids v1", seed)))
    }

    /// Takes a previously derived key, as kept in the store.
    pub fn from_bytes(bytes: [u8; KEY_LENGTH]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The key itself, to be stored in a file of mode 0600 and nowhere else.
    pub fn reveal(&self) -> &[u8; KEY_LENGTH] {
        &self.0
    }

    /// The key's public name.
    pub fn id(&self) -> KeyId {
        Digest::from(blake3::derive_key("tinderbox 2026-11-16 name of a key v1", self.reveal())).into()
    }

    /// A hasher for one purpose. Purposes are constants of this crate; none is used twice.
    pub fn hasher(&self, purpose: &str) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&Zeroizing::new(blake3::derive_key(purpose, self.reveal())))
    }

    /// Digest of a secret value that is part of a derivation.
    pub fn digest_value(&self, secret: &Secret) -> Digest {
        self.hasher("tinderbox 2026-11-16 secret value v1").update(secret.reveal()).finalize().into()
    }
}

impl fmt::Debug for IdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdKey({})", self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Literal digests: changing one changes the id of every secret object. Decide it, and say so in the commit.
    #[test]
    fn keyed_ids_are_pinned() {
        let key = IdKey::from_seed(&[7; 32]);
        assert_eq!(key.id().to_string(), "kh43smy63gjis6m733pn5kojan4hie4nk3qo5ixfpju3e5h2of2q");
        assert_eq!(
            key.digest_value(&Secret::from("pull".to_owned())).to_string(),
            "p33wy73pq2oxamtwwzumzayuerhgbqofrziclgltib7ya5gsvviq"
        );
        assert_ne!(key.digest_value(&Secret::from("pull".to_owned())), Digest::of(b"pull"));
    }

    /// Literal bytes: changing one gives every cluster new keys. Decide it, and say so in the commit.
    #[test]
    fn streams_are_pinned_and_apart() {
        let seed = Seed::new(Zeroizing::new([7; 32]));
        let first = |purpose: &str, name: &[&str]| {
            data_encoding::HEXLOWER.encode(&*seed.stream(purpose, name).take::<8>())
        };
        insta::assert_snapshot!(first("a", &["b", "c"]), @"c660f1f41ca7cfcc");
        let all = [
            first("a", &["b", "c"]),
            first("a", &["bc"]),
            first("a", &["b", "c", ""]),
            first("b", &["b", "c"]),
        ];
        let apart: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(apart.len(), all.len());
    }

    #[test]
    fn draws_are_fair() {
        let mut stream = Seed::new(Zeroizing::new([7; 32])).stream("draws", &[]);
        let mut seen = [0u32; 7];
        (0..7000).for_each(|_| seen[stream.below(7) as usize] += 1);
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
        assert_eq!(stream.below(1), 0);
        assert_eq!(stream.text("x", 3).as_str(), "xxx");
    }

    #[test]
    fn debug_shows_the_mask() {
        let secret = Secret::from("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), MASK);
        assert_eq!(secret.reveal_text(), Some("hunter2"));
    }
}
