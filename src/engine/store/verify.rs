//! Verification: re-hashes everything and names EVERY bad path. An unreadable file is a finding, not a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::objects::parse_listing;
use super::{Object, ObjectName, Result, Store, StoreError};
use crate::base::cancel::Cancel;
use crate::base::digest::{Digest, ObjectId};
use crate::base::fs;
use crate::base::secret::IdKey;
use crate::engine::tree::{EntryKind, Hashing, Listing, TreeEntry};

/// A defect in the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Finding {
    pub path: PathBuf,
    /// Stable code.
    pub kind: FindingKind,
    /// For people.
    pub detail: String,
    /// The object that contains it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// The content of a file differs.
    Changed,
    /// A path of the listing does not exist.
    Missing,
    /// A path is not in the listing.
    Extra,
    /// A different file type, permission bit or link target.
    Altered,
    Unreadable,
    /// The manifest is missing or belongs to another object.
    Manifest,
    /// The key of a secret object is not in the store.
    Key,
    /// A manifest or realisation without its object.
    Dangling,
    /// A record of the store itself (a key, a realisation, a root) cannot be read, or was changed.
    Record,
    /// It is not part of a store.
    Foreign,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Verification {
    pub objects: usize,
    /// Files hashed (hard links once).
    pub files: usize,
    pub bytes: u64,
    /// All defects, by path.
    pub findings: Vec<Finding>,
}

/// Hashed files by inode and whether the digest is keyed.
type Seen = Mutex<BTreeMap<(u64, bool), std::result::Result<Digest, String>>>;

impl Store {
    /// Re-hashes everything. Reports bad content as findings, not as an error.
    pub fn verify(&self) -> Result<Verification> {
        // Complete what killed processes left half-done. In a read-only store there is nothing to complete.
        let _ = self.clean_up();
        let mut found = self.look(|_| true)?;
        if found.findings.is_empty() {
            return Ok(found);
        }
        if self.refuse_links().is_err() {
            return Ok(found); // its locks may be elsewhere
        }
        // A concurrent build or gc looks like damage for a moment: check bad paths again while neither runs.
        let _exclusive = match self.lock_gc() {
            Ok(exclusive) => exclusive,
            Err(_) if self.cancel.is_set() => return Err(StoreError::Interrupted),
            Err(_) => return Ok(found),
        };
        let bad: BTreeSet<ObjectId> = found.findings.iter().filter_map(|finding| finding.object).collect();
        found.findings = self.look(|name| bad.contains(&name.id))?.findings;
        Ok(found)
    }

    /// Hashes the wanted objects, and checks all references to objects.
    fn look(&self, wanted: impl Fn(&ObjectName) -> bool + Sync) -> Result<Verification> {
        let names = self.objects()?;
        let seen = Seen::default();
        let mut findings: Vec<Finding> = names
            .par_iter()
            .filter(|name| wanted(name))
            .flat_map_iter(|name| self.verify_object(name, &seen))
            .collect();
        findings.extend(self.bad_layout());
        findings.extend(self.dangling(&names)?);
        findings.extend(self.bad_links(&seen)?);
        findings.extend(self.bad_records()?);
        let (bad, files, downloaded) = self.bad_downloads()?;
        findings.extend(bad);
        findings.extend(self.bad_blobs()?);
        if self.cancel.is_set() {
            return Err(StoreError::Interrupted); // what was not read looks damaged
        }
        findings.sort();
        findings.dedup();
        let seen = seen.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let objects: u64 = names
            .iter()
            .filter_map(|name| self.object(name.id).ok())
            .map(|object| object.listing.size())
            .sum();
        let (files, bytes) = (seen.len() + files, objects + downloaded);
        Ok(Verification { objects: names.len(), files, bytes, findings })
    }

