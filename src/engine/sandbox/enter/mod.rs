//! Enters the sandbox: one `clone` with all namespaces, then the prepared layout, then the program.
//!
//! ```text
//! tinderbox ──clone──▶ first process of the namespaces ──clone──▶ the program
//!     │                  sets up the root, waits, reports        execve
//!     └── reads pipes, waits for the first process; killing it makes the kernel kill everything inside
//! ```
//!
//! As root, the parent maps an unprivileged user for the program (see `user`) while the child waits; the first process
//! stays root of the namespace, which owns what it mounts, and the program is that user from before its `execve`.
//!
//! This is the one module with `unsafe` code (`loaded` needs some for the C library). The rule: tinderbox has threads,
//! so the child of a `clone` may only make system calls on memory that was prepared before. It does not allocate,
//! lock, panic or drop. Everything it needs is in [`Ready`], created by the parent; it ends in `_exit` or `execve`.

#![expect(unsafe_code, reason = "the child of a clone; see the module docs")]

mod landlock;
mod loaded;
mod network;
mod program;
mod root;

use std::ffi::{CStr, CString, c_char, c_int};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::Pid;

pub(super) use loaded::{Object, loaded};

use super::layout::{Layout, Step, bytes};
use super::watch::StartedProcess;
use super::{HOST, Isolation, Limits, Program, SandboxError, Setup, filter, obstacle, user};
use crate::base::fs;

/// Messages from the child, each with a number: a failed step, a note, or the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum ChildMessage {
    /// The program ended; the value is its wait status.
    Ended,
    /// `/proc` could not be mounted.
    NoProc,
    /// The control group could not be entered.
    NoGroup,
    /// The version of Landlock in force.
    Landlock,
    Leash,
    /// User mapping.
    Users,
    Host,
    Network,
    /// Private mount propagation.
    Private,
    /// Mounting the new root.
    Root,
    /// `pivot_root`.
    Pivot,
    Privileges,
    Fork,
    Limits,
    /// Becoming an unprivileged user.
    User,
    Directory,
    /// The system-call filter.
    Filter,
    Execute,
    /// A step of the layout: this number plus its index.
    Step,
}

impl ChildMessage {
    /// Up to here, messages are about a program that runs.
    pub(super) const LAST_NOTE: u32 = Self::Landlock as u32;
}

/// Size of a message: a word and a number.
pub(super) const MESSAGE: usize = 8;

/// Everything that the child needs, in memory allocated before the clone.
struct Ready<'a> {
    isolation: Isolation,
    steps: &'a [Step],
    base: CString,
    /// Mount options of the new root.
    options: CString,
    /// The parent maps users, because the program's user is not ours: wait for it.
    mapped: bool,
    /// The user, as seen from inside, that the program becomes.
    user: Option<u32>,
    filter: &'a [filter::Instruction],
    users: CString,
    groups: CString,
    addresses: &'a [IpAddr],
    limits: Limits,
    /// The CPU that the program may use; all if none.
    cpus: Option<rustix::thread::CpuSet>,
    /// Files of control groups to write to, to be in them.
    tasks: Vec<BorrowedFd<'a>>,
    directory: CString,
    argv: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    status: BorrowedFd<'a>,
    leash: BorrowedFd<'a>,
    printed: BorrowedFd<'a>,
    nothing: BorrowedFd<'a>,
    /// A file for the program itself.
    passed: BorrowedFd<'a>,
    /// The program runs in the host's own root, only with limits.
    bare: bool,
}

type Stop = (u32, Errno);

/// Starts a program in namespaces.
pub(super) fn start(setup: &Setup<'_>, program: &Program<'_>) -> Result<StartedProcess, SandboxError> {
    let isolation = setup.isolation;
    if isolation == Isolation::Root && !rustix::process::geteuid().is_root() {
        return Err(obstacle::forbidden("only root can do without user namespaces", None));
    }
    let mut flags = libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::SIGCHLD;
    if isolation == Isolation::User {
        flags |= libc::CLONE_NEWUSER;
    }
    let argv = strings(program.argv.iter().cloned())?;
    let locale = (!program.environment.contains_key("LC_ALL")).then(|| "LC_ALL=C".to_owned());
    let environment = program.environment.iter().map(|(name, value)| format!("{name}={value}")).chain(locale);
    let begin = Begin { setup, flags, layout: Some(setup.layout), program, passed: None };
    begin.start(&argv, &strings(environment)?)
}

