//! One file per verb: reads the user's files, hands text and values down, returns outcomes as data.
//!
//! Nothing here prints, and nothing reads the environment: `cli` does both.

pub(crate) mod adoption;
pub(crate) mod affects;
pub(crate) mod approve;
pub(crate) mod beside;
pub(crate) mod blame;
pub(crate) mod build;
mod causes;
pub(crate) mod check;
pub(crate) mod diff;
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
pub(crate) mod scan;
pub(crate) mod show;
pub(crate) mod ssh;
pub(crate) mod store;
mod svg;
pub(crate) mod trust;
pub(crate) mod why;

pub(crate) use error::OpsError;

pub(crate) use crate::engine::registry::ProxySettings;
pub(crate) use crate::openshift::workspace::{
    self, ClusterDir, Env, Missing, StoreChoice, Workspace, WorkspaceError, seed,
};

/// Result of a verb.
pub(crate) type Result<T> = std::result::Result<T, OpsError>;
