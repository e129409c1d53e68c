//! A session: one process working in a store. It writes below its own directory in `tmp/`, claims what it uses, and
//! publishes its outputs. The next session cleans up after one that died.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{Object, ObjectName, Output, Realisation, Result, Store, StoreError, Trace};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::fs::{self, At, Sharing};
use crate::base::secret::IdKey;
use crate::engine::tree::{Hashing, TreeWriter, Written};

/// One process working in a store, or only reading it.
#[derive(Debug)]
pub struct Session {
    store: Store,
    work: Option<Work>,
    key: Option<IdKey>,
    next: AtomicU64,
    /// Objects, and parts of objects, that were hashed in this session.
    verified: Mutex<BTreeSet<(ObjectId, String)>>,
}

/// The writable part of a session.
#[derive(Debug)]
struct Work {
    dir: PathBuf,
    /// Locked while the process lives; contains the ids of the objects in use.
    claims: File,
}

/// While this lives, gc removes nothing: objects can be looked up and claimed.
#[derive(Debug)]
pub struct Using {
    _shared: Option<File>,
}

/// The right to build one derivation, across processes.
#[derive(Debug)]
pub struct DrvLock {
    _exclusive: File,
    path: PathBuf,
    /// A name in the session's directory.
    away: PathBuf,
}

impl Drop for DrvLock {
    fn drop(&mut self) {
        // Moved, not deleted, until the session ends: ext4 without a journal creates files slowly after many deletions.
        let _ = fs::rename(&self.path, &self.away); // a leftover is harmless: nobody holds it
    }
}

/// A finished output that is not published yet.
#[derive(Debug)]
pub struct Staged {
    dir: PathBuf,
    name: ObjectName,
    mode: u32,
}

impl Staged {
    /// Its future id in the store.
    pub fn id(&self) -> ObjectId {
        self.name.id
    }
}

impl Session {
    /// Starts a session: cleans up after dead sessions, and stores the key of secret ids.
    pub fn open(store: &Store, key: Option<IdKey>) -> Result<Self> {
        if let Some(key) = &key {
            store.keep_key(key)?;
        }
        store.clean_up()?;
        let starting = fs::open_lock(&store.part("locks").join("sessions"))?;
        fs::lock(&starting, &store.part("locks"), Sharing::Shared, &store.cancel)?;
        let dir = store.part("tmp").join(format!("session-{}", fs::random_name()));
        fs::create_dir(&dir, 0o700)?;
        let claims = fs::open_lock(&dir.join("lock"))?;
        claims.lock().at("lock", &dir)?;
        Ok(Self {
            store: store.clone(),
            work: Some(Work { dir, claims }),
            key,
            next: AtomicU64::new(0),
            verified: Mutex::default(),
        })
    }

    /// Starts a read-only session: writes nothing, so it claims nothing either.
    pub fn reading(store: &Store, key: Option<IdKey>) -> Self {
        Self { store: store.clone(), work: None, key, next: AtomicU64::new(0), verified: Mutex::default() }
    }

    pub fn is_reading(&self) -> bool {
        self.work.is_none()
    }

    fn dir(&self) -> Result<&Path> {
        match &self.work {
            Some(work) => Ok(&work.dir),
            None => Err(StoreError::ReadOnly { path: self.store.root().to_owned() }),
        }
    }

    /// A new path in this session's directory.
    fn fresh(&self, prefix: &str) -> Result<PathBuf> {
        Ok(self.dir()?.join(format!("{prefix}{}", self.next.fetch_add(1, Ordering::Relaxed))))
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The key of secret ids, if this session has one.
    pub fn key(&self) -> Option<&IdKey> {
        self.key.as_ref()
    }

    /// Blocks gc while it lives. Waits while gc removes.
    pub fn using(&self) -> Result<Using> {
        if self.is_reading() { Ok(Using { _shared: None }) } else { self.store.hold_off_gc() }
    }

    /// Claims objects, so that gc keeps them until the session ends.
    pub fn claim(&self, _while: &Using, ids: &[ObjectId]) -> Result<()> {
        let Some(Work { dir, claims }) = &self.work else { return Ok(()) };
        let mut claims = claims;
        let lines: String = ids.iter().flat_map(|id| [id.to_string(), "\n".to_owned()]).collect();
        Ok(claims.write_all(lines.as_bytes()).at("write", dir)?)
    }

    /// The right to build a derivation; none if another process has it.
    pub fn try_lock(&self, drv: DrvId) -> Result<Option<DrvLock>> {
        self.dir()?;
        let locked = self.store.try_lock_named(&drv.to_string())?;
        let own = |(file, path)| Ok(DrvLock { _exclusive: file, path, away: self.fresh("lock-")? });
        locked.map(own).transpose()
    }

    pub fn stage(&self, secret: bool) -> Result<TreeWriter<'_>> {
        let dir = self.fresh("output-")?;
        fs::create_dir(&dir, 0o700)?;
        Ok(TreeWriter::create(dir.join("tree"), Hashing(self.key.as_ref()), secret)?)
    }

