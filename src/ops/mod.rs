//! One file per verb: reads the user's files, hands text and values down, returns outcomes as data.
//!
//! Nothing here prints, and nothing reads the environment: `cli` does both.

pub mod adoption;
pub mod affects;
pub mod approve;
mod authorities;
pub mod beside;
pub mod blame;
pub mod build;
mod causes;
pub mod check;
pub mod diff;
mod directory;
mod error;
pub mod expiry;
pub mod explain;
pub mod export;
pub mod gather;
pub mod generations;
pub mod graph;
pub mod init;
pub mod lock;
pub mod node;
pub mod realize;
pub mod release;
pub mod renew;
pub mod report;
mod rhcos;
pub mod scan;
pub mod seed;
pub mod show;
pub mod ssh;
pub mod store;
mod svg;
pub mod trust;
mod user;
pub mod why;
mod workspace;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

pub use directory::ClusterDir;
pub use error::OpsError;
pub use workspace::{Missing, Workspace};

use crate::event::Events;
use crate::process::Programs;
pub use crate::registry::ProxySettings;

/// What every verb is given.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The cluster directory.
    pub directory: &'a std::path::Path,
    /// Where the store is.
    pub store: &'a StoreChoice,
    /// Who is told what happens.
    pub events: &'a dyn Events,
    /// Set when the user wants to stop.
    pub cancel: &'a AtomicBool,
    /// How to reach registries.
    pub proxy: &'a ProxySettings,
    /// Programs of the host.
    pub programs: &'a Programs,
    /// The file with the age identity that opens an encrypted seed.
    pub identity: Option<&'a std::path::Path>,
}

/// How the store is chosen: what the user named, else the nearest one above the cluster directory, else the default.
#[derive(Debug, Clone, Default)]
pub struct StoreChoice {
    /// Named with `--store` or TINDERBOX_STORE.
    pub named: Option<PathBuf>,
    /// The user's data directory.
    pub data: Option<PathBuf>,
}

/// Result of a verb.
pub type Result<T> = std::result::Result<T, OpsError>;
