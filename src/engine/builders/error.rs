//! Errors of builders.

use std::any::Any;

use super::{FileError, JobError};
use crate::base::hint::Hint;
use crate::engine::registry::RegistryError;
use crate::engine::sandbox::SandboxError;
use crate::engine::tree::TreeError;

/// Why a job failed.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Fs(#[from] crate::base::fs::Error),
    #[error(transparent)]
    File(#[from] FileError),
    /// The job itself is invalid.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A text file of the recipe is invalid: a template, a patch.
    #[error("{file}:{line}: {message}")]
    Text {
        /// Its alias; the scheduler replaces it with the name that the user knows.
        file: String,
        line: usize,
        message: String,
        hint: Option<String>,
    },
    /// A program could not be run.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A program ran and failed.
    #[error("`{program}` {problem}{}", last_words(words))]
    Program {
        /// Its path in the image.
        program: String,
        /// How it ended, or what is wrong with its output.
        problem: String,
        /// The last lines that it printed, secrets masked.
        words: String,
        advice: Option<String>,
        /// Whether it would do the same again: it ended by itself, and no limit or signal ended it.
        by_itself: bool,
    },
    /// The user cancelled the build.
    #[error("stopped")]
    Stopped,
    /// An error that only the builder itself can explain.
    #[error(transparent)]
    Builder(#[from] Failure),
}

/// The error of a builder outside the engine.
pub trait BuilderError: Hint + Send + Sync + 'static {
    /// For callers that know the builder.
    fn as_any(&self) -> &dyn Any;

    /// Input files that the error is about: path, and where the scheduler writes their origin.
    fn artifacts(&mut self) -> Vec<(&str, &mut String)> {
        Vec::new()
    }
}

/// A builder's own error, boxed.
#[derive(Debug)]
pub struct Failure(Box<dyn BuilderError>);

impl Failure {
    /// The error, if it has this type.
    pub fn downcast<T: BuilderError>(&self) -> Option<&T> {
        self.0.as_any().downcast_ref()
    }

    pub(in crate::engine) fn artifacts(&mut self) -> Vec<(&str, &mut String)> {
        self.0.artifacts()
    }
}

impl<T: BuilderError> From<T> for BuildError {
    fn from(error: T) -> Self {
        Self::Builder(Failure(Box::new(error)))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// A program's last output, below a message.
fn last_words(words: &str) -> String {
    match words.trim_end() {
        "" => "; it printed nothing".to_owned(),
        words => words.lines().fold("; its last output:".to_owned(), |text, line| text + "\n  " + line),
    }
}

impl Hint for BuildError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Tree(error) => error.hint(),
            Self::Registry(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Job(error) => error.hint(),
            Self::Text { hint, .. } => hint.clone(),
            Self::Sandbox(error) => error.hint(),
            Self::Program { advice, .. } => advice.clone(),
            Self::Builder(failure) => failure.0.hint(),
            Self::Stopped => None,
        }
    }
}
