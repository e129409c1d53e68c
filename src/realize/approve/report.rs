//! What was approved, what was left alone, and how far each node is: as data, and what is missing in words.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Certificate;
use crate::realize::api::Stage;

/// A request that was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Approved {
    pub request: String,
    pub node: String,
    pub certificate: Certificate,
}

/// A request that nobody has decided, and that we do not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Left {
    pub request: String,
    pub requestor: String,
    /// Why it is left alone.
    pub reason: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How far a node is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Member {
    /// What cluster.yaml calls it.
    pub node: String,
    /// What the API calls it.
    pub name: String,
    /// Whether it is in the API.
    pub joined: bool,
    /// Whether it says that it is ready.
    pub ready: bool,
    /// Its request for a client certificate, if there is one.
    pub client: Option<Stage>,
    /// Its request for a serving certificate, if there is one.
    pub serving: Option<Stage>,
    /// Whether it has everything.
    pub complete: bool,
}

/// What was done, and how the nodes stand.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    /// What was approved, in its order.
    pub approved: Vec<Approved>,
    /// What was left alone at the last look.
    pub left: Vec<Left>,
    /// The masters and workers, in the order of cluster.yaml.
    pub nodes: Vec<Member>,
    /// Whether every one of them has its certificates and is in the API.
    pub complete: bool,
    /// What keeps us from looking, if something does.
    pub trouble: Option<String>,
    /// What was told already: requests by uid, nodes, waits.
    #[serde(skip)]
    told: BTreeMap<String, String>,
}

impl Report {
    /// Before the first look.
    pub(super) fn before(nodes: Vec<Member>) -> Self {
        Self { nodes, ..Self::default() }
    }

    /// What is missing, node by node; or the API.
    pub(crate) fn missing(&self) -> Vec<String> {
        match &self.trouble {
            Some(trouble) => vec![trouble.clone()],
            None => self.nodes.iter().filter_map(Member::lacks).collect(),
        }
    }

    /// What is waited for.
    pub(super) fn awaited(&self) -> String {
        let (all, there) = (self.nodes.len(), self.nodes.iter().filter(|node| node.complete).count());
        match self.trouble.is_some() {
            true => "the API".to_owned(),
            false => format!("{} of {all} nodes", all - there),
        }
    }

    /// Whether this is new.
    pub(super) fn tells(&mut self, of: String, what: &str) -> bool {
        self.told.insert(of, what.to_owned()).as_deref() != Some(what)
    }
}

impl Member {
    /// What it lacks, in words.
    pub(in crate::realize) fn lacks(&self) -> Option<String> {
        let asked = |stage: Option<Stage>| match stage {
            None => "not asked for",
            Some(Stage::Pending) => "asked for, and left alone",
            Some(Stage::Denied) => "denied by somebody",
            Some(Stage::Failed) => "approved, and the signer failed",
            Some(Stage::Approved) => "approved, and not signed yet",
            Some(Stage::Issued) => "there",
        };
        let words = match (self.complete, self.joined) {
            (true, _) => return None,
            (_, true) => format!("in the API, serving certificate {}", asked(self.serving)),
            _ => format!("not in the API, client certificate {}", asked(self.client)),
        };
        Some(format!("`{}`: {words}", self.node))
    }
}
