//! `export`: a plain copy of an artifact tree. Secrets are readable by their owner only.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::Jobs;
use super::document::{Document, Documented};
use super::output::{count, line};
use super::{Error, Printer, Result, build};
use crate::base::fs;
use crate::engine::tree::EntryKind;
use crate::openshift::workspace::{self, Env, WorkspaceError};

/// Copy an artifact tree to a plain directory; secrets get mode 0600
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A new or an empty directory
    dir: PathBuf,
    /// What to export
    #[arg(default_value = "cluster")]
    target: String,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Exported>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = export(env, &self.target, &self.dir, self.jobs.count())?;
        Ok(printer.answer(&done, || {
            let Exported { directory, files, secret } = &done;
            line(format!("{}: {}, {secret} of them secret", directory.display(), count(*files, "file")));
        }))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Exported {
    directory: PathBuf,
    files: usize,
    secret: usize,
}

/// The directory comes first: says so if it looks like a target, and the target is none.
fn in_order(error: Error, to: &Path) -> Error {
    match error {
        Error::Workspace(WorkspaceError::NoTarget { target, near: None }) => {
            let advice = format!("the directory comes first: `tinderbox export DIR {}`", to.display());
            Error::usage(format!("there is no derivation `{target}`"), advice)
        }
        error => error,
    }
}

/// Builds a target if necessary, and copies it to a new or empty directory.
fn export(env: Env<'_>, target: &str, to: &Path, jobs: usize) -> Result<Exported> {
    if fs::optional(fs::list(to))?.is_some_and(|names| !names.is_empty()) {
        return Err(Error::NotEmpty { path: to.to_owned() });
    }
    let report =
        build::build_or_fail(env, vec![target.to_owned()], jobs).map_err(|error| in_order(error, to))?;
    let [built] = report.targets.as_slice() else {
        let message = format!("`{target}` is a folder of {}", count(report.targets.len(), "derivation"));
        return Err(Error::usage(message, "export one, for example `cluster`"));
    };
    let store = workspace::open_store(env.store, env.directory)?;
    let object = store.object(built.object)?;
    store.verify_part(&object, "")?;
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
