//! Errors of verbs: `error:`, `caused by:`, `hint:` for people, a document for programs, and the exit code.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "this module is the one that prints errors")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use super::output::{Colour, stderr_paint, visible};
use crate::base::fs;
use crate::base::hint::{Hint, Problems, chain};
use crate::base::pki::PkiError;
use crate::base::process::ProcessError;
use crate::compare::diff::DiffError;
use crate::engine::download::DownloadError;
use crate::engine::exec::ExecError;
use crate::engine::registry::RegistryError;
use crate::engine::store::StoreError;
use crate::openshift::workspace::WorkspaceError;
use crate::realize::RealizeError;
use crate::realize::api::ApiError;

pub(super) type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Diff(#[from] DiffError),
    #[error(transparent)]
    Realize(RealizeError),
    #[error("`{}` already exists, and is left alone", path.display())]
    Exists { path: PathBuf, advice: &'static str },
    #[error("`{target}` is not built")]
    NotBuilt { target: String },
    #[error("the output of `{derivation}` cannot be read")]
    Certificate { derivation: String, source: PkiError },
    #[error("`{target}` has no `{path}`")]
    NoPath { target: String, path: String, advice: Option<String> },
    /// An invalid combination of options.
    #[error("{message}")]
    Usage { message: String, advice: Option<String> },
    /// The artifact set is built, but `result` could not be updated.
    #[error("everything is built, but `{}` cannot be updated", path.display())]
    Result { path: PathBuf, source: fs::Error },
    #[error("interrupted; {kept} finished {} kept in the store, and the next build continues from there", if *kept == 1 { "output is" } else { "outputs are" })]
    Interrupted { kept: usize },
    /// The user cancelled something that changes nothing.
    #[error("interrupted; nothing was changed")]
    Stopped,
}

impl Error {
    pub(super) fn usage(message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), advice: Some(advice.into()) }
    }

    /// Whether the user cancelled: exit code 130.
    pub(super) fn is_interrupt(&self) -> bool {
        matches!(
            self,
            Self::Interrupted { .. }
                | Self::Stopped
                | Self::Realize(RealizeError::Api(ApiError::Stopped))
                | Self::Workspace(WorkspaceError::Download(DownloadError::Cancelled))
        )
    }

    /// Whether the command line was invalid: exit code 2 instead of 1.
    pub(super) fn is_usage(&self) -> bool {
        match self {
            Self::Usage { .. } => true,
            Self::Workspace(error) => error.is_usage(),
            _ => false,
        }
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Workspace(error) => error.hint(),
            Self::Diff(error) => error.hint(),
            Self::Realize(error) => error.hint(),
            Self::Exists { advice, .. } => Some((*advice).into()),
            Self::Certificate { .. } => Some("`tinderbox store verify` finds what is broken".into()),
            Self::NotBuilt { target } => Some(format!("run `tinderbox build {target}`")),
            Self::NoPath { advice, .. } | Self::Usage { advice, .. } => advice.clone(),
            Self::Result { source, .. } => source
                .hint()
                .or_else(|| Some("`tinderbox build --no-link` leaves the directory alone".into())),
            Self::Interrupted { .. } | Self::Stopped => None,
        }
    }
}

impl From<RealizeError> for Error {
    fn from(error: RealizeError) -> Self {
        match error {
            RealizeError::Process(ProcessError::Stopped) => Self::Stopped,
            error => Self::Realize(error),
        }
    }
}

/// Errors that a workspace has too are wrapped there, and only there.
macro_rules! by_workspace {
    ($($error:ty),*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Workspace(error.into())
            }
        })*
    };
}

by_workspace!(Problems, fs::Error, StoreError, ExecError, Arc<ExecError>, RegistryError);

/// Prints an error and returns the exit code.
pub(super) fn print(error: &Error, json: bool) -> ExitCode {
    if json {
        let problems = match error {
            Error::Workspace(WorkspaceError::Problems { problems }) => {
                serde_json::to_value(problems).unwrap_or_default()
            }
            _ => serde_json::Value::Null,
        };
        let mut document = serde_json::json!({"error": chain(error), "hint": error.hint()});
        if !problems.is_null() {
            document["problems"] = problems;
        }
        println!("{document:#}");
    }
    explain(error, error.hint());
    let code = match error {
        error if error.is_interrupt() => 130,
        error if error.is_usage() => 2,
        _ => 1,
    };
    ExitCode::from(code)
}

/// Prints an error with its causes and hint.
pub(super) fn explain(error: &dyn std::error::Error, hint: Option<String>) {
    eprintln!("{} {}", paint("error:"), visible(&error.to_string()));
    let mut shown = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !shown.ends_with(&text) {
            eprintln!("{} {}", paint("caused by:"), visible(&text));
        }
        shown = text;
        next = cause.source();
    }
    if let Some(hint) = hint {
        eprintln!("{} {}", paint("hint:"), visible(&hint));
    }
}

fn paint(word: &str) -> String {
    let colour = match word {
        "hint:" => Colour::Cyan,
        _ => Colour::Red,
    };
    stderr_paint(word, colour)
}
