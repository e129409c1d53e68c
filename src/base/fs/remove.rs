//! Removes trees of any depth and any mode: by descriptor, because a path has at most 4,096 bytes and a tree may not.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::{At as _, Dir, Error, Result, fault, metadata, optional, random_name, remove_file, set_mode};

/// Levels that are removed from the inside out. What is deeper is moved up first, so that few descriptors are open.
const LEVELS: usize = 32;

/// Removes a path recursively, including read-only directories; a missing path is fine.
pub fn remove_all(path: &Path) -> Result<()> {
    let Some(found) = optional(metadata(path))? else { return Ok(()) };
    fault::point().at("remove", path)?;
    if !found.is_dir() {
        return optional(remove_file(path)).map(Option::unwrap_or_default);
    }
    if found.mode() & 0o700 != 0o700 {
        optional(set_mode(path, 0o700))?;
    }
    // Another process may be removing it too.
    let Some(top) = optional(Dir::open_itself(path))? else { return Ok(()) };
    while empty(&top, &top, 0)? {}
    match std::fs::remove_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::new("remove", path, error)),
        _ => Ok(()),
    }
}

/// Removes the content of a directory. True if something was moved up to `top` and remains there.
fn empty(top: &Dir, dir: &Dir, level: usize) -> Result<bool> {
    let mut moved = false;
    for name in optional(dir.names())?.unwrap_or_default() {
        if dir.unlink(&name)? {
            continue;
        }
        let Some(below) = dir.dir_to_empty(&name)? else { continue };
        if level >= LEVELS {
            optional(dir.rename(&name, top, &format!(".{}", random_name())))?;
            moved = true;
        } else {
            moved |= empty(top, &below, level + 1)?;
            dir.remove_dir(&name)?;
        }
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::base::fs::{create_dirs, exists, write_new};

    #[test]
    fn remove_all_takes_read_only_trees() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        create_dirs(&tree.join("a/b")).unwrap();
        write_new(&tree.join("a/b/file"), b"", 0o400).unwrap();
        set_mode(&tree.join("a/b"), 0o500).unwrap();
        set_mode(&tree, 0o500).unwrap();
        remove_all(&tree).unwrap();
        assert!(!exists(&tree).unwrap());
        remove_all(&tree).unwrap();
    }

    /// Deeper than any path can say, read-only, and with a link out of it.
    #[test]
    fn remove_all_takes_trees_that_no_path_reaches() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        create_dirs(&tree).unwrap();
        let kept = dir.path().join("kept");
        create_dirs(&kept.join("inside")).unwrap();
        let mut at = Dir::open(&tree).unwrap();
        for level in 0..5000 {
            let below = at.create_dirs("a-directory").unwrap();
            at.write(OsStr::new("file"), b"", 0o400).unwrap();
            if level % 7 == 0 {
                at.set_mode(OsStr::new("a-directory"), 0o500).unwrap();
                at.set_mode(OsStr::new("a-directory"), 0o700).unwrap();
            }
            at = below;
        }
        crate::base::fs::symlink(&kept, &tree.join("link")).unwrap();
        remove_all(&tree).unwrap();
        assert!(!exists(&tree).unwrap() && exists(&kept.join("inside")).unwrap());
    }
}
