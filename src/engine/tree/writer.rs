//! Writes a tree and hashes it on the way, in one pass; rejects everything that a store cannot hold.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use rustix::fs::FileType;

use super::scratch::Scratch;
use super::{EntryKind, Hashing, Listing, PathError, TreeEntry, check_link, check_path};
use crate::base::fs::{self, At};
use crate::base::hint::Hint;

/// Bytes per read, hash and write: large enough for BLAKE3's wide lanes, small enough for a cache.
pub(super) const CHUNK: usize = 128 * 1024;

/// Why a tree could not be written.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error(transparent)]
    Fs(#[from] fs::Error),
    #[error("the output contains `{}`, which cannot be stored: {reason}", path.escape_debug())]
    Refused { path: String, reason: &'static str },
    /// Two writers of the same path.
    #[error("the output contains `{path}` twice")]
    Twice { path: String },
    #[error("`{path}` in the output was not finished")]
    Unfinished { path: String },
    #[error("the output is secret, but there is no seed to derive its ids from")]
    NoKey,
}

impl Hint for TreeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Fs(error) => error.hint(),
            Self::NoKey => Some("run `tinderbox lock` to create the seed".into()),
            Self::Refused { .. } => Some(
                "an output may contain files, directories and links that stay inside it, with plain names"
                    .into(),
            ),
            Self::Twice { .. } | Self::Unfinished { .. } => None,
        }
    }
}

/// A tree being written. Usable from several threads.
#[derive(Debug)]
pub struct TreeWriter<'a> {
    root: PathBuf,
    hashing: Hashing<'a>,
    /// Whether files are secret by default.
    secret: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<String, TreeEntry>,
    /// Paths of files and links that are written or being written.
    claimed: BTreeSet<String>,
    /// Paths whose bytes came from another object.
    shared: BTreeSet<String>,
    dirs: BTreeSet<String>,
}

/// A finished tree, still where it was written.
#[derive(Debug)]
pub struct Written {
    /// The root directory itself is still writable, so that it can be moved.
    pub root: PathBuf,
    pub listing: Listing,
    shared: BTreeSet<String>,
}

impl Written {
    /// Files that were written here and not linked from another object: candidates for sharing.
    pub fn fresh(&self) -> impl Iterator<Item = (&str, &TreeEntry)> {
        self.listing.leaves("").filter(|(path, entry)| {
            matches!(entry.kind, EntryKind::File { .. }) && !self.shared.contains(*path)
        })
    }

    /// Makes every directory but the root read-only with canonical times. The root stays writable, so that it can be
    /// moved.
    pub fn seal(&self) -> Result<(), TreeError> {
        for (path, entry) in self.listing.entries().filter(|(_, entry)| entry.kind == EntryKind::Dir) {
            if !path.is_empty() {
                let full = self.root.join(path);
                fs::set_canonical_time(&full)?;
                fs::set_mode(&full, entry.mode())?;
            }
        }
        Ok(())
    }
}

impl<'a> TreeWriter<'a> {
    /// Starts a tree in the new directory `root`. With `secret`, all its files are secret.
    pub fn create(root: PathBuf, hashing: Hashing<'a>, secret: bool) -> Result<Self, TreeError> {
        if secret && hashing.0.is_none() {
            return Err(TreeError::NoKey);
        }
        fs::create_dir(&root, 0o700)?;
        Ok(Self { root, hashing, secret, state: Mutex::default() })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn write(&self, path: &str, bytes: &[u8], exec: bool) -> Result<(), TreeError> {
        self.start(path, exec, self.secret)?.put(bytes)
    }

    /// Writes a secret file into a tree that is otherwise public.
    pub fn write_secret(&self, path: &str, bytes: &[u8], exec: bool) -> Result<(), TreeError> {
        self.start(path, exec, true)?.put(bytes)
    }

    /// Starts a file that is written in pieces. It joins the tree when it is finished.
    pub fn file(&self, path: &str, exec: bool) -> Result<FileWriter<'_>, TreeError> {
        self.start(path, exec, self.secret)
    }

