//! The cluster's seed, in one of two forms:
//!
//! ```text
//! cluster.seed       32 random bytes, readable by their owner only; ignored by git
//! cluster.seed.age   the same, encrypted for named recipients; a text that can be committed
//! ```
//!
//! Created once, never printed, never in the store. Exactly one form exists, except while one is converted to the
//! other: the new file is complete and durable before the old one is removed, so an interruption leaves at least one
//! good seed.
//!
//! A lock names the seed that it was written with by its fingerprint. With a lock, a missing or another seed is an error:
//! a new one would silently be a new cluster.

mod given;
pub(crate) mod sealed;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use zeroize::Zeroizing;

use super::{Env, Result, SEALED, SEED, WorkspaceError};
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems};
use crate::base::secret::{KEY_LENGTH, Seed};
use crate::openshift::lock::Lock;

pub(crate) use given::GivenSeed;

/// The advice for a damaged seed.
const RESTORE: &str = "restore it from your backup: a new seed is a new cluster";

/// What git must not see: the seed, hidden files that interrupted writes of it leave behind, the pull secret, keys of the
/// user's own authorities; and the link to the last build.
const IGNORED: [&str; 5] = ["/cluster.seed", "/.cluster.seed.*", "/pull-secret*", "*.key", "/result"];

/// The form of a cluster directory's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `cluster.seed`.
    Plain,
    /// `cluster.seed.age`.
    Sealed,
}

/// The existing form; none if there is no seed. Rejects both at once, because it is unclear which one counts.
pub(crate) fn form(directory: &Path) -> Result<Option<Form>> {
    match (fs::exists(&directory.join(SEED))?, fs::exists(&directory.join(SEALED))?) {
        (false, false) => Ok(None),
        (true, false) => Ok(Some(Form::Plain)),
        (false, true) => Ok(Some(Form::Sealed)),
        (true, true) => Err(WorkspaceError::Seed {
            path: directory.join(SEED),
            problem: "has an encrypted one beside it, cluster.seed.age",
            advice: "`tinderbox seed encrypt -r RECIPIENT` keeps the encrypted one, `tinderbox seed decrypt` the plain one"
                .into(),
        }),
    }
}

/// Reads the seed that the user gave, or the directory's own in either form; none if there is none. Rejects a seed other
/// than the one that the lock names.
pub(crate) fn read(env: Env<'_>, directory: &Path, lock: Option<&Lock>) -> Result<Option<Seed>> {
    let (seed, path) = match (env.seed, form(directory)?) {
        (Some(given), _) => (given.open(env)?, given.name().into()),
        (None, None) => return Ok(None),
        (None, Some(Form::Plain)) => (read_plain(directory)?, directory.join(SEED)),
        (None, Some(Form::Sealed)) => (sealed::open(env, &directory.join(SEALED))?, directory.join(SEALED)),
    };
    let found = seed.fingerprint();
    match lock.and_then(|lock| lock.seed) {
        Some(wanted) if wanted != found => Err(WorkspaceError::Seed {
            path,
            problem: "is not the one that cluster.lock was written with",
            advice: format!(
                "its fingerprint is {found:.12}…, and the lock has {wanted:.12}…: restore that seed; \
                 `tinderbox lock --update seed` makes this one the cluster's, with other keys"
            ),
        }),
        _ => Ok(Some(seed)),
    }
}

/// The same, but none for an encrypted seed that nobody gave an identity for.
pub(crate) fn read_if_open(env: Env<'_>, directory: &Path, lock: Option<&Lock>) -> Result<Option<Seed>> {
    match (env.seed, env.identity, form(directory)?) {
        (None, None, Some(Form::Sealed)) => Ok(None),
        _ => read(env, directory, lock),
    }
}

/// The error for a lock whose seed is gone.
pub(crate) fn lost(directory: &Path) -> WorkspaceError {
    WorkspaceError::Seed {
        path: directory.join(SEED),
        problem: "is missing, and cluster.lock was written with one",
        advice: "restore it from your backup, or name it with `--seed FILE`; `tinderbox seed new --yes` makes another one, \
                 and so another cluster with other keys"
            .into(),
    }
}

