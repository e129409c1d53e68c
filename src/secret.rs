//! Values that must not be seen: masked when printed, wiped when dropped, compared and hashed only on purpose.
//!
//! A short secret could be guessed from its plain hash, so everything secret is hashed with a key that comes from the
//! seed ([`IdKey`]). The same seed gives the same ids on every machine; without it an id says nothing.

use std::fmt;

use zeroize::Zeroizing;

use crate::digest::{Digest, KeyId};

/// What stands in place of a secret wherever one would be printed.
pub const MASK: &str = "(secret)";

/// A secret text. It has no `Display`, its `Debug` is the mask, and it is not serialisable.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes ownership, so that no second copy stays behind.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The value itself. Every call is a place to look at in a review.
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
pub const KEY_LENGTH: usize = 32;

/// The key of all digests of secret things of one cluster. Derived from the seed; the seed cannot be had back from it.
#[derive(Clone, PartialEq, Eq)]
pub struct IdKey(Zeroizing<[u8; KEY_LENGTH]>);

impl IdKey {
    /// Derives the key from a seed.
    pub fn from_seed(seed: &[u8; KEY_LENGTH]) -> Self {
        Self(Zeroizing::new(blake3::derive_key("tinderbox 2026-11-16 key of secret ids v1", seed)))
    }

    /// Takes a key that was derived before, as the store keeps it.
    pub fn from_bytes(bytes: [u8; KEY_LENGTH]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The key itself, to be kept in a file of mode 0600 and nowhere else.
    pub fn reveal(&self) -> &[u8; KEY_LENGTH] {
        &self.0
    }

    /// The key's public name.
    pub fn id(&self) -> KeyId {
        Digest::from(blake3::derive_key("tinderbox 2026-11-16 name of a key v1", self.reveal())).into()
    }

    /// A hasher for one purpose. Purposes are constants of this crate and never share a hash.
    pub fn hasher(&self, purpose: &str) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&Zeroizing::new(blake3::derive_key(purpose, self.reveal())))
    }

    /// Digest of a secret value that takes part in a derivation.
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

    /// Literal digests: a change here changes the id of every secret object. Decide it, and say so in the commit.
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

    #[test]
    fn debug_shows_the_mask() {
        let secret = Secret::from("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), MASK);
        assert_eq!(secret.reveal_text(), Some("hunter2"));
    }
}
