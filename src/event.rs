//! What happens during long work, as data. The library emits events; only `cli` shows them, and `--events` writes them.

use serde::Serialize;

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The graph was resolved as far as it is known: this many derivations, this many of them in the store.
    Planned {
        /// Derivations that the targets need.
        total: usize,
        /// Those whose output is in the store already.
        cached: usize,
    },
    /// A derivation's output was found in the store.
    Cached {
        /// Which.
        name: String,
    },
    /// Another process builds this derivation; we wait for it.
    Waiting {
        /// Which.
        name: String,
    },
    /// A derivation is being built.
    Started {
        /// Which.
        name: String,
        /// By whom.
        builder: String,
    },
    /// A derivation was built and is in the store.
    Built {
        /// Which.
        name: String,
        /// What it gave.
        object: String,
        /// How long it took.
        milliseconds: u64,
    },
    /// A derivation could not be built.
    Failed {
        /// Which.
        name: String,
        /// Why.
        error: String,
    },
    /// A derivation was not tried because something that it needs failed.
    Skipped {
        /// Which.
        name: String,
        /// What failed.
        because: String,
    },
    /// A step on the way to running machines was taken.
    Step {
        /// The phase.
        phase: &'static str,
        /// What was done.
        action: &'static str,
        /// With what kind of thing.
        thing: &'static str,
        /// Which one.
        name: String,
        /// How long it took.
        milliseconds: u64,
    },
    /// A node's request for a certificate was approved.
    Approved {
        /// The request.
        request: String,
        /// Whose.
        node: String,
        /// `client` or `serving`.
        certificate: &'static str,
    },
    /// A request for a certificate is left for somebody else to decide.
    LeftAlone {
        /// The request.
        request: String,
        /// Why.
        reason: String,
    },
    /// A node is in the API.
    Joined {
        /// Which.
        node: String,
    },
    /// Something outside is waited for.
    Awaiting {
        /// What.
        what: String,
        /// What was seen last.
        seen: String,
    },
    /// An operator of the cluster stands differently.
    Operator {
        /// Which.
        name: String,
        /// How it stands.
        state: String,
        /// What it says about that.
        message: String,
    },
    /// Something of a running cluster was tried.
    Checked {
        /// What.
        name: &'static str,
        /// Whether it is as it should be.
        passed: bool,
        /// What was seen.
        detail: String,
    },
    /// Something that the user should know and that is not an error.
    Notice {
        /// The text.
        text: String,
    },
    /// Something that the user should do something about.
    Warning {
        /// The text.
        text: String,
    },
}

/// Where events go.
pub trait Events: Sync {
    /// Takes one event.
    fn emit(&self, event: Event);

    /// The work is done, and the answer follows: whatever is drawn must be gone when this returns.
    fn settle(&self) {}
}

/// Nowhere.
impl Events for () {
    fn emit(&self, _: Event) {}
}
