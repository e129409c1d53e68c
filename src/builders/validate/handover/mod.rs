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

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(super) use objects::{COMPLETE, OBJECTS, OVERRIDES};
pub(super) use signers::SIGNERS_RSA;
pub(super) use trust::TRUST;

use super::artifacts::{Artifacts, Document};
use crate::yaml::Node;

/// The input with cluster manifests.
const MANIFESTS: &str = "manifests";

/// The object of a kind, by namespace and name.
fn find<'a>(artifacts: &'a Artifacts<'_>, kind: &str, object: &str) -> Option<&'a Document> {
    let (namespace, name) = object.split_once('/')?;
    artifacts.of(MANIFESTS).flat_map(|file| file.documents()).find(|document| {
        document.text("apiVersion") == Some("v1")
            && document.text("kind") == Some(kind)
            && document.text("metadata.namespace") == Some(namespace)
            && document.text("metadata.name") == Some(name)
    })
}

/// What a Secret or ConfigMap holds under a key, decoded; none if that is nothing. Keys have dots in them.
fn held(document: &Document, key: &str) -> Option<String> {
    let plain = |field: &str| document.get(field).and_then(|data| data.get(key)).and_then(Node::text);
    let text = if document.text("kind") == Some("Secret") {
        let encoded = plain("data").map(|text| text.split_whitespace().collect::<String>());
        let decoded = encoded.and_then(|text| STANDARD.decode(text).ok());
        // What `stringData` has wins, as in the API.
        let given = plain("stringData").map(str::to_owned);
        given.or_else(|| decoded.and_then(|bytes| String::from_utf8(bytes).ok()))
    } else {
        plain("data").map(str::to_owned)
    };
    text.filter(|text| !text.trim().is_empty())
}
