//! Who shows what to whom, and who trusts it: before the pivot, while the bootstrap node serves the API, and after it, when
//! OpenShift's operators have taken over. Pure: files of nodes in, verifications out.
//!
//! | file | what it owns |
//! |---|---|
//! | `table`, `meeting` | who meets whom, and where each finds what it shows and what it trusts |
//! | `places`, `texts` | what is at such a place: in a flag's file, a kubeconfig, a hand-over object |
//! | `verify` | whether a verification holds |
//! | `draw` | the outcome as a picture |
//!
//! The table says who meets whom and nothing else: which file a verifier reads is taken from the flags of the real static
//! pods, and whether it accepts what it is shown is computed from the real bytes. Dates are not looked at: `expiry` does.
//!
//! After the pivot the kube-apiserver operator puts several bundles into one file. Each of them has an owner of its own who
//! writes it anew in his own time, so a verification holds only if the object that is there for it vouches for it: what
//! another one vouches for by chance is gone with the next rotation.
//!
//! Keys are read here. Texts that come out have names, paths and subjects in them, which are public, and nothing of a key.

mod draw;
mod meeting;
mod places;
mod table;
mod texts;
mod verify;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use draw::{dot, mermaid, svg};
pub(crate) use meeting::{Checked, Encounter, Meeting, Object};
pub use table::MEETINGS;
pub(crate) use texts::{held, is_object};

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

/// In which role something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// As the one who connects.
    Client,
    /// As the one who is connected to.
    Server,
    Peer,
    /// As the signer of a token.
    Token,
}

impl Role {
    /// One word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Peer => "peer",
            Self::Token => "token",
        }
    }
}

/// All presentations, and how many of their verifications fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// In the order of the table.
    pub presentations: Vec<Presentation>,
    /// Verifications, before and after the pivot.
    pub verifications: usize,
    /// Those that do not hold.
    pub failing: usize,
}

/// Somebody shows something to somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Presentation {
    /// A name that does not change.
    pub id: &'static str,
    pub presenter: &'static str,
    /// The certificate, key or authority, by its name in the PKI or in the hand-over.
    pub credential: &'static str,
    /// What it is shown as.
    pub role: Role,
    /// Who must accept it.
    pub verifier: &'static str,
    /// While the bootstrap node serves the API; none if they do not meet then.
    pub before: Option<Moment>,
    /// When operators have taken over; none if they do not meet any more.
    pub after: Option<Moment>,
    /// What happens if it is not accepted.
    pub breaks: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moment {
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

impl Presentation {
    /// Its verifications, each with the name of its time.
    pub fn moments(&self) -> impl Iterator<Item = (&'static str, &Moment)> {
        [("before", &self.before), ("after", &self.after)]
            .into_iter()
            .filter_map(|(when, moment)| Some((when, moment.as_ref()?)))
    }
}

impl Trust {
    /// Everything that these machines will verify.
    pub fn of(machines: &[Machine]) -> Self {
        let site = places::Site::new(machines);
        let moment = |meeting: &Meeting, encounter: &Option<Encounter>| {
            encounter.as_ref().map(|encounter| verify::moment(&site, meeting, encounter))
        };
        let presentations: Vec<Presentation> = MEETINGS
            .iter()
            .map(|meeting| Presentation {
                id: meeting.id,
                presenter: meeting.presenter,
                credential: meeting.credential,
                role: meeting.role,
                verifier: meeting.verifier,
                before: moment(meeting, &meeting.before),
                after: moment(meeting, &meeting.after),
                breaks: meeting.breaks,
            })
            .collect();
        let moments = || presentations.iter().flat_map(Presentation::moments);
        let verifications = moments().count();
        let failing = moments().filter(|(_, moment)| !moment.holds).count();
        Self { presentations, verifications, failing }
    }

    /// The verifications that fail, each as `ID before` or `ID after`.
    pub fn refused(&self) -> Vec<String> {
        let all = self.presentations.iter().flat_map(|one| one.moments().map(move |moment| (one.id, moment)));
        all.filter(|(_, (_, moment))| !moment.holds).map(|(id, (when, _))| format!("{id} {when}")).collect()
    }
}
