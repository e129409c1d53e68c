//! Classifies the files of the store as public or secret. Files without a manifest are public.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Unread;
use crate::base::fs;
use crate::engine::store::{ObjectName, Result, Store};

/// The files to search, and the files with secrets.
#[derive(Default)]
pub(super) struct ScanWalk {
    /// Files to search, with their sizes.
    pub(super) public: Vec<(PathBuf, u64)>,
    /// Files whose secrets to search for, with their names.
    pub(super) secret: Vec<(String, PathBuf)>,
    /// Files and directories that cannot be read.
    pub(super) unread: Vec<Unread>,
    seen: BTreeSet<(u64, u64)>,
}

impl Store {
    /// Classifies everything in the store but `keys/` and `downloads/`.
    pub(super) fn walk(&self, walk: &mut ScanWalk) -> Result<()> {
        for name in fs::list(self.root())? {
            let path = self.root().join(&name);
            if name == ".tinderbox" {
                continue;
            }
            let object = name.to_str().and_then(|name| name.parse::<ObjectName>().ok());
            let listing =
                object.as_ref().and_then(|name| self.object(name.id).ok()).map(|object| object.listing);
            let (Some(object), Some(listing)) = (object, listing) else {
                walk.add(&path, &|_, _| true);
                continue;
            };
            let is_secret = |file: &Path| {
                let below = file.strip_prefix(&path).ok().and_then(Path::to_str);
                below.and_then(|below| listing.get(below)).is_some_and(|entry| entry.secret)
            };
            walk.add(&path, &|file, _| !is_secret(file));
            for (below, _) in listing.leaves("").filter(|(_, entry)| entry.secret && entry.size() > 0) {
                walk.secret.push((format!("{}:{below}", object.name), path.join(below)));
            }
        }
        let secret: BTreeSet<u64> =
            walk.secret.iter().filter_map(|(_, path)| Some(fs::metadata(path).ok()?.ino())).collect();
        for part in fs::list(&self.part("")).unwrap_or_default() {
            let path = self.part("").join(&part);
            match part.to_str() {
                // What others made and a digest verifies has nothing of ours in it, and is large.
                Some("keys" | "downloads") => {}
                // Shared file contents and outputs in progress: secret ones are readable by their owner only.
                Some("links" | "tmp") => walk.add(&path, &|file, mode| {
                    mode & 0o077 != 0 && !fs::metadata(file).is_ok_and(|found| secret.contains(&found.ino()))
                }),
                _ => walk.add(&path, &|_, _| true),
            }
        }
        Ok(())
    }
}

impl ScanWalk {
    /// Adds the wanted files at or below a path, by path and mode. Each inode once; does not follow links.
    pub(super) fn add(&mut self, path: &Path, wanted: &dyn Fn(&Path, u32) -> bool) {
        let found = match fs::optional(fs::metadata(path)) {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(error) => {
                return self.unread.push(Unread::new(path, &error));
            }
        };
        if found.is_dir() {
            match fs::optional(fs::list(path)) {
                Ok(names) => {
                    names.unwrap_or_default().iter().for_each(|name| self.add(&path.join(name), wanted))
                }
                Err(error) => self.unread.push(Unread::new(path, &error)),
            }
        } else if found.is_file()
            && wanted(path, found.mode())
            && self.seen.insert((found.dev(), found.ino()))
        {
            self.public.push((path.into(), found.len()));
        }
    }
}
