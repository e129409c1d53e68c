//! Errors for people: `error:`, `caused by:`, `hint:`; and as JSON.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "this module is the one that prints errors")]

use std::error::Error;
use std::process::ExitCode;

use crate::base::hint::{Hint, chain};
use crate::cli::ops::{OpsError, WorkspaceError};

/// Prints an error and says how to exit.
pub(super) fn print(error: &OpsError, json: bool) -> ExitCode {
    if json {
        let problems = match error {
            OpsError::Workspace(WorkspaceError::Problems { problems }) => {
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

/// Prints an error with its causes and what to do.
pub(super) fn explain(error: &dyn Error, hint: Option<String>) {
    eprintln!("{} {error}", paint("error:"));
    let mut shown = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !shown.ends_with(&text) {
            eprintln!("{} {text}", paint("caused by:"));
        }
        shown = text;
        next = cause.source();
    }
    if let Some(hint) = hint {
        eprintln!("{} {hint}", paint("hint:"));
    }
}

fn paint(word: &str) -> String {
    let colour = match word {
        "hint:" => super::output::Colour::Cyan,
        _ => super::output::Colour::Red,
    };
    super::output::stderr_paint(word, colour)
}
