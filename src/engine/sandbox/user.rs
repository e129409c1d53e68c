//! The host's user that programs run as: one that owns nothing, if tinderbox is root.
//!
//! Root's id stays root's in a user namespace as far as the host's files are concerned: the owner of `/proc/sys` and of
//! every object could write them. So root's programs get an id that no account has. Everybody else has one id, and
//! programs run under it.

use std::ops::ControlFlow;
use std::path::Path;

use rustix::fs::FileType;

use super::Variation;
use crate::base::fs;

/// Ids to take, in order: beyond every account, or, in a container that has few ids, the last of them.
const CANDIDATES: [u32; 3] = [2_000_001_000, 65_534, 1000];

/// The id for programs that root runs. None for other users, and for a root that has only one id: its programs run as
/// the user that it is on the host. With a variation of the user, the next one, if there is one.
pub(super) fn unprivileged(variation: Variation) -> Option<u32> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let maps = ["/proc/self/uid_map", "/proc/self/gid_map"]
        .map(|map| fs::read_text(Path::new(map)).unwrap_or_default());
    let mapped = |id: &u32| maps.iter().all(|map| covers(map, *id));
    let id = CANDIDATES.into_iter().find(mapped)?;
    Some(if variation.user && mapped(&(id + 1)) { id + 1 } else { id })
}

/// Whether a map of ids (inside, outside, count) has this one.
fn covers(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        matches!(numbers.as_slice(), [first, _, count] if id.checked_sub(*first).is_some_and(|at| at < *count))
    })
}

/// Gives the output to the program: what an earlier program left there is its own already.
pub(super) fn give(output: &Path, user: u32) -> Result<(), fs::Error> {
    let dir = fs::Dir::open(output)?;
    if dir.own_stat()?.st_uid != user {
        dir.set_own_owner(user)?;
    }
    let done = dir.walk(&mut |visit: fs::Visit<'_>| {
        let own = visit.stat.st_uid == user || fs::kind(visit.stat) == FileType::Symlink;
        match if own { Ok(()) } else { visit.parent.set_owner(visit.name, user) } {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(fs::Stop::<()>::Failed(error)),
        }
    });
    match done {
        Err(fs::Stop::Failed(error)) => Err(error),
        // The program that made it so deep was killed for it.
        Ok(()) | Err(fs::Stop::Asked(()) | fs::Stop::TooDeep) => Ok(()),
    }
}

/// Whether every user may read this file, or list and enter this directory.
pub(super) fn is_open(mode: u32, directory: bool) -> bool {
    let needed = if directory { 0o005 } else { 0o004 };
    mode & needed == needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_its_ids_and_no_others() {
        let whole = "         0          0 4294967295\n";
        assert!(covers(whole, 0) && covers(whole, CANDIDATES[0]));
        let container = "0 100000 65536\n";
        assert!(!covers(container, CANDIDATES[0]) && covers(container, CANDIDATES[1]));
        assert!(!covers("0 1000 1\n", 1000) && !covers("", 0));
    }
}