/// Whether there is a seed, without opening an encrypted one. An unusable plain seed is an error.
pub(crate) fn is_there(env: Env<'_>, directory: &Path) -> Result<bool> {
    if env.seed.is_some() {
        return Ok(true);
    }
    Ok(match form(directory)? {
        None => false,
        Some(Form::Plain) => read_plain(directory).map(|_| true)?,
        Some(Form::Sealed) => true,
    })
}

/// Reads the plain form.
pub(crate) fn read_plain(directory: &Path) -> Result<Seed> {
    read_file(&directory.join(SEED))
}

/// Reads a file with a plain seed. Rejects one that others can read.
pub(crate) fn read_file(path: &Path) -> Result<Seed> {
    let found = fs::metadata(path)?;
    let wrong =
        |problem, advice: String| Err(WorkspaceError::Seed { path: path.to_owned(), problem, advice });
    if !found.is_file() {
        return wrong("is not a plain file", "put the file itself there".into());
    }
    if fs::others_may(path)? {
        let advice = format!("if nobody else has read it: `chmod 600 {}`", path.display());
        return wrong("can be read by others", advice);
    }
    if found.size() != KEY_LENGTH as u64 {
        return wrong("is not 32 bytes long", RESTORE.into());
    }
    match from_bytes(&Zeroizing::new(fs::read(path)?)) {
        Some(seed) => Ok(seed),
        None => wrong("is not 32 bytes long", RESTORE.into()),
    }
}

/// Converts bytes of the right length to a seed.
fn from_bytes(bytes: &[u8]) -> Option<Seed> {
    let mut seed = Zeroizing::new([0; KEY_LENGTH]);
    (bytes.len() == KEY_LENGTH).then(|| {
        seed.copy_from_slice(bytes);
        Seed::new(seed)
    })
}

/// Creates the seed of a cluster directory that has none, and makes git ignore it.
pub(crate) fn make(directory: &Path) -> Result<Seed> {
    make_file(&directory.join(SEED), &IGNORED)
}

/// Creates a file with a new seed, and makes git ignore it and the like.
pub(crate) fn make_file(path: &Path, ignored: &[&str]) -> Result<Seed> {
    let mut seed = Zeroizing::new([0; KEY_LENGTH]);
    getrandom::fill(seed.as_mut()).map_err(|_| WorkspaceError::Seed {
        path: path.to_owned(),
        problem: "cannot be made: the system has no randomness",
        advice: "check that getrandom(2) works here".into(),
    })?;
    ignore_files(path.parent().unwrap_or(Path::new(".")), ignored)?;
    fs::write_whole(path, seed.as_ref(), 0o600)?;
    Ok(Seed::new(seed))
}

/// A temporary seed, for a dry run in a directory that has none.
pub(crate) fn imagined() -> Seed {
    Seed::new(Zeroizing::new([0; KEY_LENGTH]))
}

/// Makes git ignore what must not be committed.
pub(crate) fn ignore(directory: &Path) -> Result<()> {
    ignore_files(directory, &IGNORED)
}

fn ignore_files(directory: &Path, ignored: &[&str]) -> Result<()> {
    let path = directory.join(".gitignore");
    // Its text is written anew, for everybody to read.
    if fs::followed(&path).is_some() && fs::is_link_to_private(&path)? {
        let problem =
            Problem::new(Place::file(".gitignore"), "it is a link to a file that not everybody may read");
        let hint = "replace it with a file of this directory".to_owned();
        return Err(Problems(vec![problem.hint(hint)]).into());
    }
    let text = fs::optional(fs::read_text(&path))?.unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(|line| line.trim().trim_start_matches('/')).collect();
    let missing: Vec<&str> =
        ignored.iter().copied().filter(|line| !lines.contains(&line.trim_start_matches('/'))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let header = if text.is_empty() {
        "# Secrets, and what only this machine has. Commit everything else.\n"
    } else {
        ""
    };
    Ok(fs::replace(&path, format!("{text}{newline}{header}{}\n", missing.join("\n")).as_bytes(), 0o644)?)
}
