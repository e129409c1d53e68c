//! What a signature says: this derivation gave this object, whose bytes are these blobs. An in-toto Statement v1, so that
//! standard tools can read it. It holds no time: the same output yields the same statement, and a second push moves nothing.
//!
//! Nothing in it is secret: inputs are digests, keyed where their content is secret, and neither paths nor values are named.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::sealed::{self, SealedPredicate};
use crate::base::digest::{DrvId, ObjectId};
use crate::engine::registry::{Descriptor, Sha256};

const TYPE: &str = "https://in-toto.io/Statement/v1";

pub(super) const PREDICATE: &str = "urn:tinderbox:realisation:v1";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Statement<P = Predicate> {
    #[serde(rename = "_type")]
    pub(super) kind: String,
    /// One for each layer, in order.
    pub(super) subject: Vec<Subject>,
    pub(super) predicate_type: String,
    pub(super) predicate: P,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Subject {
    /// The object, and for a large file its path in it.
    pub(super) name: String,
    pub(super) digest: Digests,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Digests {
    /// Of the blob, in hexadecimal.
    pub(super) sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Predicate {
    pub(super) drv: DrvId,
    pub(super) object: ObjectId,
    /// What the object is called in the store; for people.
    pub(super) name: String,
    /// With version.
    pub(super) builder: String,
    /// Objects that it was built from, by alias.
    pub(super) inputs: BTreeMap<String, ObjectId>,
    /// How its programs were isolated; none if no program ran.
    pub(super) isolation: Option<String>,
    /// Who executed it: `local`, or the farm.
    pub(super) executor: String,
    /// Version of the program that signed.
    pub(super) tinderbox: String,
    /// Bytes of the object.
    pub(super) size: u64,
}

impl Statement {
    pub(super) fn new(predicate: Predicate, layers: &[(Option<String>, Sha256)]) -> Self {
        let object = predicate.object;
        let subject = |(path, digest): &(Option<String>, Sha256)| Subject {
            name: path.as_ref().map_or_else(|| object.to_string(), |path| format!("{object}/{path}")),
            digest: Digests { sha256: digest.hex() },
        };
        let subject = layers.iter().map(subject).collect();
        Self { kind: TYPE.to_owned(), subject, predicate_type: PREDICATE.to_owned(), predicate }
    }

    /// Reads what was signed, and checks that it is about this derivation and these blobs.
    pub(super) fn about(
        payload: &[u8],
        drv: DrvId,
        builder: &str,
        layers: &[Descriptor],
    ) -> Result<Predicate, &'static str> {
        let predicate = Self::signed(payload, PREDICATE, layers)?;
        match predicate.drv == drv && predicate.builder == builder {
            true => Ok(predicate),
            false => Err("its statement is about another derivation"),
        }
    }
}

impl Statement<SealedPredicate> {
    /// The blobs have no names: what is in them is nobody's business.
    pub(super) fn of_sealed(predicate: SealedPredicate, blobs: &[Descriptor]) -> Self {
        let subject = blobs.iter().enumerate().map(|(at, blob)| Subject {
            name: format!("{}.{at}", predicate.object),
            digest: Digests { sha256: blob.digest.hex() },
        });
        let subject = subject.collect();
        Self { kind: TYPE.to_owned(), subject, predicate_type: sealed::PREDICATE.to_owned(), predicate }
    }

    pub(super) fn about_sealed(
        payload: &[u8],
        drv: DrvId,
        blobs: &[Descriptor],
    ) -> Result<SealedPredicate, &'static str> {
        let predicate = Self::signed(payload, sealed::PREDICATE, blobs)?;
        match predicate.drv == drv {
            true => Ok(predicate),
            false => Err("its statement is about another derivation"),
        }
    }
}

impl<P: DeserializeOwned> Statement<P> {
    /// What was signed, if it is of this type and about these blobs.
    fn signed(payload: &[u8], of: &str, layers: &[Descriptor]) -> Result<P, &'static str> {
        /// The type decides what the rest means.
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            #[serde(rename = "_type")]
            kind: String,
            predicate_type: String,
        }
        let unreadable = |_| "its statement cannot be read";
        let Head { kind, predicate_type } = serde_json::from_slice(payload).map_err(unreadable)?;
        if kind != TYPE || predicate_type != of {
            return Err("its statement is about something else");
        }
        let Self { subject, predicate, .. } = serde_json::from_slice(payload).map_err(unreadable)?;
        let signed = subject.iter().map(|subject| subject.digest.sha256.as_str());
        match signed.eq(layers.iter().map(|layer| layer.digest.hex())) {
            true => Ok(predicate),
            false => Err("its blobs are not those that were signed"),
        }
    }
}
