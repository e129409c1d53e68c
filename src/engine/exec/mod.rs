//! The scheduler: for every derivation that the targets need, takes the output from the store, else builds it.
//!
//! The life of a derivation: its inputs are done → their content ids yield its [`DrvId`] → the store has that id
//! (cached), or a worker takes the derivation's lock, looks again, builds into a staging tree, or has a farm do it, and
//! passes it to the committer, which makes all finished outputs durable with one sync and publishes them. Only then do
//! its users see it. Because ids identify content, the users of an input that was rebuilt to the same bytes stay cached.

mod check;
mod origin;
mod output_source;
mod resolve;
mod schedule;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) use check::{Recheck, recheck};
pub(crate) use origin::{origin_of, unchanged};
pub(crate) use resolve::{BuildPlan, SEED, closure_id, explain, plan};
pub use schedule::build;
pub(crate) use schedule::build_on;
pub(crate) use work::now;
pub use work::path_of;

use crate::base::digest::{DrvId, ObjectId};
use crate::base::event::Events;
use crate::base::hint::{Hint, Place, did_you_mean};
use crate::base::secret::Seed;
use crate::engine::builders::{BuildError, Builder, Builders, Files};
use crate::engine::cache::{Substituter, Trusted};
use crate::engine::recipe::{Graph, GraphNode, NodeIndex};
use crate::engine::registry::Deferred;
use crate::engine::remote::Farms;
use crate::engine::sandbox::Sandbox;
use crate::engine::store::{Output, Session, StoreError};

/// What a build works with.
#[derive(Clone, Copy)]
pub struct BuildContext<'a> {
    pub graph: &'a Graph,
    pub builders: Builders,
    pub session: &'a Session,
    pub events: &'a dyn Events,
    /// Set when the user cancels.
    pub cancel: &'a AtomicBool,
    /// The image source, for builders with the grant.
    pub images: Option<&'a Deferred>,
    /// Files that the lock pins, for builders with the grant.
    pub files: Option<&'a Files>,
    /// The source of keys and names, for builders with the grant.
    pub seed: Option<&'a Seed>,
    /// Runs programs, for builders with the grant.
    pub sandbox: &'a Sandbox,
    /// Outputs that others built; none if the user wants none, or knows none.
    pub caches: Option<&'a dyn Substituter>,
    /// Whose signatures count here, also for outputs that another cluster's build put into the store.
    pub trust: &'a [Trusted],
    /// Farms that may build, and those whose outputs count here.
    pub farms: &'a Farms,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Derivations built at the same time.
    pub jobs: usize,
    /// Whether to continue with derivations that do not depend on a failed one.
    pub keep_going: bool,
    pub building: Building,
}

/// What is built when no source has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Building {
    #[default]
    Everything,
    /// Only what no cache can have, because it is secret.
    Secrets,
}

/// A derivation whose output is in the store.
#[derive(Debug, Clone)]
pub struct Done {
    pub drv: DrvId,
    pub output: Output,
}

/// The result of a build.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Every derivation whose output is now in the store.
    pub done: BTreeMap<NodeIndex, Done>,
    /// Built derivations, in order of completion.
    pub built: Vec<String>,
    /// Derivations whose output the store already had, sorted.
    pub cached: Vec<String>,
    /// Derivations whose output came from a cache, in order of completion.
    pub substituted: Vec<String>,
    /// Built derivations that a farm executed, and which.
    pub executed: BTreeMap<String, String>,
    /// Derivations that failed, and why.
    pub failed: Vec<(String, Arc<ExecError>)>,
    /// Derivations that were not built because of a failure, sorted.
    pub skipped: Vec<String>,
    /// Whether the user cancelled.
    pub cancelled: bool,
    /// Derivations known to have produced more than one output.
    pub diverged: Vec<(String, Vec<ObjectId>)>,
}

/// Why a derivation has no output.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("`{name}` cannot be built ({recipe})")]
    Build { name: String, recipe: String, source: Box<BuildError> },
    #[error("{place}: there is no builder `{kind}`")]
    NoBuilder {
        /// Where the recipe names it.
        place: Place,
        kind: String,
        kinds: Vec<String>,
    },
    /// The output of an input lacks the requested path.
    #[error("`{name}` needs `{path}` of `{from}`, which has no such file ({recipe})")]
    NoPath {
        name: String,
        recipe: String,
        from: String,
        path: String,
        /// The paths that exist.
        has: Vec<String>,
    },
    /// The same, where the input's builder can explain it.
    #[error("`{name}` cannot be built: {lack} ({recipe})")]
    Lack { name: String, recipe: String, lack: String },
    #[error("`{name}` cannot be stored")]
    Store { name: String, source: StoreError },
    /// The disk did not accept the output.
    #[error("`{name}` cannot be synced to the disk")]
    Sync {
        name: String,
        /// Shared by all outputs of one sync.
        source: Arc<StoreError>,
    },
    #[error("`{name}` is made from a secret, but there is no seed")]
    NoSeed { name: String },
    /// Nobody may build it now.
    #[error("no cache has `{name}`")]
    NotCached { name: String },
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
            Self::NoSeed { .. } => Some("run `tinderbox lock` to create the seed".into()),
            Self::NotCached { .. } => {
                Some("`tinderbox build` builds it; `tinderbox push` where it is built shares it".into())
            }
        }
    }
}

impl BuildContext<'_> {
    fn builder_of(self, node: &GraphNode) -> Result<&'static dyn Builder, ExecError> {
        let (kind, place) = &node.builder;
        self.builders.find(kind).ok_or_else(|| ExecError::NoBuilder {
            place: place.clone(),
            kind: kind.clone(),
            kinds: self.builders.kinds(),
        })
    }
}

/// Adds the derivation's name and recipe to a builder's error, and replaces a file's alias with the name that the user
/// knows.
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

fn in_store(node: &GraphNode) -> impl Fn(StoreError) -> ExecError + '_ {
    |source| ExecError::Store { name: node.name.clone(), source }
}
