//! Builders: each turns input trees into one output tree. Same job, same bytes.
//!
//! A closed set, each versioned. A builder sees its job and nothing else: no store, clock, environment or terminal.

mod digest;
mod files;
mod identity;
mod ignition;
mod image;
mod iso;
mod job;
mod machine_config;
mod objects;
mod only;
mod patch;
mod pki;
mod release;
mod render;
mod run;
mod template;
mod tree;
pub mod validate;

pub use files::{FileError, Files, Location, Pinned};
pub use job::{InputTree, Job, JobError, Note, Notes, Programs};
pub use render::names as template_names;

use crate::drv::BuilderId;
use crate::hint::Hint;
use crate::ignition::IgnitionError;
use crate::iso::IsoError;
use crate::pki::PkiError;
use crate::registry::RegistryError;
use crate::sandbox::SandboxError;
use crate::tree::{TreeError, TreeWriter};

/// Turns input trees into one output tree: same job, same bytes.
pub trait Builder: Sync {
    /// Kind and version; part of every derivation that names this builder.
    fn id(&self) -> BuilderId;

    /// Access beyond its inputs; none unless stated.
    fn grants(&self) -> Grants {
        Grants::default()
    }

    /// Whether the output of this job is public although something secret went in.
    fn declassifies(&self, _job: &Job<'_>) -> bool {
        false
    }

    /// Whether the output of this job is secret although nothing secret went in: its builder makes secrets.
    fn conceals(&self, _job: &Job<'_>) -> bool {
        false
    }

    /// What it means that an output has no such path, where its reader knows it by another name; nothing unless stated.
    fn lacks(&self, _path: &str, _output: &InputTree) -> Option<String> {
        None
    }

    /// Looks at a job before anything is built: unknown and unused parameters are found here.
    fn check(&self, job: &Job<'_>) -> Result<(), BuildError>;

    /// Writes the output. Sees no store, clock, environment or terminal.
    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError>;
}

/// What a builder may use beyond its inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Grants {
    /// Images, by digest.
    pub images: bool,
    /// Programs of images, in the sandbox.
    pub programs: bool,
    /// Files that the lock pins, by sha256.
    pub files: bool,
    /// Streams of the cluster's seed. The seed is part of the derivation's id, and what is made of it is secret unless
    /// the builder declassifies it.
    pub seed: bool,
}

/// All builders.
const ALL: [&dyn Builder; 18] = [
    &image::Image,
    &release::Payload,
    &release::Images,
    &release::Crds,
    &identity::Identity,
    &pki::Keypair,
    &pki::Authority,
    &pki::SelfSigned,
    &pki::Certificate,
    &template::Template,
    &run::Run,
    &machine_config::MachineConfig,
    &ignition::Ignition,
    &tree::Tree,
    &patch::Patches,
    &validate::Validate,
    &iso::Iso,
    &digest::DigestOf,
];

/// The builder of that kind.
pub fn find(kind: &str) -> Option<&'static dyn Builder> {
    ALL.into_iter().find(|builder| builder.id().kind == kind)
}

/// Kinds of all builders.
pub fn kinds() -> Vec<String> {
    ALL.iter().map(|builder| builder.id().kind).collect()
}

/// Why a job could not be done.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The output could not be written.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// An image could not be had.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The disk.
    #[error(transparent)]
    Fs(#[from] crate::fs::Error),
    /// A pinned file could not be had.
    #[error(transparent)]
    File(#[from] FileError),
    /// A live ISO that cannot be used.
    #[error("`{}` cannot be used", path.display())]
    Iso {
        /// Where it is.
        path: std::path::PathBuf,
        /// Why not.
        source: IsoError,
    },
    /// The job itself is wrong.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A key or certificate that cannot be read or made.
    #[error("{what}")]
    Pki {
        /// Which, and whose.
        what: String,
        /// Why not.
        source: PkiError,
    },
    /// An authority of the user's that cannot do the work.
    #[error("your certificate of `{name}` {problem}")]
    Brought {
        /// Which authority.
        name: String,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        advice: String,
    },
    /// A certificate whose issuer is no longer valid.
    #[error("`{name}` cannot be issued: its issuer `{issuer}` ended {}", until.date())]
    IssuerEnded {
        /// Which certificate.
        name: String,
        /// The subject of its issuer.
        issuer: String,
        /// When that ends.
        until: time::OffsetDateTime,
    },
    /// A template that cannot be rendered.
    #[error("{file}:{line}: {message}")]
    Template {
        /// The output file whose template it is.
        file: String,
        /// Line of the template.
        line: usize,
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A config that is none, or that something does not fit into.
    #[error("{what}")]
    Ignition {
        /// Which, and whose.
        what: String,
        /// Why not.
        source: IgnitionError,
    },
    /// A patch that cannot be applied.
    #[error("{file}:{line}: {message}")]
    Patch {
        /// The patch file.
        file: String,
        /// Its line.
        line: usize,
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A program that could not be run.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A program that did not do what it should.
    #[error("`{program}` {problem}{}", last_words(words))]
    Program {
        /// Which, by its path in the image.
        program: String,
        /// How it ended, or what is wrong with what it made.
        problem: String,
        /// The last lines that it printed, secrets masked.
        words: String,
        /// What to do.
        advice: Option<String>,
    },
    /// The user stopped the build.
    #[error("stopped")]
    Stopped,
    /// Two files that describe one Kubernetes object.
    #[error("{object} is in both {one} and {other}")]
    Twice {
        /// Kind and name.
        object: String,
        /// One file, with its line and where it is from.
        one: String,
        /// The other.
        other: String,
    },
    /// Checks that do not hold.
    #[error("{} of {checked} checks failed{}", failed(findings), validate::list(findings))]
    Checks {
        /// How many were made.
        checked: usize,
        /// What they found.
        findings: Vec<validate::Finding>,
    },
}

/// What a program printed last, below a message.
fn last_words(words: &str) -> String {
    match words.trim_end() {
        "" => "; it printed nothing".to_owned(),
        words => words.lines().fold("; its last words:".to_owned(), |text, line| text + "\n  " + line),
    }
}

fn failed(findings: &[validate::Finding]) -> usize {
    findings.iter().map(|finding| finding.check).collect::<std::collections::BTreeSet<_>>().len()
}

impl Hint for BuildError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Tree(error) => error.hint(),
            Self::Registry(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Iso { source, .. } => source.hint(),
            Self::Job(error) => error.hint(),
            Self::Pki { source, .. } => source.hint(),
            Self::Ignition { source, .. } => source.hint(),
            Self::Brought { advice, .. } => Some(advice.clone()),
            Self::IssuerEnded { .. } => Some("`tinderbox renew` the issuer too, or bring another".into()),
            Self::Template { hint, .. } | Self::Patch { hint, .. } => hint.clone(),
            Self::Twice { .. } => Some(
                "keep one of them; what a built-in recipe makes is changed with a patch in `patches/`".into(),
            ),
            Self::Sandbox(error) => error.hint(),
            Self::Program { advice, .. } => advice.clone(),
            Self::Checks { .. } | Self::Stopped => None,
        }
    }
}
