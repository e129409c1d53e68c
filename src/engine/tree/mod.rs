//! File trees: what they may contain, and how they become an id.
//!
//! | what | digest |
//! |---|---|
//! | public file | plain BLAKE3 of its bytes (`b3sum` agrees) |
//! | secret file | keyed BLAKE3 of its bytes |
//! | link | like a file that contains its target |
//! | directory | BLAKE3 over its sorted entries: kind with exec bit, secret bit, name, digest |
//!
//! A directory is secret if anything below it is; then its digest is keyed. The digest of the root is the object's id.
//! Times, owners and the other permission bits are canonical in the store and not part of any digest.

mod listing;
mod patched;
mod scratch;
mod writer;

use std::collections::BTreeMap;

pub(crate) use listing::{Listing, ListingError};
pub(crate) use scratch::{FillError, Scratch};
pub(crate) use writer::{TreeError, TreeWriter, Written};

use crate::base::digest::Digest;
use crate::base::fs;
use crate::base::secret::IdKey;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A file; the exec bit is the only significant permission bit.
    File {
        exec: bool,
        /// In bytes.
        size: u64,
    },
    Dir,
    /// A symbolic link that stays inside the tree.
    Link {
        /// Relative.
        target: String,
    },
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    pub kind: EntryKind,
    /// Whether only its owner may read it; its digest is keyed then.
    pub secret: bool,
    pub digest: Digest,
}

impl TreeEntry {
    /// The permission bits of this entry in the store.
    pub fn mode(&self) -> u32 {
        match (&self.kind, self.secret) {
            (EntryKind::File { exec: false, .. }, false) => 0o444,
            (EntryKind::File { exec: true, .. } | EntryKind::Dir, false) => 0o555,
            (EntryKind::File { exec: false, .. }, true) => 0o400,
            (EntryKind::File { exec: true, .. } | EntryKind::Dir, true) => 0o500,
            (EntryKind::Link { .. }, _) => 0o777,
        }
    }

    /// In bytes; zero unless it is a file.
    pub fn size(&self) -> u64 {
        match self.kind {
            EntryKind::File { size, .. } => size,
            _ => 0,
        }
    }

    fn tag(&self) -> u8 {
        match self.kind {
            EntryKind::File { exec: false, .. } => b'f',
            EntryKind::File { exec: true, .. } => b'x',
            EntryKind::Dir => b'd',
            EntryKind::Link { .. } => b'l',
        }
    }
}

/// How a tree is hashed: plain for public entries, keyed for secret ones.
#[derive(Debug, Clone, Copy)]
pub struct Hashing<'a>(pub Option<&'a IdKey>);

impl Hashing<'_> {
    /// A hasher for a file's bytes or a link's target. None if the entry is secret and there is no key.
    pub fn content(&self, secret: bool) -> Option<blake3::Hasher> {
        match (secret, self.0) {
            (false, _) => Some(blake3::Hasher::new()),
            (true, Some(key)) => Some(key.hasher("tinderbox 2026-11-16 secret file v1")),
            (true, None) => None,
        }
    }

    fn directory(&self, secret: bool) -> Option<blake3::Hasher> {
        match (secret, self.0) {
            (false, _) => Some(blake3::Hasher::new_derive_key("tinderbox 2026-11-16 directory v1")),
            (true, Some(key)) => Some(key.hasher("tinderbox 2026-11-16 secret directory v1")),
            (true, None) => None,
        }
    }

    /// Digest of a directory with these entries, by name. None if one is secret and there is no key.
    fn digest_directory(&self, entries: &BTreeMap<&str, &TreeEntry>) -> Option<TreeEntry> {
        let secret = entries.values().any(|entry| entry.secret);
        let mut hasher = self.directory(secret)?;
        hasher.update(&(entries.len() as u64).to_le_bytes());
        for (name, entry) in entries {
            hasher.update(&[entry.tag(), u8::from(entry.secret)]);
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(entry.digest.as_bytes());
        }
        Some(TreeEntry { kind: EntryKind::Dir, secret, digest: hasher.finalize().into() })
    }

    /// Adds the entries of all directories, including the root (`""`), to a map of files and links by path.
    ///
    /// The map already has empty directories, with any digest; missing parents are added.
    fn close(&self, entries: &mut BTreeMap<String, TreeEntry>) -> Option<()> {
        let mut directories: BTreeMap<String, Vec<String>> = BTreeMap::from([(String::new(), Vec::new())]);
        for (path, entry) in entries.iter() {
            if matches!(entry.kind, EntryKind::Dir) {
                directories.entry(path.clone()).or_default();
            }
            let mut child = path.as_str();
            while !child.is_empty() {
                let (parent, name) = child.rsplit_once('/').unwrap_or(("", child));
                let known = directories.contains_key(parent);
                directories.entry(parent.to_owned()).or_default().push(name.to_owned());
                if known {
                    break;
                }
                child = parent;
            }
        }
        // Deepest first: a path sorts before its children, so reverse order closes children before parents.
        for (path, names) in directories.iter().rev() {
            let children: BTreeMap<&str, &TreeEntry> = names
                .iter()
                .map(|name| {
                    let child = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                    entries.get(&child).map(|entry| (name.as_str(), entry))
                })
                .collect::<Option<_>>()?;
            let closed = self.digest_directory(&children)?;
            entries.insert(path.clone(), closed);
        }
        Some(())
    }
}

