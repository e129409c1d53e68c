//! Compares two closures by meaning: which artifacts differ, how, why, and the effect on nodes.
//!
//! 1. `side`: a side has artifacts by name; each is an object in the store, or files on disk.
//! 2. `walk`: pairs artifacts by name and skips equal ones by id. Of the others, pairs files by path and skips them by
//!    digest; only the rest is read and passed to [`delta`](crate::compare::delta). A difference that an artifact has from
//!    its inputs is reported once, where it occurs first, and only counted afterwards.
//! 3. `causes`: finds the root causes in the traces of both builds.
//! 4. `summary`, `nodes`: what the differences mean, on one page.
//!
//! `assemble` makes the same of changes that were found elsewhere, for `drift`.
//!
//! Invariant: the cost depends on the size of the differences, not of the closures.

mod assemble;
mod causes;
mod fields;
mod known_secrets;
mod nodes;
mod side;
mod summary;
mod walk;

use serde::Serialize;

pub(crate) use assemble::{Found, assemble};
pub(crate) use known_secrets::KnownSecrets;
pub(crate) use nodes::NodeImpact;
pub use side::{Part, Side, Tree};
pub(crate) use summary::components;
pub(crate) use summary::{FlagChange, ImageChange, SchemaChange, Summary};
pub use walk::compare;

use crate::base::digest::ObjectId;
use crate::base::fs;
use crate::base::hint::Hint;
use crate::compare::cause::Cause;
use crate::compare::delta::Change;
use crate::engine::store::StoreError;

/// Identifies the format of the JSON document.
pub(crate) const SHAPE: &str = "tinderbox-diff/1";

/// The differences between two sides; the document of `diff --format json`.
#[derive(Debug, Clone, Serialize)]
pub struct Diff {
    /// [`SHAPE`].
    pub shape: &'static str,
    /// Title of the old side.
    pub old: String,
    /// Title of the new side.
    pub new: String,
    pub summary: Summary,
    /// Root causes; artifacts refer to them by index.
    pub causes: Vec<Cause>,
    /// Artifacts that differ, in dependency order.
    pub artifacts: Vec<Artifact>,
}

impl Diff {
    /// Two sides without a difference.
    pub(crate) fn none(old: String, new: String) -> Self {
        Self {
            shape: SHAPE,
            old,
            new,
            summary: Summary::default(),
            causes: Vec::new(),
            artifacts: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.artifacts.is_empty()
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Artifact {
    /// If renamed, the new name.
    pub name: String,
    pub state: ArtifactState,
    /// The old name, if renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<ObjectId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<ObjectId>,
    /// Root causes, by index.
    pub causes: Vec<usize>,
    /// Inputs that differ too.
    pub via: Vec<String>,
    /// Whether it is a download, with much that this cluster does not use.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub download: bool,
    /// Differences that are not reported elsewhere.
    pub differences: Vec<Difference>,
    /// Differences that an earlier artifact has too, or another file of this one.
    pub same: Vec<Same>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactState {
    Added,
    Removed,
    /// The same content under another name.
    Renamed,
    Changed,
}

#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    #[serde(flatten)]
    pub change: Change,
    pub severity: Severity,
}

/// Differences that are reported elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Same {
    /// The first artifact that has them.
    pub artifact: String,
    /// The number of files of this artifact that have them.
    pub files: usize,
}

/// How much attention a difference deserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Info,
    /// Changes behaviour: flags, images, gates, units, files of a node.
    Notable,
    /// May break something that worked.
    Breaking,
}

#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Fs(#[from] fs::Error),
}

impl Hint for DiffError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Fs(error) => error.hint(),
        }
    }
}

pub(crate) type Result<T> = std::result::Result<T, DiffError>;
