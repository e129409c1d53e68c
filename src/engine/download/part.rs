//! The part of a file that is on disk already, with the digest of what is in it.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::Digest as _;

use super::Result;
use crate::base::fs::{self, At};
use crate::engine::registry::Sha256;

/// A file on disk, with the digest of what is in it.
pub(super) struct Written {
    pub(super) path: PathBuf,
    pub(super) file: File,
    hasher: sha2::Sha256,
    pub(super) at: u64,
}

impl Written {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = fs::open_lock(path)?; // appends
        let at = file.metadata().at("access", path)?.len();
        let hasher = if at == 0 { sha2::Sha256::new() } else { fs::hash(path)? };
        Ok(Self { path: path.to_owned(), file, hasher, at })
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).at("write", &self.path)?;
        self.hasher.update(bytes);
        self.at += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn clear(&mut self) -> Result<()> {
        self.file.set_len(0).at("truncate", &self.path)?;
        (self.hasher, self.at) = (sha2::Sha256::new(), 0);
        Ok(())
    }

    pub(super) fn sha256(&self) -> Sha256 {
        Sha256::from_bytes(self.hasher.clone().finalize().into())
    }
}
