//! Finds objects by id or prefix, reads their listings, and shares equal files.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use rayon::prelude::*;

use super::{Result, Store, StoreError};
use crate::base::digest::{ObjectId, TEXT_LENGTH, is_prefix};
use crate::base::fs;
use crate::engine::tree::{EntryKind, Listing, TreeEntry, Written};

/// The directory name of an object: `<id>-<name>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    pub id: ObjectId,
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.id, self.name)
    }
}

impl FromStr for ObjectName {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self> {
        let (id, name) = text.split_once('-').unwrap_or((text, ""));
        Ok(Self { id: id.parse()?, name: name.to_owned() })
    }
}

#[derive(Debug, Clone)]
pub struct Object {
    pub id: ObjectId,
    pub path: PathBuf,
    pub listing: Listing,
}

impl Store {
    /// Where an object of this name belongs.
    pub fn path_of(&self, name: &ObjectName) -> PathBuf {
        self.root.join(name.to_string())
    }

    /// The directory of an object; none if it is not in the store. `hint` is a name that it was seen under.
    pub fn find(&self, id: ObjectId, hint: &str) -> Result<Option<PathBuf>> {
        if !fs::exists(&self.manifest_path(id))? {
            return Ok(None); // no manifest: incomplete
        }
        let path = self.path_of(&ObjectName { id, name: hint.to_owned() });
        if fs::exists(&path)? {
            return Ok(Some(path));
        }
        let name = match self.manifest(id) {
            Ok(Some((name, _))) => name,
            Ok(None) | Err(StoreError::Damaged { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let path = self.path_of(&name);
        Ok(fs::exists(&path)?.then_some(path))
    }

    /// An object with its listing; fails if it does not exist.
    pub fn object(&self, id: ObjectId) -> Result<Object> {
        let Some((name, text)) = self.manifest(id)? else {
            return Err(StoreError::Collected { object: id });
        };
        let listing = parse_listing(id, &text)?;
        Ok(Object { id, path: self.path_of(&name), listing })
    }

    /// Name and listing text of an object, from its manifest.
    pub(super) fn manifest(&self, id: ObjectId) -> Result<Option<(ObjectName, String)>> {
        let Some(text) = fs::optional(fs::read_text(&self.manifest_path(id)))? else { return Ok(None) };
        let damaged = || StoreError::Damaged { object: id, source: None };
        let (first, listing) = text.split_once('\n').ok_or_else(damaged)?;
        let name: ObjectName =
            first.strip_prefix("object ").ok_or_else(damaged)?.parse().map_err(|_| damaged())?;
        if name.id != id {
            return Err(damaged());
        }
        Ok(Some((name, listing.to_owned())))
    }

    /// Every object directory, sorted by id.
    pub fn objects(&self) -> Result<Vec<ObjectName>> {
        let names = fs::list(&self.root)?;
        Ok(names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
    }

    /// The only object whose directory name starts with `prefix`: an id, part of an id, or a whole directory name.
    pub fn by_prefix(&self, prefix: &str) -> Result<ObjectName> {
        let id = prefix.get(..TEXT_LENGTH).unwrap_or(prefix);
        if !is_prefix(id) {
            return Err(StoreError::NoSuchObject { prefix: prefix.to_owned() });
        }
        let mut found: Vec<ObjectName> =
            self.objects()?.into_iter().filter(|name| name.to_string().starts_with(prefix)).collect();
        found.dedup_by_key(|name| name.id);
        match found.len() {
            0 => Err(StoreError::NoSuchObject { prefix: prefix.to_owned() }),
            1 => Ok(found.remove(0)),
            _ => Err(StoreError::Ambiguous {
                prefix: prefix.to_owned(),
                found: found.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    /// The path of the shared copy of a file's content.
    pub(super) fn link_path(&self, entry: &TreeEntry) -> PathBuf {
        let exec = matches!(entry.kind, EntryKind::File { exec: true, .. });
        self.part("links").join(format!("{}{}", entry.digest, if exec { ".x" } else { "" }))
    }

    /// Replaces files that the store already has with hard links, and makes the others available for sharing.
    ///
    /// Skips empty files: they take no space, and every file system limits the number of links.
    pub(super) fn share(&self, tree: &Written) -> Result<()> {
        let fresh: Vec<(&str, &TreeEntry)> = tree.fresh().filter(|(_, entry)| entry.size() > 0).collect();
        fresh.par_iter().with_min_len(64).try_for_each(|(path, entry)| {
            let ours = tree.root.join(path);
            let kept = self.link_path(entry);
            match fs::hard_link(&ours, &kept) {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let temporary = ours.with_file_name(format!(".{}", fs::random_name()));
                    match fs::hard_link(&kept, &temporary) {
                        Ok(()) => {
                            fs::rename(&temporary, &ours)?;
                            // If ours was the same inode, rename did nothing.
                            fs::optional(fs::remove_file(&temporary))?;
                            Ok(())
                        }
                        // Too many links, or gc removed it just now: keep our copy.
                        Err(error) if is_no_link(error.kind()) => Ok(()),
                        Err(error) => Err(error.into()),
                    }
                }
                Err(error) if is_no_link(error.kind()) => Ok(()),
                Err(error) => Err(error.into()),
            }
        })
    }
}

/// Reasons not to share a file that are not failures.
fn is_no_link(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::TooManyLinks | io::ErrorKind::NotFound | io::ErrorKind::Unsupported)
}

/// Parses a listing and checks that it belongs to the object.
pub(super) fn parse_listing(id: ObjectId, text: &str) -> Result<Listing> {
    let listing =
        Listing::parse(text).map_err(|source| StoreError::Damaged { object: id, source: Some(source) })?;
    if listing.id() == id { Ok(listing) } else { Err(StoreError::Damaged { object: id, source: None }) }
}