/// Why a path cannot be in a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct PathError {
    pub reason: &'static str,
}

/// The last component of a path.
pub(crate) fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Maximum length of a path in a tree, in bytes: with the store's own path before it, the system takes it.
pub(crate) const PATH_LENGTH: usize = 2048;

/// Maximum number of components of a path in a tree.
pub(crate) const PATH_DEPTH: usize = fs::DEPTH;

/// Rejects paths that are absolute, empty, climb, are too long, or would be misread on a terminal.
pub(crate) fn check_path(path: &str) -> Result<(), PathError> {
    let refuse = |reason| Err(PathError { reason });
    if path.is_empty() {
        return refuse("a path may not be empty");
    }
    if path.starts_with('/') {
        return refuse("a path may not be absolute");
    }
    if path.chars().any(char::is_control) {
        return refuse("a path may not contain control characters");
    }
    if path.len() > PATH_LENGTH || path.split('/').nth(PATH_DEPTH).is_some() {
        return refuse("a path may not be longer than 2048 bytes or deeper than 128 directories");
    }
    for segment in path.split('/') {
        match segment {
            "" => return refuse("a path may not have empty components"),
            "." | ".." => return refuse("a path may not contain `.` or `..`"),
            long if long.len() > 255 => {
                return refuse("a component of a path may not be longer than 255 bytes");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Rejects link targets that are absolute or leave the tree. `path` is where the link is.
pub(crate) fn check_link(path: &str, target: &str) -> Result<(), PathError> {
    if target.is_empty() || target.chars().any(char::is_control) {
        return Err(PathError { reason: "a link's target may not be empty or contain control characters" });
    }
    if target.starts_with('/') {
        return Err(PathError { reason: "a link may not be absolute: it would leave the store" });
    }
    let mut depth = path.split('/').count() as i64 - 1;
    for segment in target.split('/') {
        match segment {
            ".." => depth -= 1,
            "" | "." => {}
            _ => depth += 1,
        }
        if depth < 0 {
            return Err(PathError { reason: "a link may not leave its tree" });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> TreeEntry {
        TreeEntry {
            kind: EntryKind::File { exec: false, size: content.len() as u64 },
            secret: false,
            digest: Digest::of(content),
        }
    }

    fn close(entries: &[(&str, TreeEntry)]) -> BTreeMap<String, TreeEntry> {
        let mut map = entries.iter().map(|(path, entry)| ((*path).to_owned(), entry.clone())).collect();
        Hashing(Some(&IdKey::from_seed(&[7; 32]))).close(&mut map).unwrap();
        map
    }

    /// Literal digests: changing one changes the id of every object in every store.
    #[test]
    fn object_ids_are_pinned() {
        let root = |entries: &[(&str, TreeEntry)]| close(entries)[""].digest.to_string();
        let secret = TreeEntry { secret: true, ..file(b"key") };
        insta::assert_debug_snapshot!([
            root(&[]),
            root(&[("a", file(b"x"))]),
            root(&[("a/b", file(b"x")), ("a.b", file(b"y")), ("a/c/d", file(b""))]),
            root(&[("a", file(b"x")), ("key", secret)]),
        ], @r#"
        [
            "ujfrrntkuti56b4rdptm2ea2tm3laqmwuovaamq2bk2yfi3y7wzq",
            "esgaymecy6g6f3axeu2pqzs7iiumu6sprmp2gaxq6jdu5poz5dda",
            "brexmtkkwewgfoxpw5lqtwmdvqxzdqdzfz4pvv5v4lqksj6kd2bq",
            "qoer6bc7mtcx3zmovxo4og2upjhnejegpfhut7llsctj2n22qbma",
        ]
        "#);
    }

    #[test]
    fn secrecy_climbs_to_the_root_and_not_sideways() {
        let secret = TreeEntry { secret: true, ..file(b"key") };
        let map = close(&[("pki/ca.crt", file(b"x")), ("auth/deep/key", secret)]);
        assert!(map[""].secret && map["auth"].secret && map["auth/deep"].secret);
        assert!(!map["pki"].secret);
    }

    #[test]
    fn paths_have_a_length_and_a_depth() {
        assert_eq!(check_path(&vec!["a"; PATH_DEPTH].join("/")), Ok(()));
        assert!(check_path(&vec!["a"; PATH_DEPTH + 1].join("/")).is_err());
        assert!(check_path(&vec!["a"; 100_000].join("/")).is_err());
        assert!(check_path(&vec!["a".repeat(255); 9].join("/")).is_err());
    }

    #[test]
    fn paths_and_links_stay_inside() {
        for good in ["a", "a/b.c", "x-1/ü"] {
            assert_eq!(check_path(good), Ok(()), "{good}");
        }
        for bad in ["", "/a", "a//b", "a/../b", ".", "a/", "a\nb", "\u{1b}[31m"] {
            assert!(check_path(bad).is_err(), "{bad:?}");
        }
        assert!(check_link("a/b", "../c").is_ok());
        assert!(check_link("a/b", "../../c").is_err());
        assert!(check_link("a", "b/../../c").is_err());
        assert!(check_link("a", "/etc/passwd").is_err());
    }
}
