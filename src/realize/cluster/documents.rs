//! The objects of the cluster as documents for `realize gather`. Never Secrets or ConfigMaps.

use std::sync::atomic::AtomicBool;

use serde_json::Value;

use super::{API_SERVERS, ClusterAccess, ETCDS, OPERATORS, VERSIONS};
use crate::base::hint::chain;
use crate::realize::api::{ApiError, Gvr};

/// What is listed, and the name of its document.
const RESOURCES: [(&str, Gvr); 10] = [
    ("nodes", Gvr::new("", "v1", "nodes")),
    ("pods", Gvr::new("", "v1", "pods")),
    ("events", Gvr::new("", "v1", "events")),
    ("certificatesigningrequests", Gvr::new("certificates.k8s.io", "v1", "certificatesigningrequests")),
    ("clusteroperators", OPERATORS),
    ("clusterversions", VERSIONS),
    ("etcds", ETCDS),
    ("kubeapiservers", API_SERVERS),
    ("machineconfigpools", Gvr::new("machineconfiguration.openshift.io", "v1", "machineconfigpools")),
    ("networks", Gvr::new("operator.openshift.io", "v1", "networks")),
];

/// A file for an archive, or why there is none.
pub(crate) type Document = (String, Result<Vec<u8>, String>);

impl ClusterAccess {
    /// One document per resource; a single failure if the API does not answer.
    pub(crate) fn documents(&self, cancel: &AtomicBool) -> Vec<Document> {
        let failed = |name: &str, error: &ApiError| (format!("api/{name}"), Err(chain(error)));
        let client = match self.client(cancel).and_then(|client| client.ready().map(|()| client)) {
            Ok(client) => client,
            Err(error) => return vec![failed("", &error)],
        };
        let ask = |(name, resource): (&str, Gvr)| match client.list(resource, None) {
            Ok(found) => {
                let text = format!("{:#}\n", Value::Array(found));
                (format!("api/{name}.json"), Ok(text.into_bytes()))
            }
            Err(error) => failed(&format!("{name}.json"), &error),
        };
        RESOURCES.into_iter().map(ask).collect()
    }
}
