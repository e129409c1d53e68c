//! Files outside the store that the lock pins, found by content and not by path.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use sha2::Digest as _;

use crate::base::fs;
use crate::base::hint::Hint;
use crate::engine::registry::Sha256;

/// Locations of pinned files, by hexadecimal sha256.
#[derive(Debug, Clone)]
pub struct Files {
    /// The field that names them in the configuration and pins them in the lock.
    field: &'static str,
    locations: BTreeMap<String, Location>,
}

/// The location of a pinned file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    Here(PathBuf),
    /// At a URL; nothing is downloaded.
    Elsewhere(String),
}

/// A pinned file, opened but not verified yet.
#[derive(Debug)]
pub struct Pinned {
    pub file: File,
    /// For messages.
    pub path: PathBuf,
    sha256: String,
    field: &'static str,
}

/// Why a pinned file is not available.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("no file with sha256 `{sha256}` is pinned")]
    Unknown { sha256: String, field: &'static str },
    #[error("`{url}` is not on this machine")]
    Elsewhere { url: String, field: &'static str },
    #[error("a file that cluster.lock pins no longer exists")]
    Missing {
        #[source]
        source: fs::Error,
        field: &'static str,
    },
    #[error("`{}` has sha256 `{found}`, but cluster.lock pins `{pinned}`", path.display())]
    Mismatch { path: PathBuf, pinned: String, found: String, field: &'static str },
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
                "restore it, or set `{field}` to another file and run `tinderbox lock --update {field}`"
            )),
            Self::Mismatch { field, .. } => Some(format!(
                "to use this file, run `tinderbox lock --update {field}`; else restore the pinned file"
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
                    "download {url}, set `{field}` to the file, and run `tinderbox lock --update {field}`"
                )
            }
        }
    }
}

impl Files {
    pub fn new(field: &'static str, files: impl IntoIterator<Item = (String, Location)>) -> Self {
        Self { field, locations: files.into_iter().collect() }
    }

    /// Opens a pinned file. The reader verifies its content with [`Pinned::is`] while it reads.
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
    /// Checks the bytes that went through this hasher against the pin.
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

    /// Reads the whole file to check it against the pin.
    pub fn verify(&self) -> Result<(), FileError> {
        self.is(fs::hash(&self.path)?)
    }
}