    /// The same, where the file itself says whether it is secret.
    pub fn file_as(&self, path: &str, exec: bool, secret: bool) -> Result<FileWriter<'_>, TreeError> {
        self.start(path, exec, secret || self.secret)
    }

    fn start(&self, path: &str, exec: bool, secret: bool) -> Result<FileWriter<'_>, TreeError> {
        self.claim(path)?;
        let entry = TreeEntry { kind: EntryKind::File { exec, size: 0 }, secret, digest: [0; 32].into() };
        let full = self.root.join(path);
        let file = fs::create_new(&full, entry.mode())?;
        let hasher = self.hashing.content(secret).ok_or(TreeError::NoKey)?;
        Ok(FileWriter { tree: self, path: path.to_owned(), full, file, hasher, exec, secret, size: 0 })
    }

    /// Creates an empty directory (others are created as needed).
    pub fn dir(&self, path: &str) -> Result<(), TreeError> {
        check_path(path).map_err(|error| refused(path, error))?;
        let mut state = self.state();
        self.make_dirs(&mut state, path)?;
        let entry = TreeEntry { kind: EntryKind::Dir, secret: false, digest: [0; 32].into() };
        state.entries.entry(path.to_owned()).or_insert(entry);
        Ok(())
    }

    pub fn link(&self, path: &str, target: &str) -> Result<(), TreeError> {
        self.link_as(path, target, self.secret)
    }

    /// The same, where the link itself says whether it is secret.
    pub fn link_as(&self, path: &str, target: &str, secret: bool) -> Result<(), TreeError> {
        check_link(path, target).map_err(|error| refused(path, error))?;
        if path.contains(" -> ") {
            return Err(refused(path, PathError { reason: "a link's name may not contain ` -> `" }));
        }
        self.claim(path)?;
        let full = self.root.join(path);
        fs::symlink(Path::new(target), &full)?;
        fs::set_canonical_time(&full)?;
        let mut hasher = self.hashing.content(secret).ok_or(TreeError::NoKey)?;
        let digest = hasher.update(target.as_bytes()).finalize().into();
        let entry = TreeEntry { kind: EntryKind::Link { target: target.to_owned() }, secret, digest };
        self.state().entries.insert(path.to_owned(), entry);
        Ok(())
    }

    /// Adds the file or link `from` of another object, whose entry is known: reads no bytes.
    pub fn share(&self, path: &str, from: &Path, entry: &TreeEntry) -> Result<(), TreeError> {
        if let EntryKind::Link { target } = &entry.kind {
            return self.link(path, target);
        }
        self.claim(path)?;
        let full = self.root.join(path);
        match fs::hard_link(from, &full) {
            Ok(()) => {}
            // Too many links, or another file system: copy it.
            Err(_) => copy(from, &full, entry)?,
        }
        let mut state = self.state();
        state.entries.insert(path.to_owned(), entry.clone());
        state.shared.insert(path.to_owned());
        Ok(())
    }

    /// Adds a file of this tree's own scratch space, whose entry is known: reads no bytes.
    pub fn share_fresh(&self, path: &str, from: &Path, entry: &TreeEntry) -> Result<(), TreeError> {
        self.claim(path)?;
        let full = self.root.join(path);
        if fs::hard_link(from, &full).is_err() {
            copy(from, &full, entry)?; // too many links
        }
        self.state().entries.insert(path.to_owned(), entry.clone());
        Ok(())
    }

    /// Creates a directory next to the tree, on the same file system, which is removed when dropped.
    pub fn scratch(&self, name: &str) -> Result<Scratch<'_>, TreeError> {
        check_path(name).map_err(|error| refused(name, error))?;
        let dir = self.root.with_file_name(format!("scratch-{name}"));
        Scratch::create(dir, self.hashing, self.secret)
    }

    /// Copies an external file or directory below `path` (`""`: the root), in parallel, hashing on the way.
    pub fn copy_from(&self, source: &Path, path: &str) -> Result<(), TreeError> {
        match (source.parent(), source.file_name()) {
            (Some(parent), Some(name)) => {
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                self.copy_entry(&fs::Dir::open(parent)?, name, path)
            }
            _ => self.copy_dir(&fs::Dir::open(source)?, path),
        }
    }

    /// [`TreeWriter::copy_from`] for an entry of an open directory: follows no link.
    pub(crate) fn copy_entry(&self, parent: &fs::Dir, name: &OsStr, path: &str) -> Result<(), TreeError> {
        let found = parent.stat(name)?;
        let kind = fs::kind(&found);
        if kind == FileType::Directory {
            if !path.is_empty() {
                self.dir(path)?;
            }
            return self.copy_dir(&parent.dir(name)?, path);
        }
        let path = match path {
            "" => name.to_str().unwrap_or_default(),
            path => path,
        };
        let refused = |reason| Err(TreeError::Refused { path: path.to_owned(), reason });
        match kind {
            FileType::RegularFile => {
                let mut source = parent.file(name)?;
                let mut file = self.file(path, found.st_mode & 0o100 != 0)?;
                file.fill(&mut source, Path::new(path))?;
                file.finish()
            }
            FileType::Symlink => match parent.read_link(name)?.to_str() {
                Some(target) => self.link(path, target),
                None => refused("its target is not UTF-8"),
            },
            FileType::Fifo => refused("it is a named pipe"),
            FileType::Socket => refused("it is a socket"),
            _ => refused("it is a device"),
        }
    }

    fn copy_dir(&self, dir: &fs::Dir, path: &str) -> Result<(), TreeError> {
        dir.names()?.into_par_iter().try_for_each(|name| {
            let leaf = name.to_str().ok_or_else(|| TreeError::Refused {
                path: name.to_string_lossy().into_owned(),
                reason: "its name is not UTF-8",
            })?;
            let below = if path.is_empty() { leaf.to_owned() } else { format!("{path}/{leaf}") };
            self.copy_entry(dir, &name, &below)
        })
    }

    /// Hashes the directories. Only files are read-only yet: see [`Written::seal`].
    pub fn finish(self) -> Result<Written, TreeError> {
        let State { entries, claimed, shared, .. } =
            self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = claimed.iter().find(|path| !entries.contains_key(*path)) {
            return Err(TreeError::Unfinished { path: path.clone() });
        }
        let listing = Listing::close(entries, self.hashing).ok_or(TreeError::NoKey)?;
        Ok(Written { root: self.root, listing, shared })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a path for one writer and creates its parents.
    fn claim(&self, path: &str) -> Result<(), TreeError> {
        check_path(path).map_err(|error| refused(path, error))?;
        let mut state = self.state();
        if state.dirs.contains(path) || !state.claimed.insert(path.to_owned()) {
            return Err(TreeError::Twice { path: path.to_owned() });
        }
        match path.rsplit_once('/') {
            Some((parent, _)) => self.make_dirs(&mut state, parent),
            None => Ok(()),
        }
    }

    fn make_dirs(&self, state: &mut State, path: &str) -> Result<(), TreeError> {
        if state.dirs.contains(path) {
            return Ok(());
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.make_dirs(state, parent)?;
        }
        if state.claimed.contains(path) {
            return Err(TreeError::Twice { path: path.to_owned() });
        }
        fs::create_dir(&self.root.join(path), 0o700)?;
        state.dirs.insert(path.to_owned());
        Ok(())
    }
}

