//! What the cluster says of itself, as documents for an archive. No Secrets and no ConfigMaps are asked for.

use std::sync::atomic::AtomicBool;

use serde_json::Value;

use super::{API_SERVERS, Cluster, ETCDS, OPERATORS, VERSIONS};
use crate::base::hint::chain;
use crate::realize::api::{ApiError, Kind};

/// What is asked for, and its name.
const ASKED: [(&str, Kind); 10] = [
    ("nodes", Kind::new("", "v1", "nodes")),
    ("pods", Kind::new("", "v1", "pods")),
    ("events", Kind::new("", "v1", "events")),
    ("certificatesigningrequests", Kind::new("certificates.k8s.io", "v1", "certificatesigningrequests")),
    ("clusteroperators", OPERATORS),
    ("clusterversions", VERSIONS),
    ("etcds", ETCDS),
    ("kubeapiservers", API_SERVERS),
    ("machineconfigpools", Kind::new("machineconfiguration.openshift.io", "v1", "machineconfigpools")),
    ("networks", Kind::new("operator.openshift.io", "v1", "networks")),
];

/// A file for an archive, or why there is none.
pub(in crate::realize) type Document = (String, Result<Vec<u8>, String>);

impl Cluster {
    /// Everything that it says, kind by kind; one word if it says nothing.
    pub(in crate::realize) fn documents(&self, cancel: &AtomicBool) -> Vec<Document> {
        let failed = |name: &str, error: &ApiError| (format!("api/{name}"), Err(chain(error)));
        let client = match self.client(cancel).and_then(|client| client.ready().map(|()| client)) {
            Ok(client) => client,
            Err(error) => return vec![failed("", &error)],
        };
        let ask = |(name, kind): (&str, Kind)| match client.list(kind, None) {
            Ok(found) => {
                let text = format!("{:#}\n", Value::Array(found));
                (format!("api/{name}.json"), Ok(text.into_bytes()))
            }
            Err(error) => failed(&format!("{name}.json"), &error),
        };
        ASKED.into_iter().map(ask).collect()
    }
}