    /// Abandons an output and frees its space at once.
    pub fn abandon(&self, tree: TreeWriter<'_>) {
        if let Some(dir) = tree.root().parent() {
            let _ = fs::remove_all(dir); // leftovers go with the session
        }
    }

    /// Finishes an output: shares equal files, seals it, writes its listing. Durable after [`Session::sync`].
    pub fn finish(&self, tree: TreeWriter<'_>, label: &str) -> Result<Staged> {
        let tree = tree.finish()?;
        self.store.share(&tree)?;
        tree.seal()?;
        let Written { root, listing, .. } = &tree;
        let dir = root.parent().unwrap_or(root).to_owned();
        let name = ObjectName { id: listing.id(), name: label.replace('/', "-") };
        let mode = if listing.root().secret { 0o600 } else { 0o644 };
        fs::write_new(
            &dir.join("manifest"),
            format!("object {name}\n{}", listing.encode()).as_bytes(),
            mode,
        )?;
        Ok(Staged { dir, name, mode: listing.root().mode() })
    }

    /// Forgets a finished output that nobody wants, and frees its space at once.
    pub fn discard_staged(&self, staged: &Staged) {
        let _ = fs::remove_all(&staged.dir); // leftovers go with the session
    }

    /// Makes everything finished so far durable. Sessions that ask at the same time share one sync.
    pub fn sync(&self) -> Result<()> {
        let dir = self.dir()?;
        Ok(self.store.syncs.run(|| fs::sync_file_system(dir))?)
    }

    /// Hashes a part of an object (`""`: all of it) that is about to be used, once per session: what somebody changed in
    /// the store must not become part of anything. Outputs of this session were hashed as they were written.
    pub fn verify_use(&self, object: &Object, path: &str) -> Result<()> {
        let seen = || self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if ["", path].iter().any(|part| seen().contains(&(object.id, (*part).to_owned()))) {
            return Ok(());
        }
        self.store.verify_part(object, path)?;
        seen().insert((object.id, path.to_owned()));
        Ok(())
    }