fn refused(path: &str, error: PathError) -> TreeError {
    TreeError::Refused { path: path.to_owned(), reason: error.reason }
}

fn copy(from: &Path, to: &Path, entry: &TreeEntry) -> Result<(), TreeError> {
    let mut file = fs::create_new(to, entry.mode())?;
    io::copy(&mut fs::open(from)?, &mut file).at("copy", to)?;
    fs::set_canonical_time_of(&file, to)?;
    Ok(())
}

/// One file of a tree, in progress. Dropping it without [`FileWriter::finish`] makes the tree unusable.
#[derive(Debug)]
pub struct FileWriter<'a> {
    tree: &'a TreeWriter<'a>,
    path: String,
    pub(super) full: PathBuf,
    pub(super) file: File,
    pub(super) hasher: blake3::Hasher,
    exec: bool,
    secret: bool,
    pub(super) size: u64,
}

impl FileWriter<'_> {
    /// Writes the whole content, and finishes.
    fn put(mut self, bytes: &[u8]) -> Result<(), TreeError> {
        self.write_all(bytes).at("write", &self.full)?;
        self.finish()
    }

    /// Copies everything from `source`, which is called `name` in errors.
    pub fn fill(&mut self, source: &mut impl Read, name: &Path) -> Result<(), TreeError> {
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = match source.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(fs::Error::new("read", name, error).into()),
            };
            self.write_all(&chunk[..read]).at("write", &self.full)?;
        }
    }

    /// Adds the file to the tree.
    pub fn finish(self) -> Result<(), TreeError> {
        fs::set_canonical_time_of(&self.file, &self.full)?;
        let entry = TreeEntry {
            kind: EntryKind::File { exec: self.exec, size: self.size },
            secret: self.secret,
            digest: self.hasher.finalize().into(),
        };
        self.tree.state().entries.insert(self.path, entry);
        Ok(())
    }
}

impl Write for FileWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
