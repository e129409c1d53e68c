//! The last steps before the program: limits, its user, the filter, `execve`. Same rules as the parent module's.

#![expect(unsafe_code, reason = "the child of a clone; see the parent module")]

use std::ffi::c_char;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

use super::{ChildMessage, Ready, Stop, at, landlock, last_error, report};
use crate::engine::sandbox::{Isolation, Limits};

/// Becomes the program. Only returns on failure.
pub(super) fn execute(ready: &Ready<'_>) -> Stop {
    let prepared = at(ChildMessage::Limits, limit(ready))
        .and_then(|()| at(ChildMessage::Directory, rustix::process::chdir(&*ready.directory)))
        .and_then(|()| at(ChildMessage::Execute, connect(ready)))
        .and_then(|()| at(ChildMessage::User, become_user(ready)))
        .and_then(|()| at(ChildMessage::Filter, restrict_files(ready)))
        .and_then(|()| at(ChildMessage::Filter, filter_calls(ready)));
    if let Err(stop) = prepared {
        return stop;
    }
    // SAFETY: both lists are null-terminated, in this process's copy of the parent's memory.
    unsafe { libc::execve(ready.argv[0], ready.argv.as_ptr(), ready.environment.as_ptr()) };
    (ChildMessage::Execute as u32, last_error())
}

fn limit(ready: &Ready<'_>) -> Result<(), Errno> {
    if let Some(cpus) = &ready.cpus {
        rustix::thread::sched_setaffinity(None, cpus)?;
    }
    let Limits { memory, output, processes, .. } = ready.limits;
    for (resource, most) in [
        // One byte: no core file is written, and, unlike with zero, no core handler is started.
        (Resource::Core, 1),
        (Resource::Data, memory),
        (Resource::Fsize, output),
        (Resource::Nproc, processes),
        (Resource::Nofile, 1024),
    ] {
        let had = rustix::process::getrlimit(resource);
        let most = had.maximum.map_or(most, |maximum| maximum.min(most));
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    // SAFETY: only affects this process: signals that Rust's runtime ignores get their default action.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
    Ok(())
}

/// Gives up root: its groups, its id, and with them its capabilities.
fn become_user(ready: &Ready<'_>) -> Result<(), Errno> {
    if ready.bare || (ready.isolation == Isolation::User && !ready.mapped) {
        return Ok(()); // never was root
    }
    // SAFETY: only affects this process. Not the C library's functions: those do the same in all threads, and there are
    // none of them here.
    let done = unsafe {
        const NO_ROOT_LOCKED: libc::c_ulong = 0b11;
        libc::prctl(libc::PR_SET_SECUREBITS, NO_ROOT_LOCKED, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()) == 0
            && ready.user.is_none_or(|user| {
                libc::syscall(libc::SYS_setresgid, user, user, user) == 0
                    && libc::syscall(libc::SYS_setresuid, user, user, user) == 0
            })
    };
    if done { Ok(()) } else { Err(last_error()) }
}

/// Landlock, if there is one. `bwrap` could not mount anything with it.
fn restrict_files(ready: &Ready<'_>) -> Result<(), Errno> {
    if !ready.bare {
        let version = landlock::restrict()?;
        report(ready, ChildMessage::Landlock as u32, version);
    }
    Ok(())
}

/// Installs the system-call filter. A program of the host sets up its own sandbox first, and installs it then.
fn filter_calls(ready: &Ready<'_>) -> Result<(), Errno> {
    if ready.bare {
        return rustix::io::fcntl_setfd(ready.passed, rustix::io::FdFlags::empty());
    }
    let program = libc::sock_fprog {
        len: ready.filter.len() as u16,
        filter: ready.filter.as_ptr().cast_mut(), // the kernel only reads it
    };
    // SAFETY: `program` and what it points to outlive the call.
    match unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) } {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

/// Leaves the session keyring of the user, which may hold passwords. Where there are no keys, there is none to leave;
/// where the system refuses, the filter still keeps the program from asking for keys.
pub(super) fn own_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    // SAFETY: only affects this process.
    let _ = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<c_char>()) };
}

/// Empty stdin, and one pipe for stdout and stderr.
fn connect(ready: &Ready<'_>) -> Result<(), Errno> {
    rustix::stdio::dup2_stdin(ready.nothing)?;
    rustix::stdio::dup2_stdout(ready.printed)?;
    rustix::stdio::dup2_stderr(ready.printed)
}
