//! Scratch space next to a tree: files that are written and hashed before it is known whether the tree needs them.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::writer::CHUNK;
use super::{EntryKind, Hashing, TreeEntry, TreeError};
use crate::base::fs::{self, At};

/// Space for files that may become part of a tree: hashed while they are written, like the tree's own.
#[derive(Debug)]
pub struct Scratch<'a> {
    dir: PathBuf,
    hashing: Hashing<'a>,
    secret: bool,
    next: AtomicU64,
}

/// Why a scratch file could not be filled: its source failed, or the disk did.
#[derive(Debug)]
pub enum FillError {
    Read(io::Error),
    Write(TreeError),
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_all(&self.dir); // leftovers go with the session
    }
}

impl<'a> Scratch<'a> {
    pub(super) fn create(dir: PathBuf, hashing: Hashing<'a>, secret: bool) -> Result<Self, TreeError> {
        fs::create_dir(&dir, 0o700)?;
        Ok(Self { dir, hashing, secret, next: AtomicU64::new(0) })
    }

    /// Its directory, for files that others write.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Copies everything from `source` to a new file. Returns its path and entry.
    pub fn fill(&self, source: &mut impl Read, exec: bool) -> Result<(PathBuf, TreeEntry), FillError> {
        let write = |error: fs::Error| FillError::Write(error.into());
        let path = self.dir.join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        let mut entry = TreeEntry {
            kind: EntryKind::File { exec, size: 0 },
            secret: self.secret,
            digest: [0; 32].into(),
        };
        let mut file = fs::create_new(&path, entry.mode()).map_err(write)?;
        let mut hasher = self.hashing.content(self.secret).ok_or(FillError::Write(TreeError::NoKey))?;
        let (mut chunk, mut size) = (vec![0; CHUNK], 0);
        loop {
            let read = match source.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(FillError::Read(error)),
            };
            file.write_all(&chunk[..read]).at("write", &path).map_err(write)?;
            hasher.update(&chunk[..read]);
            size += read as u64;
        }
        fs::set_canonical_time_of(&file, &path).map_err(write)?;
        entry.kind = EntryKind::File { exec, size };
        entry.digest = hasher.finalize().into();
        Ok((path, entry))
    }
}