    /// Puts a finished, durable output into the store. If the object exists, it keeps its name.
    pub fn publish(&self, staged: &Staged) -> Result<Output> {
        let using = self.using()?;
        let id = staged.name.id;
        self.claim(&using, &[id])?;
        // An unreadable manifest is invalid: it is replaced below.
        if let Some((name, _)) = self.store.manifest(id).unwrap_or(None)
            && fs::exists(&self.store.path_of(&name))?
        {
            fs::remove_all(&staged.dir)?;
            return Ok(Output { object: id, name: name.name });
        }
        let path = self.store.path_of(&staged.name);
        let tree = staged.dir.join("tree");
        if let Err(error) = fs::rename(&tree, &path) {
            if !matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) {
                return Err(error.into());
            }
            // A directory without a manifest is incomplete: ours replaces it.
            fs::set_mode(&path, 0o700)?;
            fs::rename(&path, &staged.dir.join("stray"))?;
            fs::rename(&tree, &path)?;
        }
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).insert((id, String::new()));
        // The empty staging directory stays until the session ends, for the reason given at `DrvLock`.
        if let Err(error) = self.store.add_manifest(&staged.dir.join("manifest"), &staged.name, staged.mode) {
            // Nothing vouches for it: take it back, so that it goes with the session.
            let _ = fs::set_mode(&path, 0o700).and_then(|()| fs::rename(&path, &tree));
            return Err(error);
        }
        Ok(Output { object: id, name: staged.name.name.clone() })
    }

    /// Records an output of a derivation. The caller holds the derivation's lock.
    pub fn record(&self, drv: DrvId, output: &Output, trace: &Trace) -> Result<Realisation> {
        let (text, realisation) = self.store.with_output(drv, output, trace)?;
        self.put(&self.store.realisation_path(drv), text.as_bytes())?;
        Ok(realisation)
    }

    /// Stores what the programs of a derivation printed, for its owner only despite the redaction.
    pub fn keep_log(&self, drv: DrvId, text: &str) -> Result<()> {
        fs::create_dirs(&self.store.part("logs"))?; // stores of an earlier version have none
        let temporary = self.fresh("log-")?;
        fs::write_new(&temporary, super::seal::seal_text(text).as_bytes(), 0o600)?;
        Ok(fs::rename(&temporary, &self.store.log_path(drv))?)
    }

    /// Replaces a small file atomically, without waiting for the disk.
    pub(super) fn put(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.put_as(path, bytes, 0o644)
    }

    /// The same for a file for its owner only.
    pub(super) fn put_private(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.put_as(path, bytes, 0o600)
    }

    fn put_as(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
        let temporary = self.fresh("put-")?;
        fs::write_new(&temporary, bytes, mode)?;
        Ok(fs::rename(&temporary, path)?)
    }

    /// Removes an object from the store, in the reverse order of [`Session::publish`]: if the process dies half-way,
    /// the clean-up finds a manifest whose tree is still in place, and restores it.
    pub(super) fn retire(&self, name: &ObjectName) -> Result<()> {
        let dir = self.fresh("gone-")?;
        fs::create_dir(&dir, 0o700)?;
        let (manifest, away) = (self.store.manifest_path(name.id), dir.join("manifest"));
        fs::optional(fs::rename(&manifest, &away))?;
        let moved = self.move_away(&self.store.path_of(name), &dir.join("tree"));
        if moved.is_err() {
            let _ = fs::optional(fs::rename(&away, &manifest)); // it stays, so it stays complete
        }
        moved
    }

    fn move_away(&self, path: &Path, to: &Path) -> Result<()> {
        let found = fs::metadata(path)?;
        if found.is_dir() {
            fs::set_mode(path, 0o700)?; // moving a directory writes its `..`
        }
        let moved = fs::rename(path, to);
        if moved.is_err() && found.is_dir() {
            let _ = fs::set_mode(path, found.mode() & 0o7777); // the first error is reported
        }
        Ok(moved?)
    }

    /// Moves something away, to be removed when the session ends or is cleaned up.
    pub(super) fn discard(&self, path: &Path) -> Result<()> {
        self.move_away(path, &self.fresh("gone-")?)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            let _ = fs::remove_all(&work.dir); // the next session cleans up leftovers
        }
    }
}

impl Store {
    /// The last step of publishing: adds the manifest of a tree that is in place.
    fn add_manifest(&self, manifest: &Path, name: &ObjectName, mode: u32) -> Result<()> {
        let path = self.path_of(name);
        fs::set_canonical_time(&path)?;
        fs::set_mode(&path, mode)?;
        Ok(fs::rename(manifest, &self.manifest_path(name.id))?)
    }

    /// Cleans up after dead sessions: publishes the trees that they had moved into the store, removes the rest.
    pub(super) fn clean_up(&self) -> Result<()> {
        self.refuse_links()?; // `verify` opens what is damaged, too
        let tmp = self.part("tmp");
        if fs::list(&tmp)?.is_empty() {
            return Ok(());
        }
        let starting = fs::open_lock(&self.part("locks").join("sessions"))?;
        if starting.try_lock().is_err() {
            return Ok(()); // another session starts or cleans up right now
        }
        let _using = self.hold_off_gc()?;
        for dir in self.sessions(|held| !held)? {
            // A session that ends right now removes its directory itself.
            for entry in fs::list(&dir).unwrap_or_default() {
                self.recover(&dir.join(entry))?;
            }
            fs::remove_all(&dir)?;
        }
        Ok(())
    }

