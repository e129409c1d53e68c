//! Two closures compared by meaning: which artifacts differ, in what, why, and what follows for the nodes.
//!
//! 1. `side`: a side is artifacts by name; each is an object of the store, or files somewhere on disk.
//! 2. `walk`: artifacts are paired by name, and equal ones skipped by their ids. Of the others, files are paired by path and
//!    skipped by their digests; only what is left is read and given to [`delta`](crate::compare::delta). A difference that an
//!    artifact has from its inputs is told once, where it is first, and counted where it is again.
//! 3. `causes`: the traces of both builds say what changed first.
//! 4. `summary`, `nodes`: what the differences mean, on one page.
//!
//! Invariant: the cost follows what differs, not what there is.

mod causes;
mod fields;
mod nodes;
mod side;
mod summary;
mod walk;

use serde::Serialize;

pub(crate) use nodes::NodeImpact;
pub use side::{Part, Side, Tree};
pub(crate) use summary::{FlagMove, ImageMove, SchemaMove, Summary};
pub use walk::compare;

use crate::base::digest::ObjectId;
use crate::base::fs;
use crate::base::hint::Hint;
use crate::compare::cause::Cause;
use crate::compare::delta::Change;
use crate::engine::store::StoreError;

/// Names the shape of the JSON document.
pub(crate) const SHAPE: &str = "tinderbox-diff/1";

/// What differs between two sides; the document of `diff --format json`.
#[derive(Debug, Clone, Serialize)]
pub struct Diff {
    /// [`SHAPE`].
    pub shape: &'static str,
    /// What the old side is called.
    pub old: String,
    /// What the new side is called.
    pub new: String,
    /// What it means, on one page.
    pub summary: Summary,
    /// What changed first; artifacts name these by index.
    pub causes: Vec<Cause>,
    /// Artifacts that differ; inputs before what is made from them.
    pub artifacts: Vec<Artifact>,
}

impl Diff {
    pub fn is_empty(&self) -> bool {
        self.artifacts.is_empty()
    }
}

/// An artifact that differs.
#[derive(Debug, Clone, Serialize)]
pub struct Artifact {
    /// Its name; of one that is renamed, the new one.
    pub name: String,
    /// What became of it.
    pub state: ArtifactState,
    /// Its name before, if it is renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<ObjectId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<ObjectId>,
    /// What changed first, by index.
    pub causes: Vec<usize>,
    /// Inputs of it that differ too.
    pub via: Vec<String>,
    /// What differs in it, and is not told elsewhere.
    pub differences: Vec<Difference>,
    /// What differs in it as it does in an artifact before.
    pub same: Vec<Same>,
}

/// What became of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactState {
    /// Only on the new side.
    Added,
    /// Only on the old side.
    Removed,
    /// The same content under another name.
    Renamed,
    /// On both sides, and not the same.
    Changed,
}

#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    #[serde(flatten)]
    pub change: Change,
    /// How much it should be looked at.
    pub severity: Severity,
}

/// Differences that are told elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Same {
    /// The artifact that has them first.
    pub artifact: String,
    /// How many files of this one they are in.
    pub files: usize,
}

/// How much a difference should be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Info,
    /// Something behaves differently: flags, images, gates, units, files of a node.
    Notable,
    /// Something that worked may not work any more.
    Breaking,
}

/// Why sides cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// The store does not have it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be read.
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

/// Result of a comparison.
pub(crate) type Result<T> = std::result::Result<T, DiffError>;
