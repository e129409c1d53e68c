//! The search for secrets where none belong: every file that is not secret, for everything that secret files hold.
//!
//! What is searched for is decided in [`crate::base::redact`], in which forms, and how they are found. Hits say which
//! secret and where, never what; everything that holds a part of a secret is wiped when the search is done.

mod search;
mod walk;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::Serialize;
use zeroize::Zeroizing;

pub(crate) use crate::base::redact::Encoding;

use self::search::Search;
use self::walk::ScanWalk;
use super::{Result, Store};
use crate::base::fs;
use crate::base::redact::patterns;
use crate::base::secret::Secret;

/// Larger secret files hold what is public (a disk image) around secrets that smaller ones hold as well.
const LARGEST: u64 = 16 << 20;

/// A secret that is not in the store.
#[derive(Debug)]
pub struct KnownSecret {
    /// What it is called in the outcome.
    pub name: String,
    pub value: Secret,
    /// Whether all of it is secret. Otherwise it is a text with secrets in it.
    pub whole: bool,
}

/// What to search beside the store.
#[derive(Debug, Default)]
pub struct Beside {
    /// Files and directories in which nothing may be secret.
    pub public: Vec<PathBuf>,
    /// Trees in which what only its owner can read may be secret.
    pub mixed: Vec<PathBuf>,
}

/// A secret in a file that is not secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Hit {
    pub path: PathBuf,
    /// At which byte it begins, the first time.
    pub offset: u64,
    /// Which secret: the object's name and the path in it, or the field.
    pub secret: String,
    pub encoding: Encoding,
    /// How many parts of it were found in this file.
    pub count: usize,
}

/// A file that could not be searched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Unread {
    pub path: PathBuf,
    pub reason: String,
}

/// What the search found.
#[derive(Debug, Default, Serialize)]
pub struct Scan {
    /// Secrets that were searched for.
    pub secrets: usize,
    /// Parts of them, each in all its forms.
    #[serde(rename = "needles")] // what scripts read
    pub patterns: usize,
    /// Files that were searched (files that share their bytes once).
    pub files: usize,
    /// Bytes that were searched.
    pub bytes: u64,
    /// Every secret in every file that has it, by path.
    pub hits: Vec<Hit>,
    /// Secret files that are too large to be taken apart: what is in them was searched for only if others have it too.
    pub too_large: Vec<String>,
    /// What could not be read. Nobody can say that it is clean.
    pub unread: Vec<Unread>,
}

impl Scan {
    /// Whether everything was searched and nothing found.
    pub fn is_clean(&self) -> bool {
        self.hits.is_empty() && self.unread.is_empty()
    }
}

impl Store {
    /// Searches everything but secret files and keys. None if it was cancelled.
    pub fn scan(&self, known: &[KnownSecret], beside: &Beside, cancel: &AtomicBool) -> Result<Option<Scan>> {
        // What a killed process left half-done is finished first. Where nothing can be written, nothing was left.
        let _ = self.clean_up();
        let mut walk = ScanWalk::default();
        self.walk(&mut walk)?;
        beside.public.iter().for_each(|path| walk.add(path, &|_, _| true));
        beside.mixed.iter().for_each(|path| walk.add(path, &|_, mode| mode & 0o077 != 0));
        let ScanWalk { mut public, secret, unread, .. } = walk;
        let mut scan = Scan { unread, ..Scan::default() };
        let search = Search::new(self.collect(known, &secret, &mut scan)?);
        public.sort_by_key(|(_, size)| std::cmp::Reverse(*size)); // the large ones first, so that none is left for the end
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
                Ok(None) => {} // collected this moment
                Err(error) => scan.unread.push(Unread::new(path, &error)),
            }
        }
        scan.hits.sort();
        scan.unread.sort();
        Ok(Some(scan))
    }

    /// What would give the store's secrets and these away, by the secret that has it: for whoever masks them.
    pub fn patterns(&self, known: &[KnownSecret]) -> Result<Vec<(String, Vec<Secret>)>> {
        let mut walk = ScanWalk::default();
        self.walk(&mut walk)?;
        self.collect(known, &walk.secret, &mut Scan::default())
    }

    /// All patterns, by the secret that has them.
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

/// The patterns of one secret file; none if it is too large to look.
fn in_file(path: &Path) -> fs::Result<Option<Vec<Secret>>> {
    if fs::metadata(path)?.len() > LARGEST {
        return Ok(None);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Some(patterns(&name, &Zeroizing::new(fs::read(path)?))))
}
