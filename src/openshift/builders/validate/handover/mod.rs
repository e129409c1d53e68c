//! Checks of the hand-over: what OpenShift's operators must find in the API, or a cluster stalls after its first boot.
//!
//! | file | responsibility |
//! |---|---|
//! | `objects` | required objects, their contents, and what happens without them |
//! | `signers` | authorities that operators adopt: certificate, key, dates |
//! | `trust` | whether existing credentials of nodes and users are trusted after the pivot |
//!
//! Reads secrets. Messages contain names, dates and subjects, which are public, and no part of a key.

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

/// The decoded value of a key in a Secret or ConfigMap; none if it is empty. Keys contain dots.
fn held(document: &Document, key: &str) -> Option<String> {
    trust_graph::held(&document.root, key)
}
