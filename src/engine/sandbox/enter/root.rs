//! Sets up the new root, step by step, in the child of a clone: only system calls on prepared data.

use std::ffi::CStr;

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use crate::engine::sandbox::layout::{Access, Step};

/// Executes one step of the layout, below the current directory.
pub(super) fn make(step: &Step) -> Result<(), Errno> {
    match step {
        Step::Dir { at } => rustix::fs::mkdir(&**at, Mode::from_raw_mode(0o755)),
        Step::File { at } => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
            rustix::fs::open(&**at, flags, Mode::from_raw_mode(0o644)).map(drop)
        }
        Step::Link { at, target } => rustix::fs::symlink(&**target, &**at),
        Step::Memory { at, options } => {
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            rustix::mount::mount(c"tinderbox", &**at, c"tmpfs", flags, &**options)
        }
        Step::Proc { at } => proc(at),
        Step::Copy { at, source, mode } => copy(at, source, *mode),
        Step::Finish { at, mode } => {
            rustix::fs::chmod(&**at, Mode::from_raw_mode(*mode))?;
            rustix::fs::utimensat(rustix::fs::CWD, &**at, &CANONICAL, AtFlags::empty())
        }
        Step::Bind { at, source, access } => bind(at, source, *access),
    }
}

/// Mounts a procfs, read-only, with the program's own processes in it and nothing of the machine.
fn proc(at: &CStr) -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    let options = c"hidepid=ptraceable,subset=pid";
    match rustix::mount::mount(c"proc", at, c"proc", flags, options) {
        Err(Errno::INVAL) => {} // before Linux 5.8
        done => return done,
    }
    rustix::mount::mount(c"proc", at, c"proc", flags, c"hidepid=2")?;
    for directory in HIDDEN_DIRECTORIES {
        let flags = flags | MountFlags::RDONLY;
        existing(rustix::mount::mount(c"tinderbox", directory, c"tmpfs", flags, c"size=0,mode=0555"))?;
    }
    for file in HIDDEN_FILES {
        existing(rustix::mount::mount_bind(c"dev/null", file))?;
    }
    Ok(())
}

/// What a kernel before 5.8 shows of the machine.
const HIDDEN_DIRECTORIES: [&CStr; 10] = [
    c"proc/acpi",
    c"proc/bus",
    c"proc/driver",
    c"proc/dynamic_debug",
    c"proc/fs",
    c"proc/irq",
    c"proc/scsi",
    c"proc/sys",
    c"proc/sysvipc",
    c"proc/tty",
];
const HIDDEN_FILES: [&CStr; 15] = [
    c"proc/cmdline",
    c"proc/config.gz",
    c"proc/cpuinfo",
    c"proc/kallsyms",
    c"proc/kcore",
    c"proc/key-users",
    c"proc/keys",
    c"proc/kmsg",
    c"proc/latency_stats",
    c"proc/meminfo",
    c"proc/sched_debug",
    c"proc/slabinfo",
    c"proc/sysrq-trigger",
    c"proc/timer_list",
    c"proc/version",
];

/// What this kernel does not have needs no cover.
fn existing(done: Result<(), Errno>) -> Result<(), Errno> {
    match done {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        done => done,
    }
}

/// The time of everything in the store.
const CANONICAL: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 1, tv_nsec: 0 },
    last_modification: Timespec { tv_sec: 1, tv_nsec: 0 },
};

/// Copies a file.
fn copy(at: &CStr, source: &CStr, mode: u32) -> Result<(), Errno> {
    let from = rustix::fs::open(source, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let to = rustix::fs::open(at, flags, Mode::from_raw_mode(mode))?;
    let mut chunk = [0; 16 * 1024];
    loop {
        let read = match rustix::io::read(&from, &mut chunk) {
            Ok(0) => return rustix::fs::futimens(&to, &CANONICAL),
            Err(Errno::INTR) => continue,
            read => read?,
        };
        let mut left = &chunk[..read];
        while !left.is_empty() {
            match rustix::io::write(&to, left) {
                Ok(written) => left = left.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

fn bind(at: &CStr, source: &CStr, access: Access) -> Result<(), Errno> {
    // Recursive: otherwise the kernel refuses if the host has mounts below the source.
    rustix::mount::mount_bind_recursive(source, at)?;
    // Keep the host's restrictions: the kernel does not allow removing them.
    let kept = rustix::fs::statvfs(at)?.f_flag;
    let mut flags = MountFlags::NOSUID | MountFlags::BIND;
    for (had, flag) in [
        (libc::ST_RDONLY, MountFlags::RDONLY),
        (libc::ST_NODEV, MountFlags::NODEV),
        (libc::ST_NOEXEC, MountFlags::NOEXEC),
        (libc::ST_NOATIME, MountFlags::NOATIME),
        (libc::ST_NODIRATIME, MountFlags::NODIRATIME),
        (libc::ST_RELATIME, MountFlags::RELATIME),
    ] {
        if kept.bits() & had != 0 {
            flags |= flag;
        }
    }
    flags |= match access {
        Access::Read => MountFlags::RDONLY | MountFlags::NODEV,
        Access::Write => MountFlags::NODEV,
        Access::Device => MountFlags::empty(),
    };
    rustix::mount::mount_remount(at, flags, c"")
}

/// Makes the current directory the root, and detaches the old root.
pub(super) fn pivot() -> Result<(), Errno> {
    rustix::process::pivot_root(c".", c".")?;
    rustix::mount::unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount_remount(c"/", flags, c"")
}
