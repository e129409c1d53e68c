//! The same sandbox through `bwrap`, which may be allowed where our own user namespaces are forbidden.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use super::layout::{Access, Layout, Step};
use super::watch::StartedProcess;
use super::{Ended, HOST, Isolation, Program, Ran, SandboxError, USER, enter, filter, obstacle, user};
use crate::base::fs;

/// Where distributions install it.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Starts a program through `bwrap`.
pub(super) fn start(program: &Program<'_>, layout: &Layout) -> Result<StartedProcess, SandboxError> {
    let found = PLACES.into_iter().find(|path| fs::exists(Path::new(path)).unwrap_or(false));
    let Some(bwrap) = found else {
        return Err(obstacle::forbidden("bwrap is not installed either", None));
    };
    if !program.addresses.is_empty() {
        let what =
            "bwrap cannot assign the addresses that the program needs, and creating namespaces is forbidden";
        return Err(obstacle::forbidden(what, None));
    }
    if user::unprivileged().is_some() {
        let what = "as root, bwrap would run programs as root, and creating namespaces is forbidden";
        return Err(obstacle::forbidden(what, None));
    }
    let filter = filter_file().map_err(|errno| SandboxError::Failed {
        what: "cannot pass the system-call filter to bwrap".into(),
        source: errno.into(),
    })?;
    enter::start_bare(Isolation::Bubblewrap, program, arguments(bwrap, program, layout, &filter), &filter)
}

/// The system-call filter, as a file in memory.
fn filter_file() -> Result<OwnedFd, rustix::io::Errno> {
    let file = rustix::fs::memfd_create(c"filter", rustix::fs::MemfdFlags::CLOEXEC)?;
    rustix::io::pwrite(&file, &filter::bytes(), 0)?;
    Ok(file)
}

/// Error output of bwrap itself, instead of the program's, means that it is not allowed either.
pub(super) fn refused(ran: Ran) -> Result<Ran, SandboxError> {
    let output = ran.log.text();
    match ran.ended == Ended::Exited(1)
        && output.starts_with("bwrap: ")
        && output.trim_end().lines().count() == 1
    {
        true => Err(obstacle::forbidden(output.trim_end(), None)),
        false => Ok(ran),
    }
}

/// What bwrap's `/proc` shows of the machine, and ours does not.
const HIDDEN: [(&str, bool); 19] = [
    ("acpi", true),
    ("bus", true),
    ("driver", true),
    ("fs", true),
    ("irq", true),
    ("scsi", true),
    ("sys", true),
    ("sysvipc", true),
    ("tty", true),
    ("cmdline", false),
    ("cpuinfo", false),
    ("kallsyms", false),
    ("kcore", false),
    ("key-users", false),
    ("keys", false),
    ("meminfo", false),
    ("sysrq-trigger", false),
    ("timer_list", false),
    ("version", false),
];

fn arguments(bwrap: &str, program: &Program<'_>, layout: &Layout, filter: &OwnedFd) -> Vec<String> {
    let user = USER.to_string();
    let mut list: Vec<String> = [bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
        .into_iter()
        .chain(["--uid", &user, "--gid", &user, "--hostname", HOST, "--cap-drop", "ALL"])
        .map(str::to_owned)
        .collect();
    let mut add = |words: &[&str]| list.extend(words.iter().map(|word| (*word).to_owned()));
    for step in &layout.steps {
        let (at, from);
        match step {
            Step::Dir { at: dir } => {
                at = path(dir);
                add(&["--dir", &at]);
            }
            // It creates mount points by itself, and its own /dev.
            Step::File { .. } => {}
            Step::Link { at: link, target } => {
                (at, from) = (path(link), target.to_string_lossy());
                add(&["--symlink", &from, &at]);
            }
            Step::Bind { at: mount, source, access } => {
                (at, from) = (path(mount), source.to_string_lossy());
                let how = match access {
                    Access::Read => "--ro-bind",
                    Access::Write => "--bind",
                    Access::Device => "--dev-bind",
                };
                add(&[how, &from, &at]);
            }
            Step::Memory { at: mount, options } => {
                at = path(mount);
                let size = options.to_string_lossy();
                let size = size.split("size=").nth(1).unwrap_or_default().replace('m', "000000");
                add(&["--perms", "1777", "--size", &size, "--tmpfs", &at]);
            }
            Step::Proc { at: mount } => {
                at = path(mount);
                add(&["--proc", &at]);
                for (name, directory) in HIDDEN {
                    let place = format!("/proc/{name}");
                    match fs::exists(Path::new(&place)).unwrap_or(false) {
                        true if directory => add(&["--tmpfs", &place, "--remount-ro", &place]),
                        true => add(&["--ro-bind", "/dev/null", &place]),
                        false => {}
                    }
                }
                add(&["--remount-ro", &at]);
            }
            // Only for programs of another user, whom bwrap does not offer.
            Step::Copy { .. } => {}
        }
    }
    add(&["--remount-ro", "/", "--chdir", program.directory, "--seccomp", &filter.as_raw_fd().to_string()]);
    for (name, value) in program.environment {
        add(&["--setenv", name, value]);
    }
    if !program.environment.contains_key("LC_ALL") {
        add(&["--setenv", "LC_ALL", "C"]);
    }
    add(&["--"]);
    list.extend(program.argv.iter().cloned());
    list
}

fn path(at: &std::ffi::CStr) -> String {
    format!("/{}", at.to_string_lossy())
}