/// Starts a program of the host with nothing but limits: one that sets up a sandbox by itself. It inherits `passed`.
pub(super) fn start_bare(
    setup: &Setup<'_>,
    program: &Program<'_>,
    argv: Vec<String>,
    passed: &OwnedFd,
) -> Result<StartedProcess, SandboxError> {
    let argv = strings(argv.into_iter())?;
    let begin = Begin { setup, flags: libc::SIGCHLD, layout: None, program, passed: Some(passed) };
    begin.start(&argv, &[])
}

struct Begin<'a> {
    setup: &'a Setup<'a>,
    flags: c_int,
    /// None for a program of the host.
    layout: Option<&'a Layout>,
    program: &'a Program<'a>,
    passed: Option<&'a OwnedFd>,
}

impl Begin<'_> {
    fn start(&self, argv: &[CString], environment: &[CString]) -> Result<StartedProcess, SandboxError> {
        let pipe = |what: &str| {
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|errno| failed(what, errno))
        };
        let (status, status_end) = pipe("no status pipe")?;
        let (printed, printed_end) = pipe("no output pipe")?;
        let (leash_end, leash) = pipe("no parent-death pipe")?;
        let null = rustix::fs::open(c"/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let nothing: OwnedFd = null.map_err(|errno| failed("no /dev/null", errno))?;
        let base = self.program.scratch.join("root");
        let bare = self.layout.is_none();
        if !bare {
            fs::create_dirs(&base)?;
        }
        let Setup { isolation, variation, group, .. } = *self.setup;
        let unprivileged = user::unprivileged(variation).filter(|_| !bare);
        let mapped = unprivileged.is_some() && isolation == Isolation::User;
        let inner = variation.user_id();
        let copied = self.layout.map_or(0, |layout| layout.copied);
        let filter = filter::program();
        let ready = Ready {
            isolation,
            steps: self.layout.map_or(&[], |layout| &layout.steps),
            base: bytes(&base)?,
            options: number(format!("mode=0755,size={}", (16 << 20) + copied)),
            mapped,
            user: if mapped { Some(inner) } else { unprivileged },
            filter: &filter,
            users: number(format!("{inner} {} 1\n", rustix::process::geteuid().as_raw())),
            groups: number(format!("{inner} {} 1\n", rustix::process::getegid().as_raw())),
            addresses: self.program.addresses,
            limits: self.program.limits,
            cpus: variation.cpu(),
            tasks: group.tasks(),
            directory: if bare {
                c"/".into()
            } else {
                CString::new(self.program.directory).unwrap_or_default()
            },
            argv: pointers(argv),
            environment: pointers(environment),
            status: borrow(&status_end),
            leash: borrow(&leash_end),
            printed: borrow(&printed_end),
            nothing: borrow(&nothing),
            passed: borrow(self.passed.unwrap_or(&nothing)),
            bare,
        };
        // SAFETY: the child shares no memory with us and follows the rules in the module docs.
        let (pid, born_in_group) =
            match group.birthplace().map(|group| unsafe { clone_into(self.flags, group) }) {
                None => (unsafe { clone(self.flags) }, true),
                Some(Ok(pid)) => (Ok(pid), true),
                Some(Err(_)) => (unsafe { clone(self.flags) }, false), // not allowed, or not known
            };
        match pid {
            Ok(None) => first_process(&ready),
            Ok(Some(pid)) => {
                let started = StartedProcess { pid, status, printed, leash, born_in_group };
                match unprivileged.filter(|_| mapped).map(|user| map_users(&started, inner, user)) {
                    Some(Err(errno)) => {
                        started.discard();
                        Err(obstacle::forbidden("cannot map an unprivileged user", Some(errno)))
                    }
                    Some(Ok(())) | None => Ok(started),
                }
            }
            Err(errno) => Err(obstacle::of_clone(isolation, errno)),
        }
    }
}

