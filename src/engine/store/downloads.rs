//! Downloads: large files from outside, by sha256, shared by all clusters of the store.
//!
//! ```text
//! downloads/<64 digits>              complete and verified, 0444
//! downloads/<64 digits>.part         begun; the next attempt continues it
//! downloads/<64 digits>.unpacking    what is packed in it, being unpacked; the next attempt starts over
//! roots/<cluster>/downloads          one digest a line: what this cluster's lock names, so that gc keeps it
//! locks/download-<64 digits>         held while a process works on it
//! ```
//!
//! `engine::download` fills it. Invariant: a name without a suffix is the sha256 of the content.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use sha2::Digest as _;

use super::verify::{Finding, FindingKind};
use super::{GcOptions, Result, Roots, Session, Store};
use crate::base::fs;
use crate::engine::registry::Sha256;

/// The right to work on one download, across processes.
#[derive(Debug)]
pub(crate) struct DownloadLock {
    _exclusive: File,
    path: PathBuf,
}

impl Drop for DownloadLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path); // a leftover is harmless: nobody holds it
    }
}

/// A file below `downloads/`.
#[derive(Debug, Clone)]
pub(crate) struct DownloadFile {
    pub path: PathBuf,
    pub bytes: u64,
    /// The sha256 in its name.
    pub sha256: Sha256,
    pub complete: bool,
}

impl Store {
    pub(crate) fn downloads_dir(&self) -> PathBuf {
        self.part("downloads")
    }

    /// Where a complete download is, or will be.
    pub(crate) fn download_path(&self, sha256: &Sha256) -> PathBuf {
        self.downloads_dir().join(sha256.hex())
    }

    /// A complete download, if it is there. Its content is verified by those who read it.
    pub(crate) fn download(&self, sha256: &Sha256) -> Result<Option<PathBuf>> {
        let path = self.download_path(sha256);
        Ok(fs::exists(&path)?.then_some(path))
    }

    /// All files below `downloads/` with a digest in their names.
    pub(crate) fn downloads(&self) -> Result<Vec<DownloadFile>> {
        let mut all = Vec::new();
        for name in self.names_in("downloads") {
            let path = self.downloads_dir().join(&name);
            let Some((digest, suffix)) = name.to_str().map(|name| name.split_once('.').unwrap_or((name, "")))
            else {
                continue;
            };
            let Ok(sha256) = format!("sha256:{digest}").parse() else { continue };
            let Some(found) = fs::optional(fs::metadata(&path))? else { continue }; // just collected
            all.push(DownloadFile { path, bytes: found.len(), sha256, complete: suffix.is_empty() });
        }
        Ok(all)
    }

    /// The right to work on a download; none if another process has it.
    pub(crate) fn try_lock_download(&self, sha256: &Sha256) -> Result<Option<DownloadLock>> {
        let locked = self.try_lock_named(&format!("download-{}", sha256.hex()))?;
        Ok(locked.map(|(file, path)| DownloadLock { _exclusive: file, path }))
    }

    /// Downloads that no root names and nobody works on. The caller holds the gc lock.
    pub(super) fn unneeded_downloads(
        &self,
        needed: &BTreeSet<Sha256>,
        options: &GcOptions,
    ) -> Result<Vec<DownloadFile>> {
        let mut unneeded = Vec::new();
        for file in self.downloads()? {
            let young = options.older_than.is_some_and(|limit| age(&file.path, options) < limit);
            if !needed.contains(&file.sha256)
                && !young
                && self.try_lock_download(&file.sha256)?.is_some_and(|_held| true)
            {
                unneeded.push(file);
            }
        }
        Ok(unneeded)
    }

    /// Complete downloads whose content is not what their name says; and how many files and bytes were hashed.
    pub(super) fn bad_downloads(&self) -> Result<(Vec<Finding>, usize, u64)> {
        let (mut findings, mut files, mut bytes) = (Vec::new(), 0, 0);
        for DownloadFile { path, bytes: size, sha256, .. } in
            self.downloads()?.into_iter().filter(|file| file.complete)
        {
            let (kind, detail) = match fs::optional(fs::hash_until(&path, &self.cancel)) {
                Ok(None) => continue, // just collected
                Ok(Some(hasher)) if Sha256::from_bytes(hasher.clone().finalize().into()) == sha256 => {
                    files += 1;
                    bytes += size;
                    continue;
                }
                Ok(Some(_)) => (FindingKind::Changed, "its content does not match its name".to_owned()),
                Err(error) => (FindingKind::Unreadable, error.source.to_string()),
            };
            findings.push(Finding { path, kind, detail, object: None });
        }
        Ok((findings, files, bytes))
    }

