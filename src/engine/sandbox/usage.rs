//! What a program uses, from outside: its output, files that it deleted and still holds, and the memory of all its
//! processes.
//!
//! The kernel's limits are per process (memory, open files) or per file (size), unless there are control groups (`cgroup`).
//! These are sums, looked at a few times a second. Where the kernel lists no children of a process, only the kernel's own
//! limits hold.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::process::Pid;

use super::{Ended, Limits, Program};
use crate::base::fs;

/// What must stay free on the file system of the output, whoever uses it, if as much was free before.
const RESERVE: u64 = 64 << 20;

/// How much must stay free while this program runs: files can hide where nobody sees them.
pub(super) fn reserve(program: &Program<'_>) -> u64 {
    fs::available(program.output).map_or(0, |free| (free / 4).min(RESERVE))
}

/// Whether a program exceeds a limit. Memory is not counted where a control group limits it: here, memory that processes
/// share counts once for each of them.
pub(super) fn too_much(program: &Program<'_>, first: Pid, reserve: u64, count_memory: bool) -> Option<Ended> {
    let memory = program.limits.memory;
    let (mut used, mut hidden) = (0, BTreeMap::new());
    for process in processes(first.as_raw_nonzero().get().unsigned_abs()) {
        used += if count_memory { memory_of(process) } else { 0 };
        deleted_files(process, &mut hidden);
    }
    if used > memory {
        return Some(Ended::MemoryLimit(memory));
    }
    if fs::available(program.output).is_ok_and(|left| left < reserve) {
        return Some(Ended::DiskFull);
    }
    output_over(program.output, program.limits, hidden.values().sum(), false)
}

/// Whether the output of a program that ended exceeds a limit.
pub(super) fn left_too_much(program: &Program<'_>) -> Option<Ended> {
    output_over(program.output, program.limits, 0, true)
}

/// Counts the output. Files come and go while a program writes: those that cannot be inspected do not count, until the
/// program has ended and its directories can be opened.
fn output_over(output: &Path, limits: Limits, hidden: u64, ended: bool) -> Option<Ended> {
    let (mut bytes, mut entries) = (hidden, 0);
    let dir = fs::Dir::open(output).ok()?;
    let done = dir.walk(&mut |visit: fs::Visit<'_>| {
        entries += 1;
        match fs::kind(visit.stat) {
            FileType::Directory if ended && visit.stat.st_mode & 0o700 != 0o700 => {
                let _ = visit.parent.set_mode(visit.name, 0o700); // if not, it fails when it is copied
            }
            FileType::Directory => {}
            // A sparse file costs little here, and its whole size when it is copied.
            _ => bytes += u64::try_from(visit.stat.st_size).unwrap_or(0),
        }
        match () {
            () if bytes > limits.output => {
                ControlFlow::Break(fs::Stop::Asked(Ended::OutputLimit(limits.output)))
            }
            () if entries > limits.entries => {
                ControlFlow::Break(fs::Stop::Asked(Ended::EntryLimit(limits.entries)))
            }
            () => ControlFlow::Continue(()),
        }
    });
    match done {
        Ok(()) => (bytes > limits.output).then_some(Ended::OutputLimit(limits.output)),
        Err(fs::Stop::Failed(_)) => None,
        Err(fs::Stop::Asked(over)) => Some(over),
        Err(fs::Stop::TooDeep) => Some(Ended::DepthLimit(fs::DEPTH as u64)),
    }
}

/// All descendants of a process. Orphans of the program belong to the first process of its namespace.
fn processes(first: u32) -> Vec<u32> {
    let (mut found, mut next) = (Vec::new(), vec![first]);
    while let Some(process) = next.pop() {
        let threads = proc(process, "task");
        for thread in fs::list(&threads).unwrap_or_default() {
            let children = fs::read_text(&threads.join(thread).join("children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|word| word.parse::<u32>().ok());
            children.for_each(|child| {
                found.push(child);
                next.push(child);
            });
        }
    }
    found
}

fn proc(process: u32, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/{file}"))
}

/// Private and shared memory of a process, swapped or not; without files.
fn memory_of(process: u32) -> u64 {
    let status = fs::read_text(&proc(process, "status")).unwrap_or_default();
    let kilobytes = status.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        ["RssAnon", "RssShmem", "VmSwap"].contains(&name).then_some(value)?;
        value.split_whitespace().next()?.parse::<u64>().ok()
    });
    kilobytes.sum::<u64>() * 1024
}

/// Files without a name that a process has open: device and inode, and the space that they take.
fn deleted_files(process: u32, found: &mut BTreeMap<(u64, u64), u64>) {
    let open = proc(process, "fd");
    for number in fs::list(&open).unwrap_or_default() {
        if let Some(file) =
            fs::followed(&open.join(number)).filter(|file| file.is_file() && file.nlink() == 0)
        {
            found.insert((file.dev(), file.ino()), file.blocks() * 512);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_deleted_file_is_seen_while_it_is_open() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let mut found = BTreeMap::new();
        deleted_files(std::process::id(), &mut found);
        let own = file.metadata().unwrap();
        assert!(found[&(own.dev(), own.ino())] >= 1 << 20);
        assert!(memory_of(std::process::id()) > 1 << 16);
    }
}