fn failed(what: &str, errno: Errno) -> SandboxError {
    SandboxError::Failed { what: what.to_owned(), source: errno.into() }
}

/// Maps root, for the first process, and an unprivileged user for the program; then lets the child go on. Only a
/// process outside of the new namespace may map two users.
fn map_users(started: &StartedProcess, inner: u32, user: u32) -> Result<(), Errno> {
    for map in ["gid_map", "uid_map"] {
        let path = number(format!("/proc/{}/{map}", started.pid.as_raw_nonzero()));
        put(&path, &number(format!("0 0 1\n{inner} {user} 1\n")))?;
    }
    rustix::io::write(&started.leash, b"1").map(drop)
}

fn borrow(fd: &OwnedFd) -> BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(fd)
}

fn number(text: String) -> CString {
    CString::new(text).unwrap_or_default() // digits have no zero byte
}

fn strings(list: impl Iterator<Item = String>) -> Result<Vec<CString>, SandboxError> {
    list.map(|text| {
        CString::new(text).map_err(|_| SandboxError::Layout {
            target: "an argument or the environment".into(),
            problem: "it has a zero byte".into(),
        })
    })
    .collect()
}

/// A null-terminated list for the system.
fn pointers(list: &[CString]) -> Vec<*const c_char> {
    list.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

/// `fork` with flags, without the C library's at-fork handlers, which take locks of other threads that the child must
/// not need.
unsafe fn clone(flags: c_int) -> Result<Option<Pid>, Errno> {
    // SAFETY: without a stack argument, the child continues on a copy of ours.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0, 0, 0, 0) };
    match pid {
        -1 => Err(last_error()),
        0 => Ok(None),
        pid => Ok(Pid::from_raw(pid as i32)),
    }
}

/// [`clone`], into a control group of version 2.
unsafe fn clone_into(flags: c_int, group: BorrowedFd<'_>) -> Result<Option<Pid>, Errno> {
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    // SAFETY: plain data; all zeros are valid.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = INTO_CGROUP | (flags & !libc::SIGCHLD) as u64;
    arguments.exit_signal = libc::SIGCHLD as u64;
    arguments.cgroup = group.as_raw_fd() as u64;
    // SAFETY: as for `clone`; the structure outlives the call.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    match pid {
        -1 => Err(last_error()),
        0 => Ok(None),
        pid => Ok(Pid::from_raw(pid as i32)),
    }
}