    /// Session directories, selected by whether their lock is held.
    pub(super) fn sessions(&self, wanted: impl Fn(bool) -> bool) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for name in fs::list(&self.part("tmp"))? {
            let dir = self.part("tmp").join(name);
            // Without a lock, it died before it had one, or never was a session; the caller blocks starting sessions.
            let lock = match fs::open(&dir.join("lock")) {
                Ok(lock) => Some(lock),
                Err(error) if is_no_lock(error.kind()) => None,
                Err(error) => return Err(error.into()),
            };
            let held =
                lock.is_some_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)));
            if wanted(held) {
                found.push(dir);
            }
        }
        Ok(found)
    }

    /// Completes the publication of a tree that was moved before its process died.
    fn recover(&self, dir: &Path) -> Result<()> {
        let manifest = dir.join("manifest");
        if !fs::optional(fs::metadata(dir))?.is_some_and(|found| found.is_dir()) {
            return Ok(()); // the session's lock, or a small unfinished file
        }
        if fs::exists(&dir.join("tree"))? || !fs::exists(&manifest)? {
            return Ok(());
        }
        let Ok(text) = fs::read_text(&manifest) else { return Ok(()) };
        let Some((first, listing)) = text.split_once('\n') else { return Ok(()) };
        let Some(name) = first.strip_prefix("object ").and_then(|name| name.parse::<ObjectName>().ok())
        else {
            return Ok(());
        };
        let Ok(listing) = super::objects::parse_listing(name.id, listing) else { return Ok(()) };
        if fs::exists(&self.path_of(&name))? && !fs::exists(&self.manifest_path(name.id))? {
            self.add_manifest(&manifest, &name, listing.root().mode())?;
        }
        Ok(())
    }

    /// Objects that running sessions have claimed. The caller holds the gc lock exclusively.
    pub(super) fn claimed(&self) -> Result<Vec<ObjectId>> {
        let mut claimed = Vec::new();
        for dir in self.sessions(|held| held)? {
            let text = fs::optional(fs::read_text(&dir.join("lock")))?.unwrap_or_default();
            claimed.extend(text.lines().filter_map(|line| line.parse::<ObjectId>().ok()));
        }
        Ok(claimed)
    }

    /// Blocks until nobody builds this derivation.
    pub fn wait_for(&self, drv: DrvId) -> Result<()> {
        let path = self.part("locks").join(drv.to_string());
        if let Some(file) = fs::optional(fs::open(&path))? {
            fs::lock(&file, &path, Sharing::Shared, &self.cancel)?;
        }
        Ok(())
    }

    fn hold_off_gc(&self) -> Result<Using> {
        let path = self.part("locks").join("gc");
        let shared = fs::open_lock(&path)?;
        fs::lock(&shared, &path, Sharing::Shared, &self.cancel)?;
        Ok(Using { _shared: Some(shared) })
    }

    /// A lock file of `locks/`, held; none if another process has it. Its holder removes it in the end.
    pub(super) fn try_lock_named(&self, name: &str) -> Result<Option<(File, PathBuf)>> {
        let path = self.part("locks").join(name);
        loop {
            let file = fs::open_lock(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(fs::Error::new("lock", path, error).into()),
            }
            // The previous holder may have removed the file: then ours is not the one that others see.
            let ours = file.metadata().at("access", &path)?.ino();
            if fs::optional(fs::metadata(&path))?.is_some_and(|there| there.ino() == ours) {
                return Ok(Some((file, path)));
            }
        }
    }

    /// The exclusive gc lock: nobody looks up objects while it is held.
    pub(super) fn lock_gc(&self) -> Result<File> {
        let path = self.part("locks").join("gc");
        let file = fs::open_lock(&path)?;
        fs::lock(&file, &path, Sharing::Exclusive, &self.cancel)?;
        Ok(file)
    }
}

/// What the lock of a session that never was, or never began, looks like.
fn is_no_lock(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{InvalidInput, NotADirectory, NotFound};
    [InvalidInput, NotADirectory, NotFound].contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_died_is_cleaned_up() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        let dead = store.part("tmp").join("session-dead");
        fs::create_dirs(&dead.join("output-0")).unwrap();
        for file in ["lock", "put-1", "lock-2"] {
            fs::write_new(&dead.join(file), b"", 0o600).unwrap();
        }
        let session = Session::open(&store, None).unwrap();
        assert_eq!(fs::list(&store.part("tmp")).unwrap().len(), 1, "only the new session is there");
        drop(session);
        assert!(fs::list(&store.part("tmp")).unwrap().is_empty());
    }
}
