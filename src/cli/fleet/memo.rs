//! Which sites are as they were built: a line per build of a site, in `results/.built`, the last one counts.
//!
//! A line says what the site was built of: a digest of this program and of everything that the site's configuration says, the
//! files that this names, and the pins of its release. If all are the same, and the result is still there, nothing can have
//! changed. A line that is torn, of another version or lost means only that the site's graph is looked at again.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::base::digest::{Digest, ObjectId};
use crate::base::fs::{self, At as _};
use crate::cli::Result;

/// Of the format of a line, and of what its digest covers.
const PURPOSE: &str = "tinderbox 2026-11-19 what a site was built of v1";

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Memo {
    pub(super) site: String,
    /// Everything but the files and the pins.
    pub(super) state: String,
    /// What the configuration names, by path; none for a file that is not there.
    pub(super) files: BTreeMap<PathBuf, Option<String>>,
    /// The pins, by their name in fleet.lock.
    pub(super) pins: (String, String),
    pub(super) generation: u64,
    pub(super) object: ObjectId,
    /// The result.
    pub(super) path: PathBuf,
    /// How many derivations it has.
    pub(super) derivations: usize,
    /// Until when it can finish a boot, and the certificate that says so.
    pub(super) boots_until: Option<(String, String)>,
    /// Until when operators adopt what it hands over.
    pub(super) adopted_until: Option<String>,
}

/// All memos of a fleet.
pub(super) struct Memos {
    path: PathBuf,
    known: BTreeMap<String, Memo>,
    /// Digests of files, each read once per run.
    files: Mutex<BTreeMap<PathBuf, Option<Digest>>>,
    /// What is common to the states of all sites.
    common: Option<Digest>,
}

impl Memos {
    /// Reads the memos of a fleet. `executable` and `config` are part of every state: another program may build something else.
    pub(super) fn read(results: &Path, executable: Option<&Path>, config: Option<&Path>) -> Result<Self> {
        let path = results.join(".built");
        let text = fs::optional(fs::read(&path))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines();
        let mut count = 0;
        let mut known = BTreeMap::new();
        for memo in lines.filter_map(|line| serde_json::from_str::<Memo>(line).ok()) {
            count += 1;
            known.insert(memo.site.clone(), memo);
        }
        let memos = Self { path, common: None, files: Mutex::default(), known };
        if count > 2 * memos.known.len() + 100 {
            let text: String = memos.known.values().filter_map(line).collect();
            fs::replace(&memos.path, text.as_bytes(), 0o600)?;
        }
        // Nobody else brought it, so it is as large as it is.
        let program = executable.map(|path| digest(path, 0, &mut u64::MAX.clone()));
        let mut hasher = blake3::Hasher::new_derive_key(PURPOSE);
        let Some(Some(program)) = program else { return Ok(memos) };
        hasher.update(program.as_bytes());
        let config = config.and_then(|config| memos.file(&config.join("config.yaml")));
        hasher.update(config.map_or([0; 32], |digest| *digest.as_bytes()).as_slice());
        Ok(Self { common: Some(hasher.finalize().into()), ..memos })
    }

    pub(super) fn get(&self, site: &str) -> Option<&Memo> {
        self.known.get(site)
    }

    /// The digest of a site's state; none if this program does not know itself.
    pub(super) fn state(&self, parts: &[&[u8]]) -> Option<Digest> {
        let mut hasher = blake3::Hasher::new_derive_key(PURPOSE);
        hasher.update(self.common?.as_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Some(hasher.finalize().into())
    }

    /// The digest of a file or of all files of a folder; none if it cannot be read.
    pub(super) fn file(&self, path: &Path) -> Option<Digest> {
        let seen = || self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = seen().get(path) {
            return *known;
        }
        let found = digest(path, 0, &mut fs::WHOLE.clone());
        seen().insert(path.to_owned(), found);
        found
    }

    /// Adds a memo. A full disk, or one that cannot be written, only costs time later.
    pub(super) fn add(&self, memo: &Memo) {
        let Some(line) = line(memo) else { return };
        let append = |mut file: std::fs::File| file.write_all(line.as_bytes()).at("write", &self.path);
        let _ = fs::open_lock(&self.path).and_then(append); // the next run looks at this site again
    }
}

/// A line begins where the one before it ends, even if that is torn.
fn line(memo: &Memo) -> Option<String> {
    Some(format!("\n{}\n", serde_json::to_string(memo).ok()?))
}

/// A site with deeper folders is looked at every time.
const DEPTH: usize = 32;

/// The digest of what a path leads to. Below a folder no link to another one is followed: nothing else follows it, and it may lead
/// back. None if there are more than `left` bytes.
fn digest(path: &Path, depth: usize, left: &mut u64) -> Option<Digest> {
    let mut hasher = blake3::Hasher::new();
    if depth > DEPTH {
        return None;
    }
    if !fs::followed(path)?.is_dir() {
        let most = *left;
        let mut file = fs::open(path).ok()?.take(most.saturating_add(1));
        *left = most.checked_sub(std::io::copy(&mut file, &mut hasher).ok()?)?;
        return Some(hasher.finalize().into());
    }
    for (name, is_dir) in fs::list_kinds(path).ok()? {
        let full = path.join(&name);
        let is_linked_folder = !is_dir && fs::followed(&full).is_some_and(|found| found.is_dir());
        let below = if is_linked_folder { None } else { Some(digest(&full, depth + 1, left)?) };
        hasher.update(name.as_encoded_bytes()).update(b"\0");
        hasher.update(below.map_or([0; 32], |digest| *digest.as_bytes()).as_slice());
    }
    Some(hasher.finalize().into())
}
