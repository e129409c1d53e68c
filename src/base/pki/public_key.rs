//! Public keys that stand alone, and whether they made a signature.

use std::fmt;

use der::{Decode as _, Encode as _};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use sha2::Digest as _;
use x509_cert::spki::SubjectPublicKeyInfoRef;

use super::key::{RSA, bits_of, kind_of_key};
use super::{PkiError, name, pem};

const WHAT: &str = "public key";

/// An RSA or ECDSA key that verifies signatures over SHA-256.
#[derive(Clone)]
pub(crate) struct PublicKey {
    /// The SubjectPublicKeyInfo.
    der: Vec<u8>,
    bits: Vec<u8>,
    algorithm: &'static dyn VerificationAlgorithm,
}

impl PublicKey {
    /// Reads all public keys of a PEM text, at least one, which may contain nothing else.
    pub(crate) fn all_from_pem(text: &str) -> Result<Vec<Self>, PkiError> {
        let blocks = pem::read(text)?;
        if let Some(found) = blocks.iter().map(|block| &block.label).find(|label| *label != "PUBLIC KEY") {
            return Err(PkiError::Missing { what: WHAT, found: Some(found.clone()) });
        }
        let keys: Vec<Self> =
            blocks.iter().map(|block| Self::from_der(&block.der)).collect::<Result<_, _>>()?;
        match keys.is_empty() {
            true => Err(PkiError::Missing { what: WHAT, found: None }),
            false => Ok(keys),
        }
    }

    fn from_der(der: &[u8]) -> Result<Self, PkiError> {
        let damaged = |error: der::Error| PkiError::Damaged { what: WHAT, reason: error.to_string() };
        let key = SubjectPublicKeyInfoRef::from_der(der).map_err(damaged)?;
        let bits = key.subject_public_key.raw_bytes().to_vec();
        let kind = match key.algorithm.oid {
            RSA => {
                let key = pkcs1::RsaPublicKeyRef::from_der(&bits).map_err(damaged)?;
                format!("rsa-{}", bits_of(key.modulus.as_bytes()))
            }
            other => kind_of_key(other, key.algorithm.parameters.and_then(|any| any.decode_as().ok())),
        };
        let size = kind.strip_prefix("rsa-").and_then(|bits| bits.parse::<usize>().ok());
        let algorithm: &'static dyn VerificationAlgorithm = match (kind.as_str(), size) {
            ("ecdsa-p256", _) => &ECDSA_P256_SHA256_ASN1,
            ("ecdsa-p384", _) => &ECDSA_P384_SHA256_ASN1,
            (_, Some(2048..=8192)) => &RSA_PKCS1_2048_8192_SHA256,
            _ => return Err(PkiError::Unsupported { kind }),
        };
        Ok(Self { der: key.to_der().map_err(damaged)?, bits, algorithm })
    }

    /// SHA-256 of the SubjectPublicKeyInfo, in hexadecimal: `openssl pkey -pubin -outform DER | sha256sum`.
    pub(crate) fn fingerprint(&self) -> String {
        name::hex(&sha2::Sha256::digest(&self.der))
    }

    /// Whether the key signed this message.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(self.algorithm, &self.bits).verify(message, signature).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint())
    }
}
