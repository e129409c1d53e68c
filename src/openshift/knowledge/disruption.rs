//! `node-disruption.toml`: the effect of a changed file on a running node, where that is not a reboot.

use serde::{Deserialize, Serialize};

use super::table::Row;

/// The effect on a running node, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// None on a running node: only a first boot reads it.
    FirstBoot,
    /// Files are written, and nothing else happens.
    Written,
    /// CRI-O reloads its configuration.
    Reload,
    /// CRI-O restarts.
    Restart,
    Reboot,
    /// Requires re-installation: no operator changes this on a running node.
    Reinstall,
}

/// A file, or a directory with everything below it, and the effect of a change.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disruption {
    path: String,
    pub(crate) effect: Effect,
}

impl Disruption {
    /// Whether it covers this path on a node.
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
