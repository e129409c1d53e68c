//! BLAKE3 digests and the ids based on them. An id is parsed once, printed one way, and never confused with another id.
//!
//! Text form: lower-case RFC 4648 base32 without padding, 52 characters. The last character carries only one bit, so
//! the decoder rejects spellings that no digest prints: an id has exactly one text.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE32_NOPAD;

use crate::base::hint::Hint;

/// Length of an id's text.
pub(crate) const TEXT_LENGTH: usize = 52;

/// 32 bytes of BLAKE3 output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Plain BLAKE3 of `bytes`, the digest of a public file.
    pub fn of(bytes: &[u8]) -> Self {
        blake3::hash(bytes).into()
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash.into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = encode(&self.0);
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        decode(text.as_bytes()).map(Self).ok_or_else(|| ParseError { text: text.to_owned() })
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id")]
pub struct ParseError {
    pub text: String,
}

impl Hint for ParseError {
    fn hint(&self) -> Option<String> {
        Some(format!("an id is {TEXT_LENGTH} characters of a-z and 2-7"))
    }
}

fn encode(bytes: &[u8; 32]) -> [u8; TEXT_LENGTH] {
    let mut text = [0; TEXT_LENGTH];
    BASE32_NOPAD.encode_mut(bytes, &mut text);
    text.make_ascii_lowercase();
    text
}

fn decode(text: &[u8]) -> Option<[u8; 32]> {
    if text.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    BASE32_NOPAD.decode(&text.to_ascii_uppercase()).ok()?.try_into().ok()
}

/// Whether `text` could be the start of an id: users may abbreviate ids.
pub(crate) fn is_prefix(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= TEXT_LENGTH
        && text.bytes().all(|c| matches!(c, b'a'..=b'z' | b'2'..=b'7'))
}

/// Declares an id: a newtype over [`Digest`] that parses, prints and serialises as its text.
macro_rules! id_type {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub Digest);

        impl From<Digest> for $name {
            fn from(digest: Digest) -> Self {
                Self(digest)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                text.parse().map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "description": $doc})
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id_type!(ObjectId, "Content of an output tree: the Merkle hash of its root directory.");
id_type!(DrvId, "Identity of a build, known before it runs.");
id_type!(
    KeyId,
    "Names the derived key that a secret object's digests are keyed with; says nothing about the key."
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 4648 text of known bytes: changing one of these changes every path in every store.
    #[test]
    fn text_is_pinned() {
        let counting: [u8; 32] = std::array::from_fn(|i| i as u8);
        assert_eq!(
            Digest::from(counting).to_string(),
            "aaaqeayeaudaocajbifqydiob4ibceqtcqkrmfyydenbwha5dypq"
        );
        assert_eq!(Digest::from([0xff; 32]).to_string(), format!("{}q", "7".repeat(51)));
        assert_eq!(Digest::of(b"").to_string(), "v4jutopv7gq2nicajxvdnxgjjgn4wjojvxarfn6mtkj4vza7gjra");
    }

    #[test]
    fn other_spellings_are_refused() {
        let text = Digest::of(b"x").to_string();
        assert!(text.to_uppercase().parse::<Digest>().is_err());
        assert!(text[1..].parse::<Digest>().is_err());
        assert!(format!("{text}a").parse::<Digest>().is_err());
        assert!(format!("{}b", "a".repeat(51)).parse::<Digest>().is_err(), "stray bits after the last byte");
    }

    proptest! {
        #[test]
        fn text_round_trips(bytes in any::<[u8; 32]>()) {
            let digest = Digest::from(bytes);
            prop_assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
            prop_assert!(is_prefix(&digest.to_string()[..7]));
        }

        #[test]
        fn parsing_never_panics_and_never_accepts_a_second_text(text in "[a-z2-7]{52}") {
            if let Ok(digest) = text.parse::<Digest>() {
                prop_assert_eq!(digest.to_string(), text);
            }
        }
    }
}
