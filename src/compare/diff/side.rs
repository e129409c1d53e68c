//! A side of a comparison: artifacts by name, each a tree of files with their digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Result;
use crate::base::digest::{Digest, DrvId, ObjectId};
use crate::base::fs;
use crate::base::secret::IdKey;
use crate::engine::store::{Store, StoreError};
use crate::engine::tree::{EntryKind, Hashing};

#[derive(Debug, Clone, Default)]
pub struct Side {
    pub title: String,
    /// The store with its objects.
    pub store: Option<Store>,
    pub parts: BTreeMap<String, Part>,
}

impl Side {
    /// Keeps only the artifacts that `select` accepts.
    pub fn narrow(&mut self, select: impl Fn(&str) -> bool) {
        self.parts.retain(|name, _| select(name));
    }

    /// The files of one artifact; none if it does not exist.
    pub(super) fn leaves(&self, name: &str) -> Result<Option<Leaves>> {
        self.parts.get(name).map(|part| part.tree.leaves(self.store.as_ref())).transpose()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Set if it was built.
    pub drv: Option<DrvId>,
    pub tree: Tree,
}

/// Where an artifact's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    Object(ObjectId),
    /// A file or directory outside a store.
    Loose(PathBuf),
}

/// A file or link of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) digest: Digest,
    pub(super) secret: bool,
    pub(super) executable: bool,
    /// The target of a link.
    pub(super) link: Option<String>,
}

/// The files of one artifact.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaves {
    root: PathBuf,
    /// By path; if the side is a single file, by its name.
    pub(super) by_path: BTreeMap<String, Leaf>,
    /// Whether `root` is the file itself.
    is_file: bool,
    /// The key of the digests of secret files, if it is an object that has some.
    key: Option<IdKey>,
    /// Whether it is an object: digests of secret files outside of a store have no key.
    is_object: bool,
}

impl Leaves {
    /// Gives the only file of each side the same name, so that `a.ign` and `b.ign` are compared with each other.
    pub(super) fn align(&mut self, new: &Self) {
        if let (true, true, Some(name)) = (self.is_file, new.is_file, new.by_path.keys().next()) {
            self.by_path =
                std::mem::take(&mut self.by_path).into_values().map(|leaf| (name.clone(), leaf)).collect();
        }
    }

    /// Digest of a file, if it exists.
    pub(super) fn digest(&self, path: &Option<String>) -> Option<Digest> {
        self.by_path.get(path.as_ref()?).map(|leaf| leaf.digest)
    }

    /// The path of a file on disk.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        if self.is_file { self.root.clone() } else { self.root.join(path) }
    }

    /// The content of a file, or the target of a link. What somebody changed in the store is not compared, nor is a secret
    /// whose key is lost: nobody could tell.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>> {
        let leaf = self.by_path.get(path);
        if let Some(target) = leaf.and_then(|leaf| leaf.link.as_ref()) {
            return Ok(format!("link to {target}\n").into_bytes());
        }
        let bytes = fs::read(&self.path(path))?;
        let digest = |leaf: &Leaf| {
            let mut hasher = Hashing(self.key.as_ref()).content(leaf.secret && self.is_object)?;
            Some(Digest::from(hasher.update(&bytes).finalize()))
        };
        let detail = match leaf.map(|leaf| (digest(leaf), leaf.digest)) {
            Some((Some(found), wanted)) if found != wanted => "its content changed",
            Some((None, _)) => "the key of its digest is missing",
            _ => return Ok(bytes),
        };
        Err(StoreError::Modified { path: self.path(path), detail: detail.to_owned() }.into())
    }
}

impl Tree {
    /// Its id, if it is in a store.
    pub(super) fn object(&self) -> Option<ObjectId> {
        match self {
            Self::Object(id) => Some(*id),
            Self::Loose(_) => None,
        }
    }

    /// Lists its files. Does not read objects: their listing has the digests.
    pub(super) fn leaves(&self, store: Option<&Store>) -> Result<Leaves> {
        match (self, store) {
            (Self::Object(id), Some(store)) => {
                let object = store.object(*id)?;
                let leaf = |(path, entry): (&str, &crate::engine::tree::TreeEntry)| {
                    let (executable, link) = match &entry.kind {
                        EntryKind::File { exec, .. } => (*exec, None),
                        EntryKind::Link { target } => (false, Some(target.clone())),
                        EntryKind::Dir => return None,
                    };
                    let leaf = Leaf { digest: entry.digest, secret: entry.secret, executable, link };
                    Some((path.to_owned(), leaf))
                };
                let by_path = object.listing.leaves("").filter_map(leaf).collect();
                let key = object.listing.key.map(|id| store.key(id)).transpose()?.flatten();
                Ok(Leaves { root: object.path, by_path, is_file: false, key, is_object: true })
            }
            (Self::Object(_), None) => Ok(Leaves::default()),
            (Self::Loose(path), _) => loose(path),
        }
    }
}

/// Lists files outside a store with their current digests.
fn loose(root: &Path) -> Result<Leaves> {
    let name = root.file_name().map_or_else(|| "file".into(), |name| name.to_string_lossy().into_owned());
    let root = fs::canonical(root)?;
    let mut leaves = Leaves { root: root.clone(), ..Leaves::default() };
    if !fs::metadata(&root)?.is_dir() {
        leaves.is_file = true;
        leaves.by_path.extend(leaf(&root)?.map(|leaf| (name, leaf)));
        return Ok(leaves);
    }
    let mut open = vec![String::new()];
    while let Some(directory) = open.pop() {
        for (name, is_directory) in fs::list_kinds(&root.join(&directory))? {
            let name = name.to_string_lossy();
            let path = if directory.is_empty() { name.into_owned() } else { format!("{directory}/{name}") };
            if is_directory {
                open.push(path);
            } else {
                let found = leaf(&root.join(&path))?;
                leaves.by_path.extend(found.map(|leaf| (path, leaf)));
            }
        }
    }
    Ok(leaves)
}

/// A file or link; none for a device, socket or pipe, which have nothing to compare.
fn leaf(path: &Path) -> Result<Option<Leaf>> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() && !metadata.is_symlink() {
        return Ok(None);
    }
    let link = match metadata.is_symlink() {
        true => Some(fs::read_link(path)?.display().to_string()),
        false => None,
    };
    let digest = match &link {
        Some(target) => Digest::of(target.as_bytes()),
        None => Digest::of(&fs::read(path)?),
    };
    // `export` makes secret files readable by their owner only.
    let secret = link.is_none() && metadata.permissions().mode() & 0o077 == 0;
    let executable = link.is_none() && metadata.permissions().mode() & 0o100 != 0;
    Ok(Some(Leaf { digest, secret, executable, link }))
}
