//! ed25519 keys. A private key is PKCS#8 in PEM, a public one `ed25519:<base64>`, or SubjectPublicKeyInfo in PEM for other
//! tools: openssl and cosign read both.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use data_encoding::HEXLOWER;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use zeroize::Zeroizing;

use crate::base::hint::Hint;
use crate::engine::registry::Sha256;

/// PKCS#8, version 1, of an ed25519 key: this, and its 32 bytes.
const PRIVATE: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// SubjectPublicKeyInfo of an ed25519 key: this, and its 32 bytes.
const PUBLIC: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

const PREFIX: &str = "ed25519:";

/// Characters of a key's name: enough that nobody meets two keys with the same, and short enough for tags.
const NAME: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct KeyError(&'static str);

impl Hint for KeyError {
    fn hint(&self) -> Option<String> {
        Some("`tinderbox key generate` makes a key, and `tinderbox key show` prints its public half".into())
    }
}

/// The private half; its owner signs outputs that it built.
pub(crate) struct SigningKey {
    pair: Ed25519KeyPair,
    seed: Zeroizing<[u8; 32]>,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public().name())
    }
}

impl SigningKey {
    pub(crate) fn generate() -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut()).map_err(|_| KeyError("the system has no randomness"))?;
        Self::from_seed(seed)
    }

    pub(super) fn from_seed(seed: Zeroizing<[u8; 32]>) -> Result<Self, KeyError> {
        let pair =
            Ed25519KeyPair::from_seed_unchecked(&*seed).map_err(|_| KeyError("it is not an ed25519 key"))?;
        Ok(Self { pair, seed })
    }

    /// Reads PEM. Errors quote nothing.
    pub(crate) fn from_pem(text: &str) -> Result<Self, KeyError> {
        let wrong = || KeyError("it is not an ed25519 key: PKCS#8 in PEM");
        let body = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).ok_or_else(wrong)?.0;
        let body: Zeroizing<String> = Zeroizing::new(body.split_whitespace().collect());
        let der = Zeroizing::new(STANDARD.decode(body.as_bytes()).map_err(|_| wrong())?);
        // Version 2 has the public half behind it.
        let seed = der.get(PRIVATE.len()..PRIVATE.len() + 32).ok_or_else(wrong)?;
        let is_key = der[2..5] == PRIVATE[2..5] || der[2..5] == [0x02, 0x01, 0x01];
        if !is_key || der[5..PRIVATE.len()] != PRIVATE[5..] {
            return Err(wrong());
        }
        let mut own = Zeroizing::new([0; 32]);
        own.copy_from_slice(seed);
        Self::from_seed(own)
    }

    pub(crate) fn to_pem(&self) -> Zeroizing<String> {
        let der = Zeroizing::new([&PRIVATE[..], &self.seed[..]].concat());
        let body = Zeroizing::new(STANDARD.encode(&*der));
        Zeroizing::new(format!("{BEGIN}\n{}\n{END}\n", &*body))
    }

    pub(crate) fn public(&self) -> PublicKey {
        let mut key = [0; 32];
        key.copy_from_slice(self.pair.public_key().as_ref());
        PublicKey(key)
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

/// The public half: whoever has it can check signatures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PublicKey([u8; 32]);

impl PublicKey {
    fn spki(&self) -> Vec<u8> {
        [&PUBLIC[..], &self.0[..]].concat()
    }

    pub(crate) fn to_pem(self) -> String {
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(self.spki()))
    }

    /// Its name in tags and envelopes: the start of the SHA-256 of its SubjectPublicKeyInfo.
    pub(crate) fn name(&self) -> String {
        Sha256::of(&self.spki()).hex()[..NAME].to_owned()
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({})", HEXLOWER.encode(&self.0[..4]))
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let wrong = KeyError("a public key is `ed25519:` and 44 characters of base64");
        let bytes = text.strip_prefix(PREFIX).and_then(|text| STANDARD.decode(text).ok()).ok_or(wrong)?;
        bytes.try_into().map(Self).map_err(|_| wrong)
    }
}