fn last_error() -> Errno {
    // SAFETY: the C library's errno is per thread.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

/// The first process of the namespaces: sets up the root, starts the program, waits for it, reports its end.
fn first_process(ready: &Ready<'_>) -> ! {
    match prepare(ready).and_then(|()| run(ready)) {
        Ok(status) => report(ready, ChildMessage::Ended as u32, status),
        Err((word, errno)) => report(ready, word, errno.raw_os_error()),
    }
    // SAFETY: always; runs and flushes nothing of the parent.
    unsafe { libc::_exit(0) }
}

/// Reports to the parent. If it is gone, nobody needs to know.
fn report(ready: &Ready<'_>, word: u32, value: i32) {
    let mut message = [0; MESSAGE];
    message[..4].copy_from_slice(&word.to_le_bytes());
    message[4..].copy_from_slice(&value.to_le_bytes());
    let _ = rustix::io::write(ready.status, &message);
}

fn at<T>(word: ChildMessage, result: Result<T, Errno>) -> Result<T, Stop> {
    result.map_err(|errno| (word as u32, errno))
}

fn prepare(ready: &Ready<'_>) -> Result<(), Stop> {
    for tasks in &ready.tasks {
        if let Err(errno) = rustix::io::write(tasks, b"0") {
            report(ready, ChildMessage::NoGroup as u32, errno.raw_os_error());
        }
    }
    at(ChildMessage::Leash, leash(ready))?;
    if ready.bare {
        return Ok(());
    }
    if ready.isolation == Isolation::User && !ready.mapped {
        at(ChildMessage::Users, users(ready))?;
    }
    // From its groups down: otherwise /proc/self/cgroup names those of the host. A kernel that cannot shows them.
    // SAFETY: this process has one thread, and holds no descriptor of a group.
    let _ = unsafe { libc::unshare(libc::CLONE_NEWCGROUP) };
    at(ChildMessage::Host, rustix::system::sethostname(HOST.as_bytes()))?;
    at(ChildMessage::Network, network::addresses(ready.addresses))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    at(ChildMessage::Private, rustix::mount::mount_change(c"/", private))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    at(
        ChildMessage::Root,
        rustix::mount::mount(c"tinderbox", &*ready.base, c"tmpfs", flags, &*ready.options),
    )?;
    at(ChildMessage::Root, rustix::process::chdir(&*ready.base))?;
    // The user's umask must not affect modes.
    rustix::process::umask(Mode::empty());
    for (number, step) in ready.steps.iter().enumerate() {
        if let Err(errno) = root::make(step) {
            match step {
                // A container that hides parts of its own /proc does not allow a new one.
                Step::Proc { .. } if errno == Errno::PERM || errno == Errno::ACCESS => {
                    report(ready, ChildMessage::NoProc as u32, 0);
                }
                _ => return Err((ChildMessage::Step as u32 + number as u32, errno)),
            }
        }
    }
    at(ChildMessage::Pivot, root::pivot())
}

/// Makes this process die with tinderbox, also if that is already gone.
fn leash(ready: &Ready<'_>) -> Result<(), Errno> {
    rustix::process::setsid()?;
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let mut fds = [rustix::event::PollFd::new(&ready.leash, rustix::event::PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    // This process has a copy of the other end: close it before checking.
    close_all_but(&[ready.status, ready.leash, ready.printed, ready.nothing, ready.passed]);
    if ready.mapped && rustix::io::read(ready.leash, &mut [0u8; 1])? == 0 {
        return Err(Errno::PIPE);
    }
    program::own_keyring();
    match rustix::event::poll(&mut fds, Some(&now))? {
        0 => Ok(()),
        _ => Err(Errno::PIPE),
    }
}

/// Closes all inherited files but these: those of other threads, and what the user's shell left open.
fn close_all_but(keep: &[BorrowedFd<'_>; 5]) {
    let mut numbers = [0u32; 5];
    for (number, fd) in numbers.iter_mut().zip(keep) {
        *number = fd.as_raw_fd() as u32;
    }
    numbers.sort_unstable();
    let mut from = 3;
    for number in numbers {
        if number > from {
            close_range(from, number - 1);
        }
        from = from.max(number + 1);
    }
    close_range(from, u32::MAX);
}

fn close_range(first: u32, last: u32) {
    // SAFETY: the child owns copies of all of them, and does not use those.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if done == -1 {
        // Before Linux 5.9: one by one, as many as a process usually has.
        for fd in first..=last.min(4096) {
            // SAFETY: as above.
            let _ = unsafe { libc::close(fd as c_int) };
        }
    }
}

fn users(ready: &Ready<'_>) -> Result<(), Errno> {
    put(c"/proc/self/setgroups", c"deny")?;
    put(c"/proc/self/gid_map", &ready.groups)?;
    put(c"/proc/self/uid_map", &ready.users)
}

fn put(path: &CStr, text: &CStr) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.to_bytes()).map(drop)
}

/// Starts the program and waits for it; all other processes end with us.
fn run(ready: &Ready<'_>) -> Result<i32, Stop> {
    at(ChildMessage::Privileges, rustix::thread::set_no_new_privs(true))?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    // SAFETY: as for the first.
    let program = match at(ChildMessage::Fork, unsafe { clone(libc::SIGCHLD) })? {
        Some(pid) => pid.as_raw_nonzero().get(),
        None => {
            let (word, errno) = program::execute(ready);
            report(ready, word, errno.raw_os_error());
            // SAFETY: always.
            unsafe { libc::_exit(127) }
        }
    };
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        match pid {
            -1 if last_error() == Errno::INTR => {}
            -1 => return Err((ChildMessage::Fork as u32, last_error())),
            pid if pid == program => return Ok(status),
            _ => {} // an orphan of the program
        }
    }
}
