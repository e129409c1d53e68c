//! What was approved, what was left alone, and how far each node is.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::KubeletCertificate;
use crate::realize::api::Stage;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Approved {
    pub request: String,
    pub node: String,
    pub certificate: KubeletCertificate,
}

/// A pending request that is not ours to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LeftAlone {
    pub request: String,
    pub requestor: String,
    /// The node whose first certificate it asks for with that node's credential, by its name in cluster.yaml.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The fingerprint of the key that it does so with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How far a node is on its way into the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Member {
    /// Its name in cluster.yaml.
    pub node: String,
    /// Its name in the API.
    pub name: String,
    pub joined: bool,
    pub ready: bool,
    /// Its latest request for a client certificate.
    pub client: Option<Stage>,
    /// Its latest request for a serving certificate.
    pub serving: Option<Stage>,
    /// Whether it has joined and has both certificates.
    pub complete: bool,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct ApprovalReport {
    /// In the order of approval.
    pub approved: Vec<Approved>,
    /// As of the last pass.
    pub left: Vec<LeftAlone>,
    /// The masters and workers, in the order of cluster.yaml.
    pub nodes: Vec<Member>,
    /// Whether every node is complete.
    pub complete: bool,
    /// Why the API cannot be queried, if it cannot.
    pub trouble: Option<String>,
    /// What was reported already: requests by uid, and nodes.
    #[serde(skip)]
    reported: BTreeMap<String, String>,
}

impl ApprovalReport {
    /// Before the first pass.
    pub(super) fn before(nodes: Vec<Member>) -> Self {
        Self { nodes, ..Self::default() }
    }

    /// What is missing, node by node; or that the API is.
    pub(crate) fn missing(&self) -> Vec<String> {
        match &self.trouble {
            Some(trouble) => vec![trouble.clone()],
            None => self.nodes.iter().filter_map(Member::lacks).collect(),
        }
    }

    /// Remembers what was reported of a subject. Returns whether it is news.
    pub(super) fn is_news(&mut self, of: String, what: &str) -> bool {
        self.reported.insert(of, what.to_owned()).as_deref() != Some(what)
    }
}

impl Member {
    /// What it lacks, for people.
    pub(crate) fn lacks(&self) -> Option<String> {
        let asked = |stage: Option<Stage>| match stage {
            None => "not requested",
            Some(Stage::Pending) => "requested, but left alone",
            Some(Stage::Denied) => "denied",
            Some(Stage::Failed) => "approved, but the signer failed",
            Some(Stage::Approved) => "approved, but not signed yet",
            Some(Stage::Issued) => "issued",
        };
        let words = match (self.complete, self.joined) {
            (true, _) => return None,
            (_, true) => format!("in the API, serving certificate {}", asked(self.serving)),
            _ => format!("not in the API, client certificate {}", asked(self.client)),
        };
        Some(format!("`{}`: {words}", self.node))
    }
}
