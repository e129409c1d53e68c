//! Control groups: limits on memory and processes that the kernel keeps at every moment, for all processes of a program
//! together. Where tinderbox may not make any, the limits of `enter` and the looks of `usage` hold.
//!
//! | | where | how a program gets in |
//! |---|---|---|
//! | version 1 | below our own group of each controller, if that is writable | it writes `0` to `tasks` itself: moving another process takes a lock for 10 ms |
//! | version 2 | below our own group, if that hands on its controllers; else beside it, if nobody limits ours | it is born there (`clone3`) |
//!
//! No group that exists is changed. Ours are empty when a program has ended, and removed; those of a tinderbox that was
//! killed are removed by the next one.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

use super::Limits;
use crate::base::fs;

/// Our own processes in the group: the first of the namespace, and bwrap's two.
const OWN_PROCESSES: u64 = 3;

/// How groups of ours are named: with the process that made them, and a number.
const PREFIX: &str = "tinderbox-";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A directory in which groups can be made, for these controllers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    version: Version,
    parent: PathBuf,
    memory: bool,
    processes: bool,
}

/// The places on this machine where groups may be possible.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hierarchies(Vec<Hierarchy>);

impl Hierarchies {
    /// Those of this process. Removes what killed processes left there.
    pub(super) fn find() -> Self {
        let text = |path: &str| fs::read_text(Path::new(path)).unwrap_or_default();
        let found = Self::of(&text("/proc/self/cgroup"), &text("/proc/self/mountinfo"));
        for Hierarchy { parent, .. } in &found.0 {
            remove_abandoned(parent);
        }
        found
    }

    /// From the process's groups and its mounts.
    fn of(groups: &str, mounts: &str) -> Self {
        let mut found: Vec<Hierarchy> = Vec::new();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let controllers: Vec<&str> = controllers.split(',').collect();
            let version = if controllers == [""] { Version::Two } else { Version::One };
            let has = |name: &str| controllers.contains(&name);
            let (memory, processes) = (has("memory"), has("pids"));
            if version == Version::One && !memory && !processes {
                continue;
            }
            let wanted = controllers.first().copied().unwrap_or_default();
            let Some(own) = mounted(mounts, version, wanted, group) else { continue };
            match version {
                Version::One => found.push(Hierarchy { version, parent: own, memory, processes }),
                Version::Two => found.extend(delegated(own)),
            }
        }
        // A controller belongs to one hierarchy.
        let first = |this: &Hierarchy| this.version == Version::One;
        let (memory, processes) = (
            found.iter().any(|one| first(one) && one.memory),
            found.iter().any(|one| first(one) && one.processes),
        );
        for two in found.iter_mut().filter(|one| !first(one)) {
            two.memory &= !memory;
            two.processes &= !processes;
        }
        found.retain(|one| one.memory || one.processes);
        Self(found)
    }
}

/// The directory of a group, where its hierarchy is mounted.
fn mounted(mounts: &str, version: Version, controller: &str, group: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, at) = (mount.next()?, mount.next()?);
        let mut source = source.split(' ');
        let kind = source.next()?;
        let options = source.nth(1).unwrap_or_default();
        let this = match version {
            Version::One => kind == "cgroup" && options.split(',').any(|option| option == controller),
            Version::Two => kind == "cgroup2",
        };
        let below = if root == "/" { group } else { group.strip_prefix(root)? };
        this.then(|| Path::new(at).join(below.trim_start_matches('/')))
    })
}

/// Where groups of version 2 can be made: a group either has processes or hands on controllers.
fn delegated(own: PathBuf) -> Option<Hierarchy> {
    let hands_on = |group: &Path| {
        let text = fs::read_text(&group.join("cgroup.subtree_control")).unwrap_or_default();
        let has = |name: &str| text.split_whitespace().any(|word| word == name);
        (has("memory"), has("pids"))
    };
    let hierarchy = |parent: PathBuf, (memory, processes): (bool, bool)| {
        (memory || processes).then_some(Hierarchy { version: Version::Two, parent, memory, processes })
    };
    let below = hands_on(&own);
    if below != (false, false) {
        return hierarchy(own, below);
    }
    // Beside our own group, its limits would not hold.
    let limited = |file: &str| fs::read_text(&own.join(file)).is_ok_and(|text| text.trim() != "max");
    if limited("memory.max") || limited("memory.high") || limited("pids.max") {
        return None;
    }
    let parent = own.parent().filter(|parent| parent.join("cgroup.procs").is_absolute())?.to_owned();
    let beside = hands_on(&parent);
    hierarchy(parent, beside)
}

