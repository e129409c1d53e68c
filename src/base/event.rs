//! Progress of long operations, as data. The library emits events; only `cli` shows them, and `--events` writes them.

use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The graph is resolved as far as it is known: this many derivations, this many of them in the store.
    Planned {
        /// Derivations that the targets need.
        total: usize,
        /// Derivations whose output is already in the store.
        cached: usize,
    },
    /// A derivation's output was found at a source, such as the store.
    Cached { name: String, source: &'static str },
    /// Another process is building this derivation; we wait for it.
    Waiting { name: String },
    /// A derivation is being built.
    Started { name: String, builder: String },
    /// A derivation was built and is in the store.
    Built {
        name: String,
        object: String,
        milliseconds: u64,
        /// The farm that executed it, if it was not this machine.
        #[serde(skip_serializing_if = "Option::is_none")]
        executor: Option<String>,
    },
    /// A derivation's output came from a cache, and is in the store.
    Substituted { name: String, object: String, cache: String, bytes: u64, milliseconds: u64 },
    /// An output is at a cache now; whether anything of it was missing there.
    Pushed { name: String, bytes: u64, new: bool },
    /// A build failed.
    Failed { name: String, error: String },
    /// One of many builds failed with the error of an earlier one.
    FailedAlike { name: String, first: String },
    /// A derivation was not built because one of its inputs failed.
    Skipped { name: String, because: String },
    /// A file is on its way into the store.
    Fetching {
        name: String,
        /// `downloading` or `unpacking`.
        stage: &'static str,
        /// Bytes so far.
        bytes: u64,
        /// Bytes in all, if known.
        total: Option<u64>,
    },
    /// A file was downloaded, verified, and is in the store.
    Fetched { name: String, bytes: u64, milliseconds: u64 },
    /// A step of `realize` was taken.
    Step {
        phase: &'static str,
        action: &'static str,
        /// The kind of resource.
        resource: &'static str,
        name: String,
        milliseconds: u64,
    },
    /// A node's certificate signing request was approved.
    Approved {
        request: String,
        node: String,
        /// `client` or `serving`.
        certificate: &'static str,
    },
    /// A certificate signing request is left for someone else to decide.
    LeftAlone { request: String, reason: String },
    /// A node registered with the API server.
    Joined { node: String },
    /// Waiting for an external condition.
    Awaiting {
        what: String,
        /// The last observation.
        seen: String,
    },
    /// A cluster operator changed its status.
    Operator { name: String, state: String, message: String },
    /// A check of a running cluster ran.
    Checked { name: &'static str, passed: bool, detail: String },
    /// Informs the user of something that is not an error.
    Notice { text: String },
    /// Asks the user to act.
    Warning { text: String },
}

pub trait Events: Sync {
    fn emit(&self, event: Event);

    /// The work is done and its result follows: any progress display must be gone when this returns.
    fn settle(&self) {}
}

impl Events for () {
    fn emit(&self, _: Event) {}
}