    fn verify_object(&self, name: &ObjectName, seen: &Seen) -> Vec<Finding> {
        let path = self.path_of(name);
        let finding =
            |kind, detail: String| vec![Finding { path: path.clone(), kind, detail, object: Some(name.id) }];
        let listing = match self.manifest(name.id) {
            Ok(Some((_, text))) => parse_listing(name.id, &text),
            Ok(None) => {
                return finding(FindingKind::Manifest, "it has no manifest".into());
            }
            Err(error) => Err(error),
        };
        let listing = match listing {
            Ok(listing) => listing,
            Err(error) => return finding(FindingKind::Manifest, describe(&error)),
        };
        let key = match listing.key.map(|id| self.key(id)) {
            None => None,
            Some(Ok(Some(key))) => Some(key),
            Some(Ok(None)) => {
                return finding(FindingKind::Key, "the key of its digests is not in the store".into());
            }
            Some(Err(error)) => return finding(FindingKind::Key, describe(&error)),
        };
        let (id, findings) = (name.id, Vec::new());
        let cancel = &self.cancel;
        let mut check = Check { path: &path, id, key: key.as_ref(), seen, modes: true, findings, cancel };
        check.tree(&listing, "");
        let manifest = self.manifest_path(name.id);
        if listing.root().secret && fs::others_may(&manifest).unwrap_or(false) {
            let detail = "others can read this manifest".to_owned();
            check.findings.push(Finding { path: manifest, kind: FindingKind::Altered, detail, object: None });
        }
        check.findings
    }

    /// Contents under `links/` that do not match their name: the next equal file would be linked to them.
    fn bad_links(&self, seen: &Seen) -> Result<Vec<Finding>> {
        let seen = seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let keys: Vec<IdKey> = self
            .names_in("keys")
            .iter()
            .filter_map(|name| self.key(name.to_str()?.parse().ok()?).ok()?)
            .collect();
        let mut findings = Vec::new();
        for name in self.names_in("links") {
            let path = self.part("links").join(&name);
            let Some(found) = fs::optional(fs::metadata(&path))? else { continue }; // just collected
            let wanted = name.to_str().and_then(|name| name.trim_end_matches(".x").parse::<Digest>().ok());
            let Some(wanted) = wanted else { continue }; // not a link: the layout says so
            if !found.is_file() {
                let detail = "it is not a regular file".to_owned();
                findings.push(Finding { path, kind: FindingKind::Altered, detail, object: None });
                continue;
            }
            let is = |(_, digest): &(bool, std::result::Result<Digest, String>)| {
                digest.as_ref().is_ok_and(|digest| *digest == wanted)
            };
            let known = [false, true].map(|secret| (secret, seen.get(&(found.ino(), secret)).cloned()));
            let known = known.into_iter().filter_map(|(secret, digest)| Some((secret, digest?)));
            let hashes = || {
                let hash = |key, secret| hash(&path, Hashing(key), secret, &self.cancel);
                std::iter::once((false, hash(None, false)))
                    .chain(keys.iter().map(move |key| (true, hash(Some(key), true))))
            };
            let Some((secret, _)) = known.into_iter().find(is).or_else(|| hashes().find(is)) else {
                let detail = "its content does not match its name".to_owned();
                findings.push(Finding { path, kind: FindingKind::Changed, detail, object: None });
                continue;
            };
            let exec = name.to_str().is_some_and(|name| name.ends_with(".x"));
            let kind = EntryKind::File { exec, size: found.len() };
            let wanted = TreeEntry { kind, secret, digest: wanted }.mode();
            let mode = found.mode() & 0o7777;
            if mode != wanted {
                let detail = format!("its mode is {mode:04o}, not {wanted:04o}");
                findings.push(Finding { path, kind: FindingKind::Altered, detail, object: None });
            }
        }
        Ok(findings)
    }

