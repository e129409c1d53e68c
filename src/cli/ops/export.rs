//! `export`: a plain copy of an artifact tree, to take elsewhere. Secrets are for their owner only.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Env, OpsError, Result, build, workspace};
use crate::base::fs;
use crate::engine::tree::EntryKind;

#[derive(Debug, Serialize)]
pub(crate) struct Exported {
    pub directory: PathBuf,
    pub files: usize,
    /// How many of them are secret.
    pub secret: usize,
}

/// Builds a target if need be, and copies it to a directory that is new or empty.
pub(crate) fn export(env: Env<'_>, target: &str, to: &Path, jobs: usize) -> Result<Exported> {
    if fs::optional(fs::list(to))?.is_some_and(|names| !names.is_empty()) {
        let advice = "export to a new or an empty directory";
        return Err(OpsError::Exists { path: to.to_owned(), advice });
    }
    let report = build::whole(env, vec![target.to_owned()], jobs)?;
    let [built] = report.targets.as_slice() else {
        let message = format!("`{target}` is {} derivations", report.targets.len());
        return Err(OpsError::Usage { message, advice: Some("export one, for example `cluster`".into()) });
    };
    let store = workspace::open(env.store, env.directory)?;
    let object = store.object(built.object)?;
    fs::create_dirs(to)?;
    let (mut files, mut secret) = (0, 0);
    for (path, entry) in object.listing.entries().filter(|(path, _)| !path.is_empty()) {
        let (from, to) = (object.path.join(path), to.join(path));
        match &entry.kind {
            EntryKind::Dir => fs::create_dir(&to, if entry.secret { 0o700 } else { 0o755 })?,
            EntryKind::Link { target } => fs::symlink(Path::new(target), &to)?,
            EntryKind::File { exec, .. } => {
                let mode = match (entry.secret, exec) {
                    (true, false) => 0o600,
                    (true, true) => 0o700,
                    (false, false) => 0o644,
                    (false, true) => 0o755,
                };
                fs::copy_new(&from, &to, mode)?;
                files += 1;
                secret += usize::from(entry.secret);
            }
        }
    }
    Ok(Exported { directory: fs::canonical(to)?, files, secret })
}
