//! What a fleet may name, and how much. Somebody else's fleet is data: it reaches no file that is not in its directory, and reading
//! it ends.

use std::path::{Component, Path};

use crate::base::fs;
use crate::openshift::workspace::{PRIVATE, Result};

/// Bytes of fleet.yaml and of all tables together.
pub(super) const BYTES: u64 = 64 << 20;
pub(super) const SITES: usize = 100_000;
/// Values of all sites together.
pub(super) const VALUES: usize = 2_000_000;
/// Different names of values.
pub(super) const COLUMNS: usize = 1_000;
/// Bytes of the name of a value: every site has a copy.
pub(super) const NAME: usize = 100;
pub(super) const GROUPS: usize = 1_000;
/// Groups of one site.
pub(super) const GROUPS_OF_SITE: usize = 100;
/// Problems of a table after which the rest of it is not read.
pub(super) const PROBLEMS: usize = 100;

/// What is wrong with a path, and what to do.
type Flaw = (&'static str, &'static str);

const OUTSIDE: Flaw = (
    "it is not below the fleet's directory, and a fleet reads nothing else",
    "a path is relative to fleet.yaml: copy it there, or link public files one by one",
);

/// Why a fleet, whose directory is `fleet`, does not read what it names; none if it does, or if there is nothing of this name.
pub(super) fn flaw(fleet: &Path, named: &str) -> Result<Option<Flaw>> {
    let is_below =
        Path::new(named).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_below {
        return Ok(Some(OUTSIDE));
    }
    let path = fleet.join(named);
    let Some(real) = fs::optional(fs::canonical(&path))? else { return Ok(None) };
    let parent = path.parent().map(fs::canonical).transpose()?;
    let is_linked = !real.starts_with(fleet);
    Ok(match () {
        // A link to a file is the user's word that it is meant to be read; one to a folder is about files that nobody looked at.
        () if parent.is_some_and(|parent| !parent.starts_with(fleet)) => Some(OUTSIDE),
        () if is_linked && !fs::metadata(&real)?.is_file() => Some(OUTSIDE),
        () if is_linked && fs::is_link_to_private(&path)? => Some(PRIVATE),
        () => None,
    })
}
