//! What can go wrong in a verb.

use std::path::PathBuf;

use crate::base::fs;
use crate::base::hint::{Hint, Problems};
use crate::base::pki::PkiError;
use crate::base::process::ProcessError;
use crate::compare::diff::DiffError;
use crate::engine::exec::ExecError;
use crate::engine::fields::FieldError;
use crate::engine::registry::RegistryError;
use crate::engine::store::StoreError;
use crate::realize::RealizeError;
use crate::realize::api::ApiError;

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpsError {
    /// The user's files have problems.
    #[error("{} {}:\n{problems}", problems.0.len(), if problems.0.len() == 1 { "problem" } else { "problems" })]
    Problems {
        #[from]
        problems: Problems,
    },
    /// The file system refused.
    #[error(transparent)]
    Fs(#[from] fs::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Two sides cannot be compared.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// A derivation could not be had.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// A derivation that something else needs could not be built.
    #[error(transparent)]
    Failed(std::sync::Arc<ExecError>),
    /// An image could not be had.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The lock is about another release than the one that is asked for.
    #[error("cluster.yaml asks for release `{asked}`, and cluster.lock pins `{pinned}`")]
    Moved {
        /// What cluster.yaml says now.
        asked: String,
        /// What it said when it was pinned.
        pinned: String,
    },
    /// The lock pins no release.
    #[error("cluster.lock pins no release, and cluster.yaml asks for `{asked}`")]
    Unpinned { asked: String },
    /// The host could not be looked at.
    #[error(transparent)]
    Realize(RealizeError),
    /// Not a config field.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// Not a cluster directory.
    #[error("`{}` is not a cluster directory: it has no {missing}", path.display())]
    NotACluster {
        /// What was looked at.
        path: PathBuf,
        /// The file that it lacks.
        missing: &'static str,
    },
    /// A file that is there already.
    #[error("`{}` is there already, and is left as it is", path.display())]
    Exists {
        path: PathBuf,
        /// What to do instead.
        advice: &'static str,
    },
    /// A seed that others can read, or that is no seed.
    #[error("the seed `{}` {problem}", path.display())]
    Seed {
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
        advice: String,
    },
    /// A file that was named as an identity file and is none.
    #[error("the identity file `{}` {problem}", path.display())]
    Identity {
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// An encrypted seed that is for somebody else.
    #[error("no identity in `{}` can open `{}`", identity.display(), path.display())]
    Closed { path: PathBuf, identity: PathBuf },
    /// A target that is not in the graph.
    #[error("there is no derivation `{target}`")]
    NoTarget {
        /// What was asked for.
        target: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// A target that this cluster does not have.
    #[error("there is no `{target}` here: {why}")]
    Absent {
        /// What was asked for.
        target: String,
        why: String,
        advice: Option<String>,
    },
    /// Something that is asked about before it was built.
    #[error("`{target}` is not built")]
    NotBuilt { target: String },
    /// An output that should be certificates and cannot be read as such.
    #[error("the output of `{derivation}` cannot be read")]
    Certificate { derivation: String, source: PkiError },
    /// A path that an artifact does not have.
    #[error("`{target}` has no `{path}`")]
    NoPath { target: String, path: String, advice: Option<String> },
    /// An option that makes no sense here.
    #[error("{message}")]
    Usage { message: String, advice: Option<String> },
    /// The artifact set is built, and `result` could not be moved.
    #[error("everything is built, but `{}` cannot be updated", path.display())]
    Result { path: PathBuf, source: fs::Error },
    #[error("interrupted; {kept} finished {} kept in the store, and a new build goes on from there", if *kept == 1 { "output is" } else { "outputs are" })]
    Interrupted { kept: usize },
    /// The user stopped something that changes nothing.
    #[error("interrupted; nothing was changed")]
    Stopped,
}

impl OpsError {
    /// Whether the user wanted to stop: exit code 130.
    pub(crate) fn is_interrupt(&self) -> bool {
        matches!(
            self,
            Self::Interrupted { .. } | Self::Stopped | Self::Realize(RealizeError::Api(ApiError::Stopped))
        )
    }

    /// Whether the user asked for something that cannot be asked for: exit code 2 in place of 1.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::Usage { .. })
    }
}

impl Hint for OpsError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Problems { problems } => problems.hint(),
            Self::Fs(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Diff(error) => error.hint(),
            Self::Exec(error) => error.hint(),
            Self::Failed(error) => error.hint(),
            Self::Field(error) => error.hint(),
            Self::Registry(error) => error.hint(),
            Self::Realize(error) => error.hint(),
            Self::Unpinned { .. } => Some("`tinderbox lock` fills in what is missing".into()),
            Self::Moved { .. } => {
                Some("`tinderbox lock --update release` pins what cluster.yaml asks for".into())
            }
            Self::NotACluster { .. } => Some(
                "`tinderbox init` writes one here; `tinderbox -C DIR …` works on another directory".into(),
            ),
            Self::Exists { advice, .. } => Some((*advice).into()),
            Self::Seed { advice, .. } => Some(advice.clone()),
            Self::Identity { .. } => Some(
                "it has one AGE-SECRET-KEY-1… a line, as `age-keygen` writes it; one that is itself encrypted must be \
                 decrypted first"
                    .into(),
            ),
            Self::Closed { .. } => Some(
                "use an identity whose recipient it was encrypted for, or ask one who has: `tinderbox seed \
                 rotate-recipients` adds yours"
                    .into(),
            ),
            Self::NoTarget { near, .. } => Some(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`tinderbox graph --format json` lists all derivations".into(),
            }),
            Self::Certificate { .. } => Some("`tinderbox store verify` finds what is broken".into()),
            Self::NotBuilt { target } => Some(format!("run `tinderbox build {target}`")),
            Self::Absent { advice, .. } | Self::NoPath { advice, .. } | Self::Usage { advice, .. } => advice.clone(),
            Self::Result { source, .. } => source
                .hint()
                .or_else(|| Some("`tinderbox build --no-link` leaves the directory alone".into())),
            Self::Interrupted { .. } | Self::Stopped => None,
        }
    }
}

impl From<RealizeError> for OpsError {
    fn from(error: RealizeError) -> Self {
        match error {
            RealizeError::Process(ProcessError::Stopped) => Self::Stopped,
            error => Self::Realize(error),
        }
    }
}
