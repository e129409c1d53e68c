//! Sets up the new root, step by step, in the child of a clone: only system calls on prepared data.

use std::ffi::CStr;

use rustix::fs::{Mode, OFlags};
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
        Step::Proc { at } => {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            rustix::mount::mount(c"proc", &**at, c"proc", flags, None)
        }
        Step::Bind { at, source, access } => bind(at, source, *access),
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
