//! Errors of verbs: `error:`, `caused by:`, `hint:` for people, a document for programs, and the exit code.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::environment;
use super::output::{
    Colour, stderr, stderr_is_colourful, stderr_line, stderr_lines, stderr_paint, stdout_past_output,
};
use crate::base::fs;
use crate::base::hint::{Hint, Problems, chain};
use crate::base::pki::PkiError;
use crate::base::process::ProcessError;
use crate::compare::diff::DiffError;
use crate::engine::cache::CacheError;
use crate::engine::download::DownloadError;
use crate::engine::exec::ExecError;
use crate::engine::registry::RegistryError;
use crate::engine::remote::WorkerError;
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
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error("`{}` already exists, and is left alone", path.display())]
    Exists { path: PathBuf, advice: &'static str },
    #[error("`{}` is not empty", path.display())]
    NotEmpty { path: PathBuf },
    #[error("`{target}` is not built")]
    NotBuilt { target: String },
    #[error("the output of `{derivation}` cannot be read")]
    Certificate { derivation: String, source: PkiError },
    #[error("`{target}` has no `{path}`")]
    NoPath { target: String, path: String, advice: Option<String> },
    /// With the release's own images, the same can be built.
    #[error("the preview of {} cannot be built", components.join(", "))]
    Preview { components: Vec<String>, source: Box<Error> },
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
    /// The user cancelled a wait, or work that ends wherever it is.
    #[error("interrupted")]
    BrokenOff,
}

