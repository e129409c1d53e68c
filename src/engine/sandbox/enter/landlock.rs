//! Landlock, where the kernel has it: a second wall behind the mounts. Even if a program found a way to another file, it
//! may only write below `/out`, `/tmp` and `/dev/shm`. Same rules as the parent module's: system calls only.

#![expect(unsafe_code, reason = "system calls that no library offers, in the child of a clone")]

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::last_error;

/// The oldest version that is of use: before it, no program can move a file to another directory.
const OLDEST: i32 = 2;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
/// What the first two versions know: creating, removing and moving files of all kinds.
const SECOND: u64 = (1 << 14) - 1;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEVICE: u64 = 1 << 15;

/// Signals and abstract sockets of processes outside; since version 6.
const SCOPES: u64 = 0b11;

#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scopes: u64,
}

#[repr(C, packed)]
struct Below {
    allowed: u64,
    parent: i32,
}

/// The places where a program may do more than read and execute.
const WRITABLE: [&CStr; 3] = [c"/out", c"/tmp", c"/dev/shm"];
const DEVICES: [&CStr; 5] = [c"/dev/full", c"/dev/null", c"/dev/random", c"/dev/urandom", c"/dev/zero"];

/// Restricts this process. Returns the version that the kernel has; 0 if it has none that is of use.
pub(super) fn restrict() -> Result<i32, Errno> {
    let version = version();
    if version < OLDEST {
        return Ok(0);
    }
    let mut files = SECOND;
    if version >= 3 {
        files |= TRUNCATE;
    }
    if version >= 5 {
        files |= IOCTL_DEVICE;
    }
    let rules = Ruleset { files, network: 0, scopes: if version >= 6 { SCOPES } else { 0 } };
    // Older kernels know a shorter structure.
    let size = match version {
        ..4 => 8,
        4..6 => 16,
        _ => size_of::<Ruleset>(),
    };
    // SAFETY: `rules` outlives the call, and is at least as long as `size` says.
    let made = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, size, 0) };
    if made < 0 {
        return Err(last_error());
    }
    // SAFETY: the descriptor is new, and nobody else's.
    let ruleset = unsafe { OwnedFd::from_raw_fd(made as i32) };
    allow(&ruleset, c"/", READ_FILE | READ_DIR | EXECUTE)?;
    for place in WRITABLE {
        allow(&ruleset, place, files)?;
    }
    for device in DEVICES {
        allow(&ruleset, device, files & (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEVICE))?;
    }
    // SAFETY: only affects this process, which has given up gaining privileges.
    match unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) } {
        0 => Ok(version),
        _ => Err(last_error()),
    }
}

/// The version of the kernel's Landlock; negative if it has none, or it is turned off.
fn version() -> i32 {
    const ASK_VERSION: u32 = 1;
    // SAFETY: without a structure, it only asks.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<Ruleset>(), 0usize, ASK_VERSION)
    };
    version as i32
}

fn allow(ruleset: &OwnedFd, path: &CStr, allowed: u64) -> Result<(), Errno> {
    const PATH_BENEATH: u32 = 1;
    let place = match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        place => place?,
    };
    let rule = Below { allowed, parent: place.as_raw_fd() };
    // SAFETY: `rule` outlives the call.
    let done = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), PATH_BENEATH, &raw const rule, 0)
    };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}
