//! Checks of the hand-over: what OpenShift's operators must find in the API, or a cluster stalls after its first boot.
//!
//! | file | what it owns |
//! |---|---|
//! | `objects` | which objects there must be, what each holds, and what happens without it |
//! | `signers` | authorities that operators adopt: certificate, key, dates |
//! | `trust` | whether what nodes and users already have is trusted after the pivot |
//!
//! Secrets are read here. Messages have names, dates and subjects in them, which are public, and nothing of a key.

mod objects;
mod signers;
mod trust;

pub(super) use objects::{COMPLETE, OBJECTS, OVERRIDES};
pub(super) use signers::SIGNERS_RSA;
pub(super) use trust::TRUST;

use super::artifacts::{Artifacts, Document};
use crate::openshift::trust as trust_graph;

/// The input with cluster manifests.
const MANIFESTS: &str = "manifests";

/// The object of a kind, by namespace and name.
fn find<'a>(artifacts: &'a Artifacts<'_>, kind: &str, object: &str) -> Option<&'a Document> {
    let mut documents = artifacts.of(MANIFESTS).flat_map(|file| file.documents());
    documents.find(|document| trust_graph::is_object(&document.root, kind, object))
}

/// What a Secret or ConfigMap holds under a key, decoded; none if that is nothing. Keys have dots in them.
fn held(document: &Document, key: &str) -> Option<String> {
    trust_graph::held(&document.root, key)
}
