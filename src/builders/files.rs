//! Files outside of the store that the lock pins: found by what they must hold, and not by where they are.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use sha2::Digest as _;

use crate::fs;
use crate::hint::Hint;
use crate::registry::Sha256;

/// Where pinned files are, by their sha256 in hexadecimal.
#[derive(Debug, Clone, Default)]
pub struct Files(BTreeMap<String, Location>);

/// Where one of them is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// On this machine.
    Here(PathBuf),
    /// At a URL; nothing is downloaded.
    Elsewhere(String),
}

/// A pinned file, open and not looked at yet.
#[derive(Debug)]
pub struct Pinned {
    /// The file.
    pub file: File,
    /// Where it is, for messages.
    pub path: PathBuf,
    sha256: String,
}

/// Why a pinned file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The lock pins no such file.
    #[error("no file with sha256 `{sha256}` is pinned")]
    Unknown {
        /// What was asked for.
        sha256: String,
    },
    /// It is somewhere else.
    #[error("`{url}` is not on this machine")]
    Elsewhere {
        /// Where it is.
        url: String,
    },
    /// It is not where it was.
    #[error("a file that cluster.lock pins is not there any more")]
    Missing {
        /// Which.
        #[source]
        source: fs::Error,
    },
    /// It is another file.
    #[error("`{}` has sha256 `{found}`, and cluster.lock pins `{pinned}`", path.display())]
    Mismatch {
        /// Where it is.
        path: PathBuf,
        /// What it should have.
        pinned: String,
        /// What it has.
        found: String,
    },
    /// It cannot be read.
    #[error(transparent)]
    Fs(#[from] fs::Error),
}

impl Hint for FileError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { .. } => Some("`tinderbox lock --update rhcos` pins what cluster.yaml names".into()),
            Self::Elsewhere { url } => Some(Location::Elsewhere(url.clone()).advice()),
            Self::Missing { .. } => Some(
                "bring it back, or name another with `rhcos` in cluster.yaml and run `tinderbox lock --update rhcos`"
                    .into(),
            ),
            Self::Mismatch { .. } => Some(
                "if this is the file that you want, `tinderbox lock --update rhcos` pins it; else bring the other back"
                    .into(),
            ),
            Self::Fs(error) => error.hint(),
        }
    }
}

impl Location {
    /// What to do so that the file can be used.
    pub fn advice(&self) -> String {
        match self {
            Self::Here(path) => format!("it is `{}`", path.display()),
            Self::Elsewhere(url) => format!(
                "download {url}, name the file in cluster.yaml (`rhcos: {{iso: FILE}}`), and run `tinderbox lock \
                 --update rhcos`"
            ),
        }
    }
}

impl Files {
    /// These files.
    pub fn new(files: impl IntoIterator<Item = (String, Location)>) -> Self {
        Self(files.into_iter().collect())
    }

    /// Opens one. What it holds is for the reader to check, with [`Pinned::is`]: while it reads, not before.
    pub fn open(&self, sha256: &str) -> Result<Pinned, FileError> {
        match self.0.get(sha256) {
            None => Err(FileError::Unknown { sha256: sha256.to_owned() }),
            Some(Location::Elsewhere(url)) => Err(FileError::Elsewhere { url: url.clone() }),
            Some(Location::Here(path)) => {
                let file = fs::open(path).map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => FileError::Missing { source: error },
                    _ => FileError::Fs(error),
                })?;
                Ok(Pinned { file, path: path.clone(), sha256: sha256.to_owned() })
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
                Err(FileError::Mismatch { path, pinned, found })
            }
        }
    }

    /// Reads all of it to see whether it is the pinned one.
    pub fn verify(&self) -> Result<(), FileError> {
        self.is(fs::hash(&self.path)?)
    }
}
