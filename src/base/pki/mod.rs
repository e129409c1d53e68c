//! Keys and certificates, made out of the seed and read from users' files. Pure: text and values in, values out.
//!
//! | file | what it owns |
//! |---|---|
//! | `key` | private keys: algorithms, PEM forms, signatures |
//! | `rsa` | what an RSA key is for a stream of bytes: the definition, v1 |
//! | `prime`, `montgomery` | how its primes are found fast |
//! | `certificate`, `verify` | what a certificate says, and who signed it |
//! | `issue`, `name` | how one is made |
//! | `signing` | what somebody else asks to be made |
//! | `pem`, `der` | the encodings |
//!
//! # What is the same for ever
//!
//! | value | comes from |
//! |---|---|
//! | private key | seed, domain, name, generation, algorithm |
//! | serial number | seed, domain, name, generation, and all else that the certificate says |
//! | signature | the signer's key and what is signed |
//!
//! So the same arguments give the same bytes on every machine. The tests hold literal fingerprints: a change of one of
//! them gives every cluster new keys, and needs a new version in the stream's purpose.

mod certificate;
mod der;
mod error;
mod issue;
mod key;
mod montgomery;
mod name;
mod pem;
mod prime;
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
pub(crate) use signing::SigningRequest;