    /// Hashes a part of an object (`""`: all of it). Fails with the first path that is not what the listing says; modes
    /// do not count.
    pub fn verify_part(&self, object: &Object, part: &str) -> Result<()> {
        let key = object.listing.key.map(|id| self.key(id)).transpose()?.flatten();
        let seen = Seen::default();
        let mut check = Check {
            path: &object.path,
            id: object.id,
            key: key.as_ref(),
            seen: &seen,
            modes: false,
            findings: Vec::new(),
            cancel: &self.cancel,
        };
        check.tree(&object.listing, part);
        match check.findings.into_iter().next() {
            _ if self.cancel.is_set() => Err(StoreError::Interrupted),
            None => Ok(()),
            Some(Finding { path, detail, .. }) => Err(StoreError::Modified { path, detail }),
        }
    }

    /// Removes bad objects, file contents and records from the store, so that they are written again; returns what is
    /// lost.
    pub fn remove_bad(&self, found: &Verification) -> Result<Vec<String>> {
        let session = super::Session::open(self, None)?;
        let _exclusive = self.lock_gc()?;
        let bad: BTreeSet<ObjectId> = found.findings.iter().filter_map(|finding| finding.object).collect();
        for name in self.objects()?.into_iter().filter(|name| bad.contains(&name.id)) {
            session.discard(&self.path_of(&name))?;
        }
        for id in bad {
            fs::remove_all(&self.manifest_path(id))?;
        }
        for finding in found.findings.iter().filter(|finding| finding.path.starts_with(self.part("links"))) {
            fs::remove_all(&finding.path)?;
        }
        let mut lost = self.repair_records(&session, &found.findings)?;
        lost.extend(self.remove_bad_downloads(&found.findings)?);
        for finding in found.findings.iter().filter(|finding| finding.path.starts_with(self.blobs())) {
            fs::remove_all(&finding.path)?;
        }
        for drv in self.realised()? {
            let outputs =
                self.realisation(drv).unwrap_or(None).map(|found| found.outputs).unwrap_or_default();
            if !outputs
                .iter()
                .any(|output| self.find(output.object, &output.name).is_ok_and(|path| path.is_some()))
            {
                fs::remove_all(&self.realisation_path(drv))?;
            }
        }
        Ok(lost)
    }

    fn dangling(&self, names: &[ObjectName]) -> Result<Vec<Finding>> {
        let there: BTreeSet<ObjectId> = names.iter().map(|name| name.id).collect();
        let mut findings = Vec::new();
        let mut found = |path: PathBuf, object: ObjectId| {
            let detail = format!("its object {object} is not in the store");
            findings.push(Finding { path, kind: FindingKind::Dangling, detail, object: Some(object) });
        };
        for name in self.names_in("manifests") {
            let id = name.to_str().and_then(|name| name.parse::<ObjectId>().ok());
            if let Some(id) = id.filter(|id| !there.contains(id)) {
                found(self.manifest_path(id), id);
            }
        }
        for drv in self.names_in("realisations").iter().filter_map(|name| name.to_str()?.parse().ok()) {
            // One that cannot be read is a bad record.
            let outputs =
                self.realisation(drv).unwrap_or(None).map(|found| found.outputs).unwrap_or_default();
            // Some of several outputs may have been collected; only a derivation without any output left is reported.
            if let Some(first) =
                outputs.first().filter(|_| !outputs.iter().any(|one| there.contains(&one.object)))
            {
                found(self.realisation_path(drv), first.object);
            }
        }
        Ok(findings)
    }
}

struct Check<'a> {
    path: &'a Path,
    id: ObjectId,
    key: Option<&'a IdKey>,
    seen: &'a Seen,
    /// Whether permission bits count.
    modes: bool,
    findings: Vec<Finding>,
    cancel: &'a Cancel,
}

