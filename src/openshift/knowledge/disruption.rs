//! `node-disruption.toml`: what a change of a file makes a running node do, where that is not a reboot.

use serde::{Deserialize, Serialize};

use super::table::{RawRows, Row, Source, Table};
use crate::base::hint::Problems;

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
    pub(crate) const FILE: &'static str = "node-disruption.toml";

    pub(crate) fn parse(source: Source<'_>) -> Result<Table<Self>, Problems> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            file: RawRows,
        }
        let File { file } = source.read()?;
        Table::of(source, file)
    }

    /// Whether it is about this path on a node.
    pub(crate) fn covers(&self, path: &str) -> bool {
        path.strip_prefix(&self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Row for Disruption {
    const NAME: &'static str = "file";

    fn key(&self) -> &str {
        &self.path
    }
}
