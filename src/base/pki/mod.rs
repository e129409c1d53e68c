//! Keys and certificates, derived from the seed or read from users' files. Pure: text and values in, values out.
//!
//! | file | responsibility |
//! |---|---|
//! | `key` | private keys: algorithms, PEM forms, signatures |
//! | `rsa` | how a stream of bytes becomes an RSA key: the definition, v1 |
//! | `prime`, `montgomery` | fast prime search |
//! | `public_key` | public keys on their own, and what they signed |
//! | `certificate`, `verify` | reading certificates and checking their signatures |
//! | `issue`, `name` | issuing certificates |
//! | `signing` | certificate signing requests of others |
//! | `pem`, `der` | the encodings |
//!
//! # Stability
//!
//! | value | depends on |
//! |---|---|
//! | private key | seed, domain, name, generation, algorithm |
//! | serial number | seed, domain, name, generation, and all other contents of the certificate |
//! | signature | the signer's key and the signed data |
//!
//! So the same arguments yield the same bytes on every machine. The tests hold literal fingerprints: changing one gives
//! every cluster new keys, and requires a new version in the stream's purpose.

mod certificate;
mod der;
mod error;
mod issue;
mod key;
mod montgomery;
mod name;
mod pem;
mod prime;
mod public_key;
mod rsa;
mod signing;
#[cfg(test)]
mod tests;
mod verify;

pub use certificate::Certificate;
pub(crate) use certificate::KeyUsage;
pub(crate) use error::PkiError;
pub(crate) use issue::{Authority, self_signed};
pub use issue::{Issuer, Request, issue};
pub use key::{Algorithm, Form, PrivateKey};
pub use name::Name;
pub(crate) use public_key::PublicKey;
pub(crate) use signing::SigningRequest;
