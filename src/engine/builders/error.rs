//! Why a job could not be done.

use std::any::Any;

use super::{FileError, JobError};
use crate::base::hint::Hint;
use crate::engine::registry::RegistryError;
use crate::engine::sandbox::SandboxError;
use crate::engine::tree::TreeError;

/// Why a job could not be done.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The output could not be written.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// An image could not be had.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Fs(#[from] crate::base::fs::Error),
    /// A pinned file could not be had.
    #[error(transparent)]
    File(#[from] FileError),
    /// The job itself is wrong.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A text file of the recipe that cannot be used: a template, a patch.
    #[error("{file}:{line}: {message}")]
    Text {
        /// Its alias; the scheduler puts the name that the user knows in its place.
        file: String,
        line: usize,
        message: String,
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
        advice: Option<String>,
    },
    /// The user stopped the build.
    #[error("stopped")]
    Stopped,
    /// What only the builder itself can explain.
    #[error(transparent)]
    Builder(#[from] Failure),
}

/// An error of a builder above the engine.
pub trait BuilderError: Hint + Send + Sync + 'static {
    /// For those who know which builder it was.
    fn as_any(&self) -> &dyn Any;

    /// Files of the inputs that it is about: path, and where the scheduler writes which derivation made it.
    fn artifacts(&mut self) -> Vec<(&str, &mut String)> {
        Vec::new()
    }
}

/// A builder's own error, in a box.
#[derive(Debug)]
pub struct Failure(Box<dyn BuilderError>);

impl Failure {
    /// The error, if it is of that type.
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

/// What a program printed last, below a message.
fn last_words(words: &str) -> String {
    match words.trim_end() {
        "" => "; it printed nothing".to_owned(),
        words => words.lines().fold("; its last words:".to_owned(), |text, line| text + "\n  " + line),
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