/// The groups of one program. Removed with this value.
#[derive(Debug, Default)]
pub(super) struct Group {
    dirs: Vec<(Hierarchy, PathBuf)>,
    /// `tasks`, for version 1.
    tasks: Vec<OwnedFd>,
    /// The directory, for version 2.
    birthplace: Option<OwnedFd>,
}

impl Group {
    /// Groups with limits, as far as this process may make them.
    pub(super) fn make(hierarchies: &Hierarchies, limits: &Limits) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("{PREFIX}{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut group = Self::default();
        for hierarchy in &hierarchies.0 {
            group.add(hierarchy, &hierarchy.parent.join(&name), limits);
        }
        group
    }

    fn add(&mut self, hierarchy: &Hierarchy, dir: &Path, limits: &Limits) {
        if fs::create_dir(dir, 0o755).is_err() {
            return; // not for us
        }
        let (two, memory) = (hierarchy.version == Version::Two, limits.memory.to_string());
        let set = |file: &str, value: &str| fs::write_setting(&dir.join(file), value).is_ok();
        let mut holds = true;
        if hierarchy.memory {
            holds &= set(if two { "memory.max" } else { "memory.limit_in_bytes" }, &memory);
            // Only where swap is counted.
            match two {
                true => drop((set("memory.swap.max", "0"), set("memory.oom.group", "1"))),
                false => drop(set("memory.memsw.limit_in_bytes", &memory)),
            }
        }
        if hierarchy.processes {
            holds &= set("pids.max", &(limits.processes + OWN_PROCESSES).to_string());
        }
        let (entry, flags) = match two {
            true => (dir.to_owned(), OFlags::PATH | OFlags::DIRECTORY),
            false => (dir.join("tasks"), OFlags::WRONLY),
        };
        let opened = rustix::fs::open(&entry, flags | OFlags::CLOEXEC, Mode::empty());
        match opened {
            Ok(fd) if holds => {
                match two {
                    true => self.birthplace = Some(fd),
                    false => self.tasks.push(fd),
                }
                self.dirs.push((hierarchy.clone(), dir.to_owned()));
            }
            _ => remove(dir),
        }
    }

    /// Files to write `0` to, by the process that is to be in the group.
    pub(super) fn tasks(&self) -> Vec<BorrowedFd<'_>> {
        self.tasks.iter().map(AsFd::as_fd).collect()
    }

    /// The group in which a process can be made.
    pub(super) fn birthplace(&self) -> Option<BorrowedFd<'_>> {
        self.birthplace.as_ref().map(AsFd::as_fd)
    }

    /// Whether the kernel limits the memory of the whole program.
    pub(super) fn limits_memory(&self) -> bool {
        self.dirs.iter().any(|(hierarchy, _)| hierarchy.memory)
    }

    /// Whether the kernel limits the processes of the whole program.
    pub(super) fn limits_processes(&self) -> bool {
        self.dirs.iter().any(|(hierarchy, _)| hierarchy.processes)
    }

    /// Whether the kernel killed a process because there was no memory left in the group.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.dirs.iter().filter(|(hierarchy, _)| hierarchy.memory).any(|(hierarchy, dir)| {
            let file = match hierarchy.version {
                Version::One => "memory.oom_control",
                Version::Two => "memory.events",
            };
            let text = fs::read_text(&dir.join(file)).unwrap_or_default();
            text.lines().any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.dirs.iter().for_each(|(_, dir)| remove(dir));
    }
}

/// A group that still has processes stays: it is removed when somebody makes the next one.
fn remove(dir: &Path) {
    let _ = fs::remove_empty_dir(dir);
}

