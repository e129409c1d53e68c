//! The builder interface and the generic builders: each turns input trees into one output tree.
//!
//! A closed set, each versioned. A builder sees its job and nothing else: no store, clock, environment or terminal. The
//! caller passes the set to the scheduler ([`Builders`]): most builders are domain-specific and live above the engine.

mod digest;
mod error;
mod files;
mod filter_bounds;
mod image;
mod job;
mod pinned;
mod render;
mod run;
mod template;

pub(crate) use digest::DigestOf;
pub(crate) use error::{BuildError, BuilderError};
pub(crate) use files::{FileError, Files, Location, Pinned};
pub(crate) use image::{Image, list_layer};
pub(crate) use job::{InputTree, Job, JobError, Note, Notes, Said, SandboxRunner};
pub(crate) use pinned::PinnedFile;
pub(crate) use render::{TemplateContext, Templates, names as template_names, values as template_values};
pub(crate) use run::{MadeFile, Run};
pub(crate) use template::Template;

use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;

/// Turns input trees into one output tree: same job, same bytes.
pub trait Builder: Sync {
    /// Kind and version; part of every derivation that names this builder.
    fn id(&self) -> BuilderId;

    /// Access beyond its inputs; none unless stated.
    fn grants(&self) -> Grants {
        Grants::default()
    }

    /// Whether the output of this job is public although an input is secret.
    fn declassifies(&self, _job: &Job<'_>) -> bool {
        false
    }

    /// Whether some of every output is secret, although the rest is declassified.
    fn keeps_secrets(&self) -> bool {
        false
    }

    /// Whether the output of this job is secret although no input is: the builder generates secrets.
    fn conceals(&self, _job: &Job<'_>) -> bool {
        false
    }

    /// Whether all of the output of this job is secret, where something secret goes in or not.
    fn hides(&self, job: &Job<'_>, tainted: bool) -> bool {
        (tainted && !self.declassifies(job)) || self.conceals(job)
    }

    /// Whether it usually takes longer than its inputs take to another machine.
    fn is_costly(&self) -> bool {
        self.grants().programs
    }

    /// Explains a missing path of its output where readers know it by another name; none by default.
    fn lacks(&self, _path: &str, _output: &InputTree) -> Option<String> {
        None
    }

    /// The input whose files it edits in place, if any: a changed file in its output originates there.
    fn changes(&self) -> Option<&'static str> {
        None
    }

    /// Whether it writes the recipe's text files verbatim, each under its alias.
    fn copies_texts(&self) -> bool {
        false
    }

    /// Checks a job before anything is built: finds unknown and unused parameters.
    fn check(&self, job: &Job<'_>) -> Result<(), BuildError>;

    /// Writes the output. Sees no store, clock, environment or terminal.
    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError>;
}

/// Access beyond its inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Grants {
    pub images: bool,
    /// Programs of images, in the sandbox.
    pub programs: bool,
    /// Files that the lock pins, by sha256.
    pub files: bool,
    /// Streams of the cluster's seed. The seed is part of the derivation's id, and the output is secret unless the
    /// builder declassifies it.
    pub seed: bool,
}

/// The builders that a build may use, by kind.
#[derive(Clone, Copy)]
pub struct Builders(pub &'static [&'static dyn Builder]);

impl Builders {
    pub fn find(&self, kind: &str) -> Option<&'static dyn Builder> {
        self.0.iter().copied().find(|builder| builder.id().kind == kind)
    }

    pub fn kinds(&self) -> Vec<String> {
        self.0.iter().map(|builder| builder.id().kind).collect()
    }
}