    /// Removes a bad download. What is lost with it.
    pub(super) fn remove_bad_downloads(&self, findings: &[Finding]) -> Result<Vec<String>> {
        let mut lost = Vec::new();
        for Finding { path, .. } in
            findings.iter().filter(|found| found.path.starts_with(self.downloads_dir()))
        {
            fs::remove_all(path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            lost.push(format!("the download {name}: `tinderbox lock --fetch` gets it again"));
        }
        Ok(lost)
    }
}

fn age(path: &Path, options: &GcOptions) -> std::time::Duration {
    let now = options.now.unwrap_or(std::time::SystemTime::UNIX_EPOCH);
    let time = fs::metadata(path).ok().and_then(|found| found.modified().ok());
    time.and_then(|time| now.duration_since(time).ok()).unwrap_or_default()
}

impl Roots {
    /// The downloads that this cluster's lock named when it was last used.
    pub(crate) fn downloads(&self) -> Result<BTreeSet<Sha256>> {
        let text = fs::optional(fs::read_text(&self.place().join("downloads")))?.unwrap_or_default();
        Ok(text.lines().filter_map(|line| format!("sha256:{line}").parse().ok()).collect())
    }

    /// Whether `downloads` is exactly as it was written, or does not exist.
    pub(super) fn has_whole_downloads(&self) -> bool {
        let is_list =
            |text: &str| text.lines().all(|line| format!("sha256:{line}").parse::<Sha256>().is_ok());
        match fs::optional(fs::read_text(&self.place().join("downloads"))) {
            Ok(None) => true,
            Ok(Some(text)) => {
                super::seal::unseal_text(&text).is_some_and(is_list)
                    || (is_list(&text) && text.ends_with('\n'))
            }
            Err(_) => false,
        }
    }

    /// Makes gc keep these downloads for this cluster, and no others.
    pub(crate) fn keep_downloads(&self, session: &Session, wanted: &BTreeSet<Sha256>) -> Result<()> {
        if self.downloads()? == *wanted || session.is_reading() {
            return Ok(());
        }
        self.prepare(session)?;
        let text: String = wanted.iter().map(|sha256| sha256.hex() + "\n").collect();
        session.put(&self.place().join("downloads"), super::seal::seal_text(&text).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("store")).unwrap();
        fs::create_dirs(&store.downloads_dir()).unwrap();
        (dir, store)
    }

    fn put(store: &Store, name: &str, bytes: &[u8]) -> PathBuf {
        let path = store.downloads_dir().join(name);
        fs::write_new(&path, bytes, 0o644).unwrap();
        path
    }

    #[test]
    fn gc_keeps_what_a_root_names_and_what_somebody_works_on() {
        let (dir, store) = store();
        let [kept, begun, old, busy] =
            ["kept", "begun", "old", "busy"].map(|text| Sha256::of(text.as_bytes()));
        let kept_path = put(&store, &kept.hex(), b"kept");
        let part = put(&store, &format!("{}.part", begun.hex()), b"beg");
        let stale = [put(&store, &old.hex(), b"old"), put(&store, &format!("{}.unpacking", old.hex()), b"o")];
        let busy_path = put(&store, &format!("{}.part", busy.hex()), b"bu");
        let cluster = dir.path().join("cluster");
        fs::create_dirs(&cluster).unwrap();
        let roots = store.roots_of(&cluster);
        let session = Session::open(&store, None).unwrap();
        roots.keep_downloads(&session, &BTreeSet::from([kept, begun])).unwrap();
        drop(session);
        let _working = store.try_lock_download(&busy).unwrap().unwrap();
        assert!(store.try_lock_download(&busy).unwrap().is_none());

        let options = GcOptions { older_than: Some(Duration::from_secs(3600)), ..GcOptions::default() };
        assert!(store.plan_gc(&options).unwrap().downloads.is_empty(), "all are young");
        let plan = store.gc(&GcOptions::default()).unwrap();
        assert_eq!((plan.downloads.len(), plan.freed), (2, 4));
        assert!(stale.iter().all(|path| !fs::exists(path).unwrap()));
        assert!([&kept_path, &part, &busy_path].iter().all(|path| fs::exists(path).unwrap()));

        // Without its cluster directory, nothing is needed any more.
        fs::remove_all(&cluster).unwrap();
        let gone =
            GcOptions { forget_missing: true, now: Some(SystemTime::UNIX_EPOCH), ..GcOptions::default() };
        assert_eq!(store.gc(&gone).unwrap().downloads.len(), 2);
        assert!(!fs::exists(&kept_path).unwrap() && fs::exists(&busy_path).unwrap());
    }

    #[test]
    fn verify_names_a_damaged_download_and_repair_removes_it() {
        let (_dir, store) = store();
        let (good, bad) = (Sha256::of(b"good"), Sha256::of(b"bad"));
        put(&store, &good.hex(), b"good");
        put(&store, &format!("{}.part", good.hex()), b"whatever");
        let path = put(&store, &bad.hex(), b"damaged");
        let found = store.verify().unwrap();
        assert_eq!((found.files, found.bytes, found.findings.len()), (1, 4, 1));
        assert_eq!(found.findings[0].path, path);
        assert_eq!(found.findings[0].kind, FindingKind::Changed);
        let lost = store.remove_bad(&found).unwrap();
        assert!(lost[0].contains(&bad.hex()) && lost[0].contains("--fetch"), "{lost:?}");
        assert!(store.verify().unwrap().findings.is_empty());
        assert!(store.download(&good).unwrap().is_some() && store.download(&bad).unwrap().is_none());
    }
}
