//! `cluster.seed`: 32 random bytes, for their owner only. Made once, never printed, never in the store.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use zeroize::Zeroizing;

use super::directory::SEED;
use super::{OpsError, Result};
use crate::fs;
use crate::secret::{KEY_LENGTH, Seed};

/// Reads the seed of a cluster directory; none if there is none. One that others can read is refused.
pub(super) fn read(directory: &Path) -> Result<Option<Seed>> {
    let path = directory.join(SEED);
    let Some(found) = fs::optional(fs::metadata(&path))? else { return Ok(None) };
    let wrong = |problem, advice: String| Err(OpsError::Seed { path: path.clone(), problem, advice });
    if !found.is_file() {
        return wrong("is not a plain file", "put the file itself there".into());
    }
    if found.permissions().mode() & 0o077 != 0 {
        let advice = format!("if nobody else has read it: `chmod 600 {}`", path.display());
        return wrong("can be read by others", advice);
    }
    if found.size() != KEY_LENGTH as u64 {
        return wrong(
            "is not 32 bytes long",
            "restore it from your backup: a new seed is a new cluster".into(),
        );
    }
    let bytes = Zeroizing::new(fs::read(&path)?);
    let mut seed = Zeroizing::new([0; KEY_LENGTH]);
    seed.copy_from_slice(&bytes);
    Ok(Some(Seed::new(seed)))
}

/// Makes the seed of a cluster directory that has none, and keeps git away from it.
pub(super) fn make(directory: &Path) -> Result<Seed> {
    let mut seed = Zeroizing::new([0; KEY_LENGTH]);
    let path = directory.join(SEED);
    getrandom::fill(seed.as_mut()).map_err(|_| OpsError::Seed {
        path: path.clone(),
        problem: "cannot be made: the system has no randomness",
        advice: "check that getrandom(2) works here".into(),
    })?;
    ignore(directory)?;
    fs::write_whole(&path, seed.as_ref(), 0o600)?;
    Ok(Seed::new(seed))
}

/// A seed that nobody keeps, for a dry run in a directory that has none.
pub(super) fn imagined() -> Seed {
    Seed::new(Zeroizing::new([0; KEY_LENGTH]))
}

/// Makes sure that git ignores what must not be committed.
pub(super) fn ignore(directory: &Path) -> Result<()> {
    let path = directory.join(".gitignore");
    let text = fs::optional(fs::read_text(&path))?.unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(|line| line.trim().trim_start_matches('/')).collect();
    let missing: Vec<&str> = [SEED, "result"].into_iter().filter(|name| !lines.contains(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let added: String = missing.iter().map(|name| format!("/{name}\n")).collect();
    Ok(fs::replace(&path, format!("{text}{newline}{added}").as_bytes(), 0o644)?)
}
