//! The scheduler: for every derivation that the targets need, the store's output if it has one, else a build.
//!
//! The life of a derivation: its inputs are done → their content ids give its [`DrvId`] → the store knows that id
//! (cached), or a worker takes the derivation's lock, looks again, builds into a staging tree and hands it to the
//! committer, which makes everything finished meanwhile durable with one sync and publishes it. Only then do its users
//! see it. Because ids are of content, an input that was rebuilt to the same bytes leaves its users cached.

mod check;
mod origin;
mod resolve;
mod schedule;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) use check::{Recheck, recheck};
pub(crate) use resolve::{BuildPlan, SEED, explain, plan};
pub use schedule::build;
pub(crate) use work::now;
pub use work::path_of;

use crate::base::digest::{DrvId, ObjectId};
use crate::base::event::Events;
use crate::base::hint::{Hint, Place, did_you_mean};
use crate::base::secret::Seed;
use crate::engine::builders::{BuildError, Builder, Builders, Files};
use crate::engine::recipe::{Graph, GraphNode, NodeIndex};
use crate::engine::registry::Deferred;
use crate::engine::sandbox::Sandbox;
use crate::engine::store::{Output, Session, StoreError};

/// What a build works with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// What there is to build.
    pub graph: &'a Graph,
    pub builders: Builders,
    pub session: &'a Session,
    pub events: &'a dyn Events,
    /// Set when the user wants to stop.
    pub cancel: &'a AtomicBool,
    /// Where images come from, for builders that may use them.
    pub images: Option<&'a Deferred>,
    /// Files that the lock pins, for builders that may use them.
    pub files: Option<&'a Files>,
    /// Where keys and names come from, for builders that may use it.
    pub seed: Option<&'a Seed>,
    /// Where programs are run, for builders that may.
    pub sandbox: &'a Sandbox,
}

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Derivations built at the same time.
    pub jobs: usize,
    /// Whether to go on with what does not depend on a failed derivation.
    pub keep_going: bool,
}

/// What a derivation stands for, once its inputs are known and its output is in the store.
#[derive(Debug, Clone)]
pub struct Done {
    pub drv: DrvId,
    pub output: Output,
}

/// How a build went.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Everything that is in the store now, by index in the graph.
    pub done: BTreeMap<NodeIndex, Done>,
    /// Names that were built, in the order in which they were finished.
    pub built: Vec<String>,
    /// Names that the store had, sorted.
    pub cached: Vec<String>,
    /// Names that could not be built, and why.
    pub failed: Vec<(String, Arc<ExecError>)>,
    /// Names that were not tried because of a failure, sorted.
    pub skipped: Vec<String>,
    /// Whether the user stopped it.
    pub cancelled: bool,
    /// Derivations that are known to have given more than one output.
    pub diverged: Vec<(String, Vec<ObjectId>)>,
}

/// Why a derivation could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The builder could not do it.
    #[error("`{name}` cannot be built ({recipe})")]
    Build { name: String, recipe: String, source: Box<BuildError> },
    /// A builder that does not exist.
    #[error("{place}: there is no builder `{kind}`")]
    NoBuilder {
        /// Where the recipe says so.
        place: Place,
        kind: String,
        /// Those that there are.
        kinds: Vec<String>,
    },
    /// An input's part that its output does not have.
    #[error("`{name}` needs `{path}` of `{from}`, which has no such file ({recipe})")]
    NoPath {
        name: String,
        recipe: String,
        from: String,
        path: String,
        /// What the input has.
        has: Vec<String>,
    },
    /// The same, where the input's builder knows what that means.
    #[error("`{name}` cannot be built: {lack} ({recipe})")]
    Lack {
        name: String,
        recipe: String,
        /// What is not there.
        lack: String,
    },
    #[error("`{name}` cannot be stored")]
    Store { name: String, source: StoreError },
    /// The disk did not take what was built.
    #[error("`{name}` cannot be made durable")]
    Sync {
        name: String,
        /// Why, for all that were to become durable together.
        source: Arc<StoreError>,
    },
    /// A secret without a key.
    #[error("`{name}` is made from a secret, and there is no seed")]
    NoSeed { name: String },
}

impl Hint for ExecError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Build { source, .. } => source.hint(),
            Self::NoBuilder { kind, kinds, .. } => did_you_mean(kind, kinds.iter().map(String::as_str))
                .or_else(|| Some(format!("known: {}", kinds.join(", ")))),
            Self::NoPath { path, has, .. } => did_you_mean(path, has.iter().map(String::as_str))
                .or_else(|| Some(format!("it has {}", has.join(", ")))),
            Self::Lack { .. } => Some("`tinderbox release info` lists what it has".into()),
            Self::Store { source, .. } => source.hint(),
            Self::Sync { source, .. } => source.hint(),
            Self::NoSeed { .. } => Some("run `tinderbox lock` to make the seed".into()),
        }
    }
}

impl Context<'_> {
    /// The builder that a node names.
    fn builder_of(self, node: &GraphNode) -> Result<&'static dyn Builder, ExecError> {
        let (kind, place) = &node.builder;
        self.builders.find(kind).ok_or_else(|| ExecError::NoBuilder {
            place: place.clone(),
            kind: kind.clone(),
            kinds: self.builders.kinds(),
        })
    }
}

/// Adds the derivation's name and recipe to a builder's error; a text file is called as the user knows it, not by its
/// alias.
fn in_build(node: &GraphNode) -> impl Fn(BuildError) -> ExecError + '_ {
    |source| {
        let shown = |alias: String| node.files.get(&alias).cloned().unwrap_or(alias);
        let source = match source {
            BuildError::Text { file, line, message, hint } => {
                BuildError::Text { file: shown(file), line, message, hint }
            }
            other => other,
        };
        ExecError::Build { name: node.name.clone(), recipe: node.recipe.clone(), source: Box::new(source) }
    }
}

/// Adds the derivation's name to a store error.
fn in_store(node: &GraphNode) -> impl Fn(StoreError) -> ExecError + '_ {
    |source| ExecError::Store { name: node.name.clone(), source }
}