/// Groups of processes that are gone.
fn remove_abandoned(parent: &Path) {
    for name in fs::list(parent).unwrap_or_default() {
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let Some(process) = process.filter(|process| process.parse::<u32>().is_ok()) else { continue };
        if matches!(fs::exists(&Path::new("/proc").join(process)), Ok(false)) {
            remove(&parent.join(&name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
24 22 0:21 / /proc rw,nosuid - proc proc rw
30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 25 0:27 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids
32 25 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
33 25 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn version_one_is_found_by_its_mounts() {
        let groups = "8:pids:/\n4:memory:/jobs/7\n2:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n";
        let Hierarchies(found) = Hierarchies::of(groups, MOUNTS);
        let places: Vec<_> =
            found.iter().map(|one| (one.parent.to_str().unwrap(), one.memory, one.processes)).collect();
        let wanted = [("/sys/fs/cgroup/pids/", false, true), ("/sys/fs/cgroup/memory/jobs/7", true, false)];
        assert_eq!(places, wanted);
        // In a container that sees a part of the hierarchy.
        let part = "30 25 0:26 /jobs /cg rw - cgroup cgroup rw,memory\n";
        let Hierarchies(found) = Hierarchies::of("4:memory:/jobs/7\n", part);
        assert_eq!(found[0].parent, Path::new("/cg/7"));
        let Hierarchies(found) = Hierarchies::of("4:memory:/elsewhere\n", part);
        assert_eq!(found, []);
        assert_eq!(Hierarchies::of("", ""), Hierarchies::default());
    }

    /// A tree of version 2, with these files.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dirs(&dir.path().join("app/run")).unwrap();
        for (path, text) in files {
            fs::write_new(&dir.path().join(path), text.as_bytes(), 0o644).unwrap();
        }
        dir
    }

    fn in_tree(dir: &tempfile::TempDir) -> Vec<(PathBuf, bool, bool)> {
        let mounts = format!("33 25 0:29 / {} rw - cgroup2 cgroup2 rw\n", dir.path().display());
        let Hierarchies(found) = Hierarchies::of("0::/app/run\n", &mounts);
        found
            .into_iter()
            .map(|one| (one.parent.strip_prefix(dir.path()).unwrap().to_owned(), one.memory, one.processes))
            .collect()
    }

    #[test]
    fn version_two_is_used_where_it_is_handed_on() {
        let own = tree(&[("app/run/cgroup.subtree_control", "cpu memory pids\n")]);
        assert_eq!(in_tree(&own), [("app/run".into(), true, true)]);
        let beside = tree(&[
            ("app/cgroup.subtree_control", "memory pids\n"),
            ("app/run/cgroup.subtree_control", "\n"),
            ("app/run/memory.max", "max\n"),
            ("app/run/pids.max", "max\n"),
        ]);
        assert_eq!(in_tree(&beside), [("app".into(), true, true)]);
        let limited =
            tree(&[("app/cgroup.subtree_control", "memory pids\n"), ("app/run/memory.max", "1000000000\n")]);
        assert_eq!(in_tree(&limited), [], "its own limit would not hold beside it");
        assert_eq!(in_tree(&tree(&[("app/cgroup.subtree_control", "cpu\n")])), []);
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let own = format!("{PREFIX}{}-0", std::process::id());
        // No process has this number: it is above the kernel's maximum.
        for name in ["tinderbox-4194305-3", &own, "tinderbox-x-1", "user.slice"] {
            fs::create_dir(&dir.path().join(name), 0o755).unwrap();
        }
        remove_abandoned(dir.path());
        let mut left = [own.as_str(), "tinderbox-x-1", "user.slice"];
        left.sort_unstable();
        assert_eq!(fs::list(dir.path()).unwrap(), left);
    }

    #[test]
    fn a_group_that_cannot_be_made_is_none() {
        let nowhere = Hierarchies(vec![Hierarchy {
            version: Version::One,
            parent: "/nowhere".into(),
            memory: true,
            processes: true,
        }]);
        let group = Group::make(&nowhere, &Limits::default());
        assert!(!group.limits_memory() && group.tasks().is_empty());
    }
}
