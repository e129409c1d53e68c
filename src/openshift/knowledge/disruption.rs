//! `node-disruption.toml`: what a change of a file makes a running node do, where that is not a reboot.

use serde::{Deserialize, Serialize};

use super::table::Row;

/// What a running node would do, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// A running node keeps what it has: only a first boot reads it.
    FirstBoot,
    /// Files are written, and that is all.
    Written,
    /// CRI-O loads its configuration again.
    Reload,
    /// CRI-O is started again.
    Restart,
    Reboot,
    /// It is installed again: no operator changes this on a running node.
    Reinstall,
}

/// A file, or a directory with all that is below it, and what a change of it means.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disruption {
    path: String,
    pub(crate) effect: Effect,
}

impl Disruption {
    /// Whether it is about this path on a node.
    pub(crate) fn covers(&self, path: &str) -> bool {
        path.strip_prefix(&self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Row for Disruption {
    const FILE: &'static str = "node-disruption.toml";
    const NAME: &'static str = "file";

    fn key(&self) -> &str {
        &self.path
    }
}
