//! `signing-keys.toml`: who signs releases.

use serde::Deserialize;

use super::table::Row;
use crate::base::pki::PublicKey;

/// A public key, and what it signs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SigningKey {
    pub name: String,
    /// `registry/repository`.
    pub repositories: Vec<String>,
    /// For people.
    #[serde(rename = "source")]
    _source: String,
    pem: Pem,
}

/// Exactly one key.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Pem(PublicKey);

impl TryFrom<String> for Pem {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut keys = PublicKey::all_from_pem(&text).map_err(|error| format!("`pem`: {error}"))?;
        match (keys.pop(), keys.is_empty()) {
            (Some(key), true) => Ok(Self(key)),
            _ => Err("`pem` has several keys; write a row for each".to_owned()),
        }
    }
}

impl SigningKey {
    pub(crate) fn public(&self) -> &PublicKey {
        &self.pem.0
    }
}

impl Row for SigningKey {
    const FILE: &'static str = "signing-keys.toml";
    const NAME: &'static str = "key";

    fn key(&self) -> &str {
        &self.name
    }
}