impl Error {
    pub(super) fn usage(message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), advice: Some(advice.into()) }
    }

    /// The error of a verb that the user cancelled.
    pub(super) fn interrupted(self) -> Self {
        if self.is_interrupt() { self } else { Self::BrokenOff }
    }

    /// Whether the user cancelled: exit code 130.
    pub(super) fn is_interrupt(&self) -> bool {
        matches!(
            self,
            Self::Interrupted { .. }
                | Self::Stopped
                | Self::BrokenOff
                | Self::Realize(RealizeError::Api(ApiError::Stopped))
                | Self::Workspace(WorkspaceError::Download(DownloadError::Cancelled))
        )
    }

    /// Whether the command line is wrong: exit code 2 instead of 1.
    pub(super) fn is_usage(&self) -> bool {
        match self {
            Self::Usage { .. } | Self::NoPath { .. } => true,
            Self::Workspace(error) => error.is_usage(),
            Self::Realize(error) => {
                matches!(error, RealizeError::Confirm { .. } | RealizeError::ConfirmRemoval { .. })
            }
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
            Self::Worker(error) => error.hint(),
            Self::Exists { advice, .. } => Some((*advice).into()),
            Self::NotEmpty { .. } => Some("export to a new or an empty directory".into()),
            Self::Certificate { .. } => Some("`tinderbox store verify` finds what is broken".into()),
            Self::NotBuilt { target } => Some(format!("run `tinderbox build {target}`")),
            Self::NoPath { advice, .. } | Self::Usage { advice, .. } => advice.clone(),
            Self::Preview { source, .. } => source.hint().or_else(|| {
                Some("name an image of this component, or the root of one, with its programs where the release has them".into())
            }),
            Self::Result { source, .. } => source
                .hint()
                .or_else(|| Some("`tinderbox build --no-link` leaves the directory alone".into())),
            Self::Interrupted { .. } | Self::Stopped | Self::BrokenOff => None,
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

by_workspace!(Problems, fs::Error, StoreError, ExecError, Arc<ExecError>, RegistryError, CacheError);

/// What `--json` prints instead of the result.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorDocument {
    /// What went wrong, with its causes.
    error: String,
    /// What to do about it.
    hint: Option<String>,
    /// Every problem of the cluster's files, if that is what is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    problems: Option<Problems>,
}

impl ErrorDocument {
    fn print(&self) {
        if let Ok(text) = serde_json::to_string_pretty(self) {
            stdout_past_output(&format!("{text}\n"));
        }
    }
}

/// Prints what is wrong with the command line: for people, and with `--json` as a document too.
pub(super) fn print_usage(error: &clap::Error, json: bool, program: clap::Command) -> ExitCode {
    if !json && let Some(help) = missing_verb_help(error, program) {
        stderr(&help);
        return ExitCode::from(2);
    }
    let text = error.render().to_string();
    if !error.use_stderr() || !text.starts_with("error: ") {
        let _ = error.print(); // a closed pipe is not worth a second error
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    let text = without_variables(&text);
    if json {
        let (message, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
        let is_advice = |line: &&str| !line.is_empty() && !line.starts_with("For more information");
        let hint = rest.lines().map(|line| line.trim().trim_start_matches("tip: ")).filter(is_advice);
        let hint = hint.collect::<Vec<_>>().join("\n");
        let error = message.trim().trim_start_matches("error: ").to_owned();
        ErrorDocument { error, hint: Some(hint).filter(|hint| !hint.is_empty()), problems: None }.print();
    }
    for line in text.lines().filter(|line| !line.is_empty()) {
        let words = [("error: ", "error:"), ("  tip: ", "hint:"), ("  note: ", "note:")];
        let ours = words.iter().find_map(|(clap, ours)| Some((ours, line.strip_prefix(clap)?)));
        match ours {
            Some((word, rest)) => stderr_line(format!("{} {rest}", paint(word))),
            None => stderr_line(line.to_owned()),
        };
    }
    ExitCode::from(2)
}

/// clap's message without options that only a variable has set, which its usage lists as if they were required.
fn without_variables(text: &str) -> String {
    let options = [" --store <DIR>", " --seed <FILE>", " --identity <FILE>"];
    let unused = options.into_iter().filter(|option| {
        let name = option.trim_start().split(' ').next().unwrap_or_default();
        !environment::has_option(name)
    });
    unused.fold(text.to_owned(), |text, option| text.replace(option, ""))
}

/// Without a verb, the help says which there are. clap does this too, but takes a variable such as TINDERBOX_STORE for an
/// argument, and then prints an error that lists hidden verbs.
fn missing_verb_help(error: &clap::Error, mut program: clap::Command) -> Option<String> {
    let (ErrorKind::MissingSubcommand, Some(ContextValue::String(parent))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    program.build();
    let mut verbs = parent.split(' ').skip(1);
    let parent = verbs.try_fold(&mut program, |parent, verb| parent.find_subcommand_mut(verb))?;
    let help = parent.render_help();
    Some(if stderr_is_colourful() { help.ansi().to_string() } else { help.to_string() })
}

/// Says that the user cancelled, for a process that ends without returning.
pub(super) fn print_interrupted() {
    explain(&Error::BrokenOff, None);
}

/// Prints an error and returns the exit code.
pub(super) fn print(error: &Error, json: bool) -> ExitCode {
    if json {
        let problems = match error {
            Error::Workspace(WorkspaceError::Problems { problems }) => Some(problems.clone()),
            _ => None,
        };
        ErrorDocument { error: chain(error), hint: error.hint(), problems }.print();
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
pub(super) fn explain(error: &(dyn std::error::Error + 'static), hint: Option<String>) {
    let text = format!("{} {error}", paint("error:"));
    match lists_problems(error) {
        true => stderr_lines(&text),
        false => stderr_line(text),
    };
    let mut shown = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !shown.ends_with(&text) {
            stderr_line(format!("{} {text}", paint("caused by:")));
        }
        shown = text;
        next = cause.source();
    }
    if let Some(hint) = hint {
        stderr_line(format!("{} {hint}", paint("hint:")));
    }
}

/// Whether its lines are problems of the user's files: those keep what they quote on their line.
fn lists_problems(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(Error::Workspace(WorkspaceError::Problems { .. })))
        || matches!(error.downcast_ref(), Some(WorkspaceError::Problems { .. }))
}

fn paint(word: &str) -> String {
    let colour = match word {
        "hint:" | "note:" => Colour::Cyan,
        _ => Colour::Red,
    };
    stderr_paint(word, colour)
}
