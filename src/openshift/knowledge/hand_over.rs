//! `hand-over.toml`: objects that operators adopt at the pivot.

use serde::Deserialize;

use super::purposes::Purpose;
use super::release::Release;
use super::table::{RawRows, Row, Source, Table, TableFile};
use super::trust::ObjectKey;
use crate::base::hint::Problems;

/// The table, and what all its signers have in common.
#[derive(Debug, Clone)]
pub(crate) struct HandOver {
    pub(crate) signers: SignerFields,
    pub(crate) objects: Table<HandedOver>,
}

/// The fields of a signer's Secret that operators read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignerFields {
    /// The Secret's type.
    #[serde(rename = "type")]
    pub(crate) secret_type: String,
    /// Annotations.
    pub(crate) not_before: String,
    pub(crate) not_after: String,
    pub(crate) issuer: String,
}

/// An object that an operator adopts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandedOver {
    pub(crate) kind: String,
    /// Namespace and name.
    pub(crate) name: String,
    /// What it is for.
    purpose: String,
    /// Required keys of its data.
    pub(crate) keys: Vec<String>,
    pub(crate) operator: String,
    /// What happens without it.
    pub(crate) without: String,
    pub(crate) signer: Option<Signer>,
    pub(crate) server_name: Option<String>,
    pub(crate) holds: Option<BundleHolds>,
}

/// An authority that an operator signs with.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signer {
    /// The age at which the operator creates a new one.
    pub(crate) rotated_after_days: i64,
    /// Whether the operator only accepts a self-signed certificate.
    #[serde(default)]
    pub(crate) self_signed: bool,
}

/// The parts of our PKI that a bundle must contain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BundleHolds {
    pub(crate) issuer_of: Option<String>,
    pub(crate) authority: Option<String>,
    /// What happens otherwise, if it differs from `without`.
    pub(crate) breaks: Option<String>,
}

impl HandedOver {
    /// A key of its data.
    pub(crate) fn at(&self, key: &str) -> ObjectKey {
        ObjectKey { kind: self.kind.clone(), name: self.name.clone(), key: key.to_owned() }
    }
}

impl Row for HandedOver {
    const FILE: &'static str = "hand-over.toml";
    const NAME: &'static str = "object";

    fn key(&self) -> &str {
        &self.name
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    signers: SignerFields,
    object: RawRows,
}

impl TableFile for HandOver {
    const FILE: &'static str = HandedOver::FILE;

    fn parse(source: Source<'_>) -> Result<Self, Problems> {
        let File { signers, object } = source.read()?;
        Ok(Self { signers, objects: Table::of(source, object)? })
    }
}

impl HandOver {
    /// The signers of a release, with their Secrets.
    pub(crate) fn signers(&self, release: Option<Release>) -> Vec<(&HandedOver, Signer)> {
        let objects = self.objects.select(release);
        let mut signers: Vec<_> = objects.filter_map(|object| Some((object, object.signer?))).collect();
        signers.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        signers
    }

    /// What an object is for that an operator adopts.
    pub(super) fn purpose(&self, release: Option<Release>, kind: &str, name: &str) -> Option<Purpose> {
        let object = self.objects.planned(release).find(|row| row.kind == kind && row.name == name)?;
        Some(Purpose {
            purpose: object.purpose.clone(),
            reader: format!("the {} operator, which adopts it", object.operator),
            without: object.without.clone(),
            checks: vec!["hand-over-objects".to_owned()],
        })
    }
}
