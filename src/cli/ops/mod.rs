//! One file per verb: reads the user's files, hands text and values down, returns outcomes as data.
//!
//! Nothing here prints, and nothing reads the environment: `cli` does both.

pub(crate) mod adoption;
pub(crate) mod affects;
pub(crate) mod approve;
mod authorities;
pub(crate) mod beside;
pub(crate) mod blame;
pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod diff;
mod directory;
mod error;
pub(crate) mod expiry;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod gather;
pub(crate) mod generations;
pub(crate) mod graph;
pub(crate) mod init;
pub(crate) mod lock;
pub(crate) mod node;
pub(crate) mod realize;
pub(crate) mod release;
pub(crate) mod renew;
pub(crate) mod report;
mod rhcos;
pub(crate) mod scan;
pub(crate) mod seed;
pub(crate) mod show;
pub(crate) mod ssh;
pub(crate) mod store;
mod svg;
pub(crate) mod trust;
mod user;
pub(crate) mod why;
mod workspace;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

pub(crate) use directory::ClusterDir;
pub(crate) use error::OpsError;
pub(crate) use workspace::{Missing, Workspace};

use crate::base::event::Events;
use crate::base::process::Programs;
pub(crate) use crate::engine::registry::ProxySettings;

/// What every verb is given.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
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
pub(crate) struct StoreChoice {
    /// Named with `--store` or TINDERBOX_STORE.
    pub named: Option<PathBuf>,
    /// The user's data directory.
    pub data: Option<PathBuf>,
}

/// Result of a verb.
pub(crate) type Result<T> = std::result::Result<T, OpsError>;
