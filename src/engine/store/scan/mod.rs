//! Searches for secrets where they do not belong: in every public file, for everything that secret files contain.
//!
//! [`crate::base::redact`] defines the patterns, their encodings and the matcher. Hits name the secret and its
//! location, never its value; everything that contains part of a secret is wiped after the search.

mod search;
mod walk;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use zeroize::Zeroizing;

pub(crate) use crate::base::redact::Encoding;

use self::search::Search;
use self::walk::ScanWalk;
use super::{Result, Store};
use crate::base::fs;
use crate::base::redact::patterns;
use crate::base::secret::Secret;

/// Larger secret files (disk images) are mostly public, and smaller files contain the same secrets.
const LARGEST: u64 = 16 << 20;

/// A secret outside the store.
#[derive(Debug)]
pub struct KnownSecret {
    /// Its name in the result.
    pub name: String,
    pub value: Secret,
    /// Whether all of it is secret, as opposed to a text that contains secrets.
    pub whole: bool,
}

/// What to search in addition to the store.
#[derive(Debug, Default)]
pub struct ScanPaths {
    /// Files and directories in which nothing may be secret.
    pub public: Vec<PathBuf>,
    /// Trees in which files that only their owner can read may be secret.
    pub mixed: Vec<PathBuf>,
}

/// A secret in a public file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Hit {
    pub path: PathBuf,
    /// Byte offset of the first match.
    pub offset: u64,
    /// The object's name and the path in it, or the field.
    pub secret: String,
    pub encoding: Encoding,
    /// Number of matches in this file.
    pub count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Unread {
    pub path: PathBuf,
    pub reason: String,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Scan {
    pub secrets: usize,
    /// Their patterns, each counted once for all encodings.
    #[serde(rename = "needles")] // the key that scripts read
    pub patterns: usize,
    /// Files searched (hard links once).
    pub files: usize,
    pub bytes: u64,
    /// All hits, by path.
    pub hits: Vec<Hit>,
    /// Secret files that are too large to extract patterns from: their secrets are only found if other files have them.
    pub too_large: Vec<String>,
    /// Unreadable files, which cannot be called clean.
    pub unread: Vec<Unread>,
}

impl Scan {
    /// Whether everything was searched and nothing found.
    pub fn is_clean(&self) -> bool {
        self.hits.is_empty() && self.unread.is_empty()
    }
}

impl Store {
    /// Searches everything but secret files and keys. None if cancelled.
    pub fn scan(
        &self,
        known: &[KnownSecret],
        paths: &ScanPaths,
        cancel: &AtomicBool,
    ) -> Result<Option<Scan>> {
        // Complete what killed processes left half-done. In a read-only store there is nothing to complete.
        let _ = self.clean_up();
        let mut walk = ScanWalk::default();
        self.walk(&mut walk)?;
        paths.public.iter().for_each(|path| walk.add(path, &|_, _| true));
        paths.mixed.iter().for_each(|path| walk.add(path, &|_, mode| mode & 0o077 != 0));
        let ScanWalk { mut public, secret, unread, .. } = walk;
        let mut scan = Scan { unread, ..Scan::default() };
        let search = Search::new(self.collect(known, &secret, &mut scan)?);
        public.sort_by_key(|(_, size)| std::cmp::Reverse(*size)); // large files first, for an even load
        let found: Vec<_> = public
            .par_iter()
            .filter(|_| !cancel.load(Ordering::Relaxed))
            .map(|(path, _)| (path, search.file(path, cancel)))
            .collect();
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        scan.secrets = search.secrets();
        scan.patterns = search.patterns;
        for (path, found) in found {
            match found {
                Ok(Some((bytes, hits))) => {
                    scan.files += 1;
                    scan.bytes += bytes;
                    scan.hits.extend(hits);
                }
                Ok(None) => {} // just collected
                Err(error) => scan.unread.push(Unread::new(path, &error)),
            }
        }
        scan.hits.sort();
        scan.unread.sort();
        Ok(Some(scan))
    }

    /// The patterns of the store's secrets and of these, by secret, for a redactor.
    pub fn patterns(&self, known: &[KnownSecret]) -> Result<Vec<(String, Vec<Secret>)>> {
        let mut walk = ScanWalk::default();
        self.walk(&mut walk)?;
        self.collect(known, &walk.secret, &mut Scan::default())
    }

    /// All patterns, by secret.
    fn collect(
        &self,
        known: &[KnownSecret],
        files: &[(String, PathBuf)],
        scan: &mut Scan,
    ) -> Result<Vec<(String, Vec<Secret>)>> {
        let mut all = Vec::new();
        for KnownSecret { name, value, whole } in known {
            let found = if *whole { vec![value.clone()] } else { patterns("", value.reveal()) };
            all.push((name.clone(), found));
        }
        for name in fs::optional(fs::list(&self.part("keys")))?.unwrap_or_default() {
            let key = Secret::new(fs::read(&self.part("keys").join(&name))?);
            all.push((format!("keys/{}", name.to_string_lossy()), vec![key]));
        }
        let mined: Vec<_> = files.par_iter().map(|(name, path)| (name, path, in_file(path))).collect();
        for (name, path, found) in mined {
            match found {
                Ok(Some(found)) => all.push((name.clone(), found)),
                Ok(None) => scan.too_large.push(name.clone()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => scan.unread.push(Unread::new(path, &error)),
            }
        }
        Ok(all)
    }
}

impl Unread {
    fn new(path: &Path, error: &fs::Error) -> Self {
        Self { path: path.into(), reason: error.source.to_string() }
    }
}

/// The patterns of one secret file; none if it is too large.
fn in_file(path: &Path) -> fs::Result<Option<Vec<Secret>>> {
    if fs::metadata(path)?.len() > LARGEST {
        return Ok(None);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Some(patterns(&name, &Zeroizing::new(fs::read(path)?))))
}
