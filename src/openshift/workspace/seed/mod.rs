//! The cluster's seed, in one of two forms:
//!
//! ```text
//! cluster.seed       32 random bytes, for their owner only; ignored by git
//! cluster.seed.age   the same, encrypted for named recipients; a text that can be committed
//! ```
//!
//! Made once, never printed, never in the store. Exactly one form is there, but for the moment in which one becomes the
//! other: the new file is whole and durable before the old one goes, so an interruption leaves at least one good seed.

pub(crate) mod sealed;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use zeroize::Zeroizing;

use super::{Env, Result, SEALED, SEED, WorkspaceError};
use crate::base::fs;
use crate::base::secret::{KEY_LENGTH, Seed};

/// What to do about a seed that is damaged.
const RESTORE: &str = "restore it from your backup: a new seed is a new cluster";

/// What interrupted writes leave of either form: a hidden file beside it.
const LEFTOVERS: &str = ".cluster.seed.*";

/// In which form a cluster directory has its seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `cluster.seed`.
    Plain,
    /// `cluster.seed.age`.
    Sealed,
}

/// Which form is there; none if there is no seed. Both are refused: nobody could say which one counts.
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

/// Reads the seed of a cluster directory in whichever form it is; none if there is none.
pub(crate) fn read(env: Env<'_>, directory: &Path) -> Result<Option<Seed>> {
    match form(directory)? {
        None => Ok(None),
        Some(Form::Plain) => read_plain(directory).map(Some),
        Some(Form::Sealed) => sealed::open(env, &directory.join(SEALED)).map(Some),
    }
}

/// Whether there is a seed, without opening an encrypted one. A plain one that cannot be used is an error.
pub(crate) fn is_there(directory: &Path) -> Result<bool> {
    Ok(match form(directory)? {
        None => false,
        Some(Form::Plain) => read_plain(directory).map(|_| true)?,
        Some(Form::Sealed) => true,
    })
}

/// Reads the plain form. One that others can read is refused.
pub(crate) fn read_plain(directory: &Path) -> Result<Seed> {
    let path = directory.join(SEED);
    let found = fs::metadata(&path)?;
    let wrong = |problem, advice: String| Err(WorkspaceError::Seed { path: path.clone(), problem, advice });
    if !found.is_file() {
        return wrong("is not a plain file", "put the file itself there".into());
    }
    if fs::others_may(&path)? {
        let advice = format!("if nobody else has read it: `chmod 600 {}`", path.display());
        return wrong("can be read by others", advice);
    }
    if found.size() != KEY_LENGTH as u64 {
        return wrong("is not 32 bytes long", RESTORE.into());
    }
    match from_bytes(&Zeroizing::new(fs::read(&path)?)) {
        Some(seed) => Ok(seed),
        None => wrong("is not 32 bytes long", RESTORE.into()),
    }
}

/// Bytes as a seed, if they are as many as one has.
fn from_bytes(bytes: &[u8]) -> Option<Seed> {
    let mut seed = Zeroizing::new([0; KEY_LENGTH]);
    (bytes.len() == KEY_LENGTH).then(|| {
        seed.copy_from_slice(bytes);
        Seed::new(seed)
    })
}

/// Makes the seed of a cluster directory that has none, and keeps git away from it.
pub(crate) fn make(directory: &Path) -> Result<Seed> {
    let mut seed = Zeroizing::new([0; KEY_LENGTH]);
    let path = directory.join(SEED);
    getrandom::fill(seed.as_mut()).map_err(|_| WorkspaceError::Seed {
        path: path.clone(),
        problem: "cannot be made: the system has no randomness",
        advice: "check that getrandom(2) works here".into(),
    })?;
    ignore(directory)?;
    fs::write_whole(&path, seed.as_ref(), 0o600)?;
    Ok(Seed::new(seed))
}

/// A seed that nobody keeps, for a dry run in a directory that has none.
pub(crate) fn imagined() -> Seed {
    Seed::new(Zeroizing::new([0; KEY_LENGTH]))
}

/// Makes sure that git ignores what must not be committed.
pub(crate) fn ignore(directory: &Path) -> Result<()> {
    let path = directory.join(".gitignore");
    let text = fs::optional(fs::read_text(&path))?.unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(|line| line.trim().trim_start_matches('/')).collect();
    let wanted = [SEED, LEFTOVERS, "result"];
    let missing: Vec<&str> = wanted.into_iter().filter(|name| !lines.contains(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let added: String = missing.iter().map(|name| format!("/{name}\n")).collect();
    Ok(fs::replace(&path, format!("{text}{newline}{added}").as_bytes(), 0o644)?)
}
