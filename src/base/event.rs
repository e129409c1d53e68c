//! What happens during long work, as data. The library emits events; only `cli` shows them, and `--events` writes them.

use serde::Serialize;

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
    Cached { name: String },
    /// Another process builds this derivation; we wait for it.
    Waiting { name: String },
    /// A derivation is being built.
    Started { name: String, builder: String },
    /// A derivation was built and is in the store.
    Built {
        name: String,
        object: String,
        /// How long it took.
        milliseconds: u64,
    },
    /// A derivation could not be built.
    Failed { name: String, error: String },
    /// A derivation was not tried because something that it needs failed.
    Skipped { name: String, because: String },
    /// A step on the way to running machines was taken.
    Step {
        phase: &'static str,
        action: &'static str,
        /// The kind of resource.
        resource: &'static str,
        name: String,
        /// How long it took.
        milliseconds: u64,
    },
    /// A node's request for a certificate was approved.
    Approved {
        request: String,
        node: String,
        /// `client` or `serving`.
        certificate: &'static str,
    },
    /// A request for a certificate is left for somebody else to decide.
    LeftAlone { request: String, reason: String },
    /// A node is in the API.
    Joined { node: String },
    /// Something outside is waited for.
    Awaiting {
        what: String,
        /// What was seen last.
        seen: String,
    },
    /// An operator of the cluster stands differently.
    Operator {
        name: String,
        state: String,
        /// What it says about that.
        message: String,
    },
    /// Something of a running cluster was tried.
    Checked {
        name: &'static str,
        /// Whether it is as it should be.
        passed: bool,
        detail: String,
    },
    /// Something that the user should know and that is not an error.
    Notice { text: String },
    /// Something that the user should do something about.
    Warning { text: String },
}

pub trait Events: Sync {
    fn emit(&self, event: Event);

    /// The work is done, and the answer follows: whatever is drawn must be gone when this returns.
    fn settle(&self) {}
}

impl Events for () {
    fn emit(&self, _: Event) {}
}
