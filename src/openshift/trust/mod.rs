//! Who presents which credential to whom, and who accepts it: before the pivot, while the bootstrap node serves the
//! API, and after it, when OpenShift's operators have taken over. Pure: files of nodes in, verifications out.
//!
//! | file | responsibility |
//! |---|---|
//! | `resolve`, `documents` | find credentials: in a flag's file, a kubeconfig, a hand-over object |
//! | `verify` | decides whether a verification holds |
//! | `draw` | writes the result for mermaid and Graphviz; `compare::picture` draws it |
//!
//! Only the edges are listed in a table, `trust.toml` ([`TrustEdge`]): the files that a verifier reads come from the
//! flags of the real static pods, and whether it accepts a credential is computed from the real bytes. Dates are not
//! checked: `expiry` does that.
//!
//! After the pivot, the kube-apiserver operator merges several bundles into one file. Each bundle has its own owner,
//! who rewrites it at any time, so a verification holds only if the intended object vouches for the credential: what
//! another object happens to vouch for is gone with its next rotation.
//!
//! This module reads keys. Its texts contain names, paths and subjects, which are public, and no part of a key.

mod documents;
mod draw;
mod resolve;
mod verify;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use documents::{client_certificate, held, is_object};
pub(crate) use draw::{TIMES, dot, mermaid, short};

use crate::openshift::config::{Cluster, Role as NodeRole};
use crate::openshift::knowledge::{Presentation, Role, TrustEdge};

/// The role of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    Bootstrap,
    Master,
    Worker,
    /// The only node, a master that bootstraps itself.
    InPlace,
}

impl Pool {
    /// That of a node; a worker's if there is no such node.
    pub(crate) fn of(cluster: &Cluster, node: &str) -> Self {
        let role = cluster.nodes.iter().find(|known| known.name == node).map(|node| node.role);
        match role {
            Some(NodeRole::Bootstrap) => Self::Bootstrap,
            Some(NodeRole::Master) if cluster.is_in_place() => Self::InPlace,
            Some(NodeRole::Master) => Self::Master,
            Some(NodeRole::Worker) | None => Self::Worker,
        }
    }

    /// Whether the first control plane starts there.
    pub(crate) fn bootstraps(self) -> bool {
        matches!(self, Self::Bootstrap | Self::InPlace)
    }

    /// Whether it becomes a node of the cluster.
    pub(crate) fn joins(self) -> bool {
        self != Self::Bootstrap
    }

    pub(crate) fn is_master(self) -> bool {
        matches!(self, Self::Master | Self::InPlace)
    }
}

/// A machine, and the text files in its configuration, by path. Some are secret.
#[derive(Clone)]
pub struct Machine {
    pub name: String,
    pub pool: Pool,
    pub files: BTreeMap<String, String>,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("name", &self.name).field("pool", &self.pool).finish_non_exhaustive()
    }
}

/// All verified edges, and the number of failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trust {
    /// In the order of the table.
    pub presentations: Vec<VerifiedEdge>,
    /// Before and after the pivot.
    pub verifications: usize,
    pub failing: usize,
}

/// An edge of the table, with the results of its verifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifiedEdge {
    pub id: String,
    pub presenter: String,
    /// The certificate, key or authority, by its name in the PKI or in the hand-over.
    pub credential: String,
    pub role: Role,
    pub verifier: String,
    /// While the bootstrap node serves the API; none if it is not presented then.
    pub before: Option<TrustVerification>,
    /// When operators have taken over; none if it is no longer presented.
    pub after: Option<TrustVerification>,
    /// The consequence of a refusal.
    pub breaks: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrustVerification {
    /// The credential, and its location.
    pub shows: String,
    /// The trust anchor.
    pub by: String,
    pub holds: bool,
    /// The reason for the verdict.
    pub why: String,
    /// The credential, in a few words.
    #[serde(skip)]
    pub(crate) short: String,
    /// The authority that ends the chain, by its subject; none for a token's key and for a refusal.
    #[serde(skip)]
    pub(crate) anchor: Option<String>,
}

impl VerifiedEdge {
    /// Its verifications, each with the name of its phase.
    pub fn verifications(&self) -> impl Iterator<Item = (&'static str, &TrustVerification)> {
        [("before", &self.before), ("after", &self.after)]
            .into_iter()
            .filter_map(|(when, verification)| Some((when, verification.as_ref()?)))
    }
}

impl Trust {
    /// Verifies all edges between these machines.
    pub fn of<'e>(machines: &[Machine], edges: impl Iterator<Item = &'e TrustEdge>) -> Self {
        let site = resolve::Site::new(machines);
        let verify = |edge: &TrustEdge, presentation: &Option<Presentation>| {
            presentation.as_ref().map(|presentation| verify::verification(&site, edge, presentation))
        };
        let presentations: Vec<VerifiedEdge> = edges
            .map(|edge| VerifiedEdge {
                id: edge.id.clone(),
                presenter: edge.presenter.clone(),
                credential: edge.credential.clone(),
                role: edge.role,
                verifier: edge.verifier.clone(),
                before: verify(edge, &edge.before),
                after: verify(edge, &edge.after),
                breaks: edge.breaks.clone(),
            })
            .collect();
        let all = || presentations.iter().flat_map(VerifiedEdge::verifications);
        let verifications = all().count();
        let failing = all().filter(|(_, one)| !one.holds).count();
        Self { presentations, verifications, failing }
    }

    /// The failing verifications, each as `ID before` or `ID after`.
    pub fn refused(&self) -> Vec<String> {
        let all = self.presentations.iter();
        let all = all.flat_map(|edge| edge.verifications().map(move |one| (&edge.id, one)));
        all.filter(|(_, (_, one))| !one.holds).map(|(id, (when, _))| format!("{id} {when}")).collect()
    }
}
