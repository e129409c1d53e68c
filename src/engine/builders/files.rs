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
    /// In the store, as it was downloaded.
    Fetched(PathBuf),
    /// At a URL; a build downloads nothing.
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
    fetched: bool,
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
    Mismatch { path: PathBuf, pinned: String, found: String, field: &'static str, fetched: bool },
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
            Self::Mismatch { fetched: true, .. } => {
                Some("the download is damaged: `tinderbox lock --fetch` gets it again".into())
            }
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
            Self::Here(path) | Self::Fetched(path) => format!("it is `{}`", path.display()),
            Self::Elsewhere(url) => {
                format!(
                    "`tinderbox lock --fetch` downloads {url}; or set `{field}` to your own copy of it, and run \
                     `tinderbox lock --update {field}`"
                )
            }
        }
    }
}

impl Files {
    pub fn new(field: &'static str, files: impl IntoIterator<Item = (String, Location)>) -> Self {
        Self { field, locations: files.into_iter().collect() }
    }

    /// Where a pinned file is.
    pub fn location(&self, sha256: &str) -> Option<&Location> {
        self.locations.get(sha256)
    }

    /// Opens a pinned file. The reader verifies its content with [`Pinned::is`] while it reads.
    pub fn open(&self, sha256: &str) -> Result<Pinned, FileError> {
        let field = self.field;
        match self.locations.get(sha256) {
            None => Err(FileError::Unknown { sha256: sha256.to_owned(), field }),
            Some(Location::Elsewhere(url)) => Err(FileError::Elsewhere { url: url.clone(), field }),
            Some(location @ (Location::Here(path) | Location::Fetched(path))) => {
                let file = fs::open(path).map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => FileError::Missing { source: error, field },
                    _ => FileError::Fs(error),
                })?;
                let fetched = matches!(location, Location::Fetched(_));
                Ok(Pinned { file, path: path.clone(), sha256: sha256.to_owned(), field, fetched })
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
                let (field, fetched) = (self.field, self.fetched);
                Err(FileError::Mismatch { path, pinned, found, field, fetched })
            }
        }
    }

    /// Reads the whole file to check it against the pin.
    pub fn verify(&self) -> Result<(), FileError> {
        self.is(fs::hash(&self.path)?)
    }
}
