//! Two keys that ask for one node: neither is approved.
//!
//! Whoever has a node's credential can ask for its certificate. An honest kubelet asks with a new key whenever it restarts,
//! and whenever nobody has decided for a quarter of an hour, so a second key is either that or a thief:
//!
//! | the other request for the same node, with another key | what follows |
//! |---|---|
//! | pending, or approved but not signed, less than a quarter of an hour apart | neither is approved |
//! | the same, a quarter of an hour older | it does not count: no kubelet waits for it any more, and nobody has a certificate |
//! | the same, a quarter of an hour younger | this one is left alone: no kubelet waits for it any more |
//! | signed | this one is left alone, however old the other is: somebody has a certificate for this node |
//! | denied, failed, or deleted (the cluster does so after an hour, `realize` when it reinstalls the machine) | it does not count |
//!
//! Times are the API server's, on both sides. Pure.

use std::collections::BTreeSet;

use time::{Duration, OffsetDateTime};

use super::refusal::CompetingRequest;
use super::rules::{KubeletCertificate, decide, parse};
use super::{NodeIdentity, Refusal};
use crate::realize::api::{CertificateRequest, Stage};

/// How long a kubelet waits for a decision (`certificateWaitTimeout` of client-go).
const PATIENCE: Duration = Duration::minutes(15);
/// How much of a fingerprint is shown, and how much a user has to give.
pub(crate) const SHOWN: usize = 16;

/// A request for the client certificate of a node of ours, by that node's credential; whatever its stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The node's name in cluster.yaml.
    pub node: String,
    pub request: String,
    /// The fingerprint of its key.
    pub key: String,
    pub stage: Stage,
    pub created: Option<OffsetDateTime>,
}

impl Claim {
    pub(crate) fn of(request: &CertificateRequest, nodes: &[NodeIdentity]) -> Option<Self> {
        let asked = parse(request).ok()?;
        let (node, certificate) = decide(request, &asked, nodes, &BTreeSet::new()).ok()?;
        (certificate == KubeletCertificate::Client).then(|| Self {
            node: node.node.clone(),
            request: request.name.clone(),
            key: asked.key_fingerprint,
            stage: request.stage,
            created: request.created,
        })
    }

    /// Why it is left alone because of another claim, if it is.
    pub(super) fn refused(&self, all: &[Self]) -> Option<Refusal> {
        let others = all.iter().filter(|other| other.node == self.node && other.key != self.key);
        others.filter_map(|other| self.against(other)).next()
    }

    fn against(&self, other: &Self) -> Option<Refusal> {
        let node = self.node.clone();
        let rival = || Refusal::CompetingRequest {
            node: node.clone(),
            key: shown(&self.key),
            rival: CompetingRequest {
                request: other.request.clone(),
                key: shown(&other.key),
                stage: other.stage,
            },
        };
        match (other.stage, self.created.zip(other.created)) {
            (Stage::Denied | Stage::Failed, _) => None,
            (Stage::Issued, _) | (_, None) => Some(rival()),
            (_, Some((own, its))) if own - its >= PATIENCE => None,
            (_, Some((own, its))) if its - own >= PATIENCE => {
                Some(Refusal::Abandoned { node, later: other.request.clone() })
            }
            _ => Some(rival()),
        }
    }
}

fn shown(key: &str) -> String {
    key.chars().take(SHOWN).collect()
}