impl Check<'_> {
    /// Checks everything at or below `part`.
    fn tree(&mut self, listing: &Listing, part: &str) {
        let inside = |path: &str| {
            part.is_empty()
                || path.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        for (path, entry) in listing.entries().filter(|(path, _)| inside(path)) {
            let full = self.path.join(path);
            match fs::optional(fs::metadata(&full)) {
                Ok(Some(found)) => self.entry(&full, entry, &found),
                Ok(None) => self.found(&full, FindingKind::Missing, "it is missing".into()),
                Err(error) => self.found(&full, FindingKind::Unreadable, error.source.to_string()),
            }
            if entry.kind == EntryKind::Dir {
                self.extras(path, &full, listing);
            }
        }
    }

    fn found(&mut self, path: &Path, kind: FindingKind, detail: String) {
        self.findings.push(Finding { path: path.to_owned(), kind, detail, object: Some(self.id) });
    }

    fn entry(&mut self, full: &Path, entry: &TreeEntry, found: &std::fs::Metadata) {
        let kind = found.file_type();
        let same_kind = match &entry.kind {
            EntryKind::File { .. } => kind.is_file(),
            EntryKind::Dir => kind.is_dir(),
            EntryKind::Link { target } => {
                kind.is_symlink()
                    && fs::read_link(full).is_ok_and(|there| there.as_os_str() == target.as_str())
            }
        };
        if !same_kind {
            return self.found(full, FindingKind::Altered, "its type differs from the listing".into());
        }
        let mode = found.mode() & 0o7777;
        if self.modes && !kind.is_symlink() && mode != entry.mode() {
            self.found(
                full,
                FindingKind::Altered,
                format!("its mode is {mode:04o}, not {:04o}", entry.mode()),
            );
        }
        if let EntryKind::File { size, .. } = entry.kind {
            if found.len() != size {
                return self.found(
                    full,
                    FindingKind::Changed,
                    format!("it has {} bytes, not {size}", found.len()),
                );
            }
            match self.digest(full, found.ino(), entry.secret) {
                Ok(digest) if digest == entry.digest => {}
                Ok(_) => self.found(full, FindingKind::Changed, "its content changed".into()),
                Err(error) => self.found(full, FindingKind::Unreadable, error),
            }
        }
    }

    fn digest(&self, path: &Path, inode: u64, secret: bool) -> std::result::Result<Digest, String> {
        let lock = || self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = lock().get(&(inode, secret)) {
            return known.clone();
        }
        let digest = hash(path, Hashing(self.key), secret, self.cancel);
        lock().insert((inode, secret), digest.clone());
        digest
    }

    fn extras(&mut self, path: &str, full: &Path, listing: &Listing) {
        let Ok(names) = fs::list(full) else { return }; // already reported as missing or unreadable
        for name in names {
            let below = match (path, name.to_str()) {
                (_, None) => None,
                ("", Some(name)) => Some(name.to_owned()),
                (path, Some(name)) => Some(format!("{path}/{name}")),
            };
            if below.is_none_or(|below| listing.get(&below).is_none()) {
                self.found(&full.join(&name), FindingKind::Extra, "it is not in the listing".into());
            }
        }
    }
}

fn hash(
    path: &Path,
    hashing: Hashing<'_>,
    secret: bool,
    cancel: &Cancel,
) -> std::result::Result<Digest, String> {
    let mut hasher = hashing.content(secret).ok_or("the key of its digest is missing")?;
    let mut file = fs::open(path).map_err(|error| error.source.to_string())?;
    let mut chunk = vec![0; 128 * 1024];
    loop {
        if cancel.is_set() {
            return Err("interrupted".into());
        }
        match file.read(&mut chunk) {
            Ok(0) => return Ok(hasher.finalize().into()),
            Ok(read) => hasher.update(&chunk[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.to_string()),
        };
    }
}

fn describe(error: &StoreError) -> String {
    match error {
        StoreError::Damaged { source: Some(source), .. } => source.to_string(),
        StoreError::Damaged { source: None, .. } => "its manifest belongs to another object".into(),
        StoreError::Fs(error) => error.source.to_string(),
        other => other.to_string(),
    }
}
