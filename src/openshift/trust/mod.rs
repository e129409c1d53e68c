//! Who shows what to whom, and who trusts it: before the pivot, while the bootstrap node serves the API, and after it, when
//! OpenShift's operators have taken over. Pure: files of nodes in, verifications out.
//!
//! | file | what it owns |
//! |---|---|
//! | `places`, `texts` | what is at such a place: in a flag's file, a kubeconfig, a hand-over object |
//! | `verify` | whether a verification holds |
//! | `draw` | the outcome as a picture |
//!
//! Who shows what to whom stands in the table `trust.toml` ([`TrustEdge`]), and nothing else does: which file a verifier reads
//! is taken from the flags of the real static pods, and whether it accepts what it is shown is computed from the real bytes.
//! Dates are not looked at: `expiry` does.
//!
//! After the pivot the kube-apiserver operator puts several bundles into one file. Each of them has an owner of its own who
//! writes it anew in his own time, so a verification holds only if the object that is there for it vouches for it: what
//! another one vouches for by chance is gone with the next rotation.
//!
//! Keys are read here. Texts that come out have names, paths and subjects in them, which are public, and nothing of a key.

mod draw;
mod places;
mod texts;
mod verify;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use draw::{dot, mermaid, svg};
pub(crate) use texts::{held, is_object};

use crate::openshift::knowledge::{Presentation, Role, TrustEdge};

/// What a machine becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    Bootstrap,
    /// A node of the control plane.
    Master,
    Worker,
}

/// A machine, and the texts that its configuration writes, by path. Some are secret.
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

/// All edges verified, and how many verifications fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// In the order of the table.
    pub presentations: Vec<VerifiedEdge>,
    /// Verifications, before and after the pivot.
    pub verifications: usize,
    /// Those that do not hold.
    pub failing: usize,
}

/// An edge of the table, with what came of its verifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedEdge {
    pub id: String,
    pub presenter: String,
    /// The certificate, key or authority, by its name in the PKI or in the hand-over.
    pub credential: String,
    pub role: Role,
    pub verifier: String,
    /// While the bootstrap node serves the API; none if nothing is shown then.
    pub before: Option<TrustVerification>,
    /// When operators have taken over; none if nothing is shown any more.
    pub after: Option<TrustVerification>,
    /// What happens if it is refused.
    pub breaks: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrustVerification {
    /// What is shown, and where it is.
    pub shows: String,
    /// What it is verified with.
    pub by: String,
    /// Whether it is accepted.
    pub holds: bool,
    /// Why, or why not.
    pub why: String,
    /// What is shown, in a few words.
    #[serde(skip)]
    short: String,
}

impl VerifiedEdge {
    /// Its verifications, each with the name of its time.
    pub fn verifications(&self) -> impl Iterator<Item = (&'static str, &TrustVerification)> {
        [("before", &self.before), ("after", &self.after)]
            .into_iter()
            .filter_map(|(when, verification)| Some((when, verification.as_ref()?)))
    }
}

impl Trust {
    /// Everything that these machines will verify.
    pub fn of<'e>(machines: &[Machine], edges: impl Iterator<Item = &'e TrustEdge>) -> Self {
        let site = places::Site::new(machines);
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

    /// The verifications that fail, each as `ID before` or `ID after`.
    pub fn refused(&self) -> Vec<String> {
        let all = self.presentations.iter();
        let all = all.flat_map(|edge| edge.verifications().map(move |one| (&edge.id, one)));
        all.filter(|(_, (_, one))| !one.holds).map(|(id, (when, _))| format!("{id} {when}")).collect()
    }
}
