//! Files outside of the store that the lock pins: found by what they must hold, and not by where they are.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use sha2::Digest as _;

use crate::base::fs;
use crate::base::hint::Hint;
use crate::engine::registry::Sha256;

/// Where pinned files are, by their sha256 in hexadecimal.
#[derive(Debug, Clone)]
pub struct Files {
    /// The field of the configuration that names them, and of the lock that pins them.
    field: &'static str,
    locations: BTreeMap<String, Location>,
}

/// Where one of them is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    Here(PathBuf),
    /// At a URL; nothing is downloaded.
    Elsewhere(String),
}

/// A pinned file, open and not looked at yet.
#[derive(Debug)]
pub struct Pinned {
    pub file: File,
    /// Where it is, for messages.
    pub path: PathBuf,
    sha256: String,
    field: &'static str,
}

/// Why a pinned file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The lock pins no such file.
    #[error("no file with sha256 `{sha256}` is pinned")]
    Unknown {
        /// What was asked for.
        sha256: String,
        field: &'static str,
    },
    /// It is somewhere else.
    #[error("`{url}` is not on this machine")]
    Elsewhere { url: String, field: &'static str },
    /// It is not where it was.
    #[error("a file that cluster.lock pins is not there any more")]
    Missing {
        #[source]
        source: fs::Error,
        field: &'static str,
    },
    /// It is another file.
    #[error("`{}` has sha256 `{found}`, and cluster.lock pins `{pinned}`", path.display())]
    Mismatch {
        path: PathBuf,
        /// What it should have.
        pinned: String,
        found: String,
        field: &'static str,
    },
    /// It cannot be read.
    #[error(transparent)]
    Fs(#[from] fs::Error),
}

impl Hint for FileError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { field, .. } => {
                Some(format!("`tinderbox lock --update {field}` pins what the configuration names"))
            }
            Self::Elsewhere { url, field } => Some(Location::Elsewhere(url.clone()).advice(field)),
            Self::Missing { field, .. } => Some(format!(
                "bring it back, or name another at `{field}` and run `tinderbox lock --update {field}`"
            )),
            Self::Mismatch { field, .. } => Some(format!(
                "if this is the file that you want, `tinderbox lock --update {field}` pins it; else bring the other back"
            )),
            Self::Fs(error) => error.hint(),
        }
    }
}

impl Location {
    /// What to do so that the file can be used.
    pub fn advice(&self, field: &str) -> String {
        match self {
            Self::Here(path) => format!("it is `{}`", path.display()),
            Self::Elsewhere(url) => {
                format!(
                    "download {url}, name the file at `{field}`, and run `tinderbox lock --update {field}`"
                )
            }
        }
    }
}

impl Files {
    pub fn new(field: &'static str, files: impl IntoIterator<Item = (String, Location)>) -> Self {
        Self { field, locations: files.into_iter().collect() }
    }

    /// Opens one. What it holds is for the reader to check, with [`Pinned::is`]: while it reads, not before.
    pub fn open(&self, sha256: &str) -> Result<Pinned, FileError> {
        let field = self.field;
        match self.locations.get(sha256) {
            None => Err(FileError::Unknown { sha256: sha256.to_owned(), field }),
            Some(Location::Elsewhere(url)) => Err(FileError::Elsewhere { url: url.clone(), field }),
            Some(Location::Here(path)) => {
                let file = fs::open(path).map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => FileError::Missing { source: error, field },
                    _ => FileError::Fs(error),
                })?;
                Ok(Pinned { file, path: path.clone(), sha256: sha256.to_owned(), field })
            }
        }
    }
}

impl Pinned {
    /// Whether the bytes that went through this hasher are the pinned ones.
    pub fn is(&self, hasher: sha2::Sha256) -> Result<(), FileError> {
        let found = Sha256::from_bytes(hasher.finalize().into()).hex();
        match found == self.sha256 {
            true => Ok(()),
            false => {
                let (path, pinned) = (self.path.clone(), self.sha256.clone());
                Err(FileError::Mismatch { path, pinned, found, field: self.field })
            }
        }
    }

    /// Reads all of it to see whether it is the pinned one.
    pub fn verify(&self) -> Result<(), FileError> {
        self.is(fs::hash(&self.path)?)
    }
}
