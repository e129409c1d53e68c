//! The same sandbox through `bwrap`, which may be allowed where our own user namespaces are forbidden.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use super::layout::{Access, Step};
use super::watch::StartedProcess;
use super::{Ended, HOST, Program, Ran, SandboxError, Setup, emulator, enter, filter, obstacle, user};
use crate::base::fs;

/// Where distributions install it.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Starts a program through `bwrap`.
pub(super) fn start(setup: &Setup<'_>, program: &Program<'_>) -> Result<StartedProcess, SandboxError> {
    let found = PLACES.into_iter().find(|path| fs::exists(Path::new(path)).unwrap_or(false));
    let Some(bwrap) = found else {
        return Err(obstacle::forbidden("bwrap is not installed either", None));
    };
    if !program.addresses.is_empty() {
        let what =
            "bwrap cannot assign the addresses that the program needs, and creating namespaces is forbidden";
        return Err(obstacle::forbidden(what, None));
    }
    if user::unprivileged(setup.variation).is_some() {
        let what = "as root, bwrap would run programs as root, and creating namespaces is forbidden";
        return Err(obstacle::forbidden(what, None));
    }
    // It would give a program that the kernel refuses to the image's shell.
    emulator::refuse_unregistered(program)?;
    let filter = filter_file().map_err(|errno| SandboxError::Failed {
        what: "cannot pass the system-call filter to bwrap".into(),
        source: errno.into(),
    })?;
    enter::start_bare(setup, program, arguments(bwrap, setup, program, &filter), &filter)
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

/// What bwrap's `/proc` shows of the machine, and ours does not: everything but processes. Each with whether it is a
/// directory.
fn hidden() -> Vec<(String, bool)> {
    let of_processes =
        |name: &str| ["self", "thread-self", "mounts", "net"].contains(&name) || name.parse::<u32>().is_ok();
    let names = fs::list_kinds(Path::new("/proc")).unwrap_or_default().into_iter();
    let names = names.filter_map(|(name, directory)| Some((name.into_string().ok()?, directory)));
    names
        .filter(|(name, _)| !of_processes(name))
        .map(|(name, directory)| (format!("/proc/{name}"), directory))
        .collect()
}

fn arguments(bwrap: &str, setup: &Setup<'_>, program: &Program<'_>, filter: &OwnedFd) -> Vec<String> {
    let user = setup.variation.user_id().to_string();
    let mut list: Vec<String> = [bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
        .into_iter()
        .chain(["--uid", &user, "--gid", &user, "--hostname", HOST, "--cap-drop", "ALL"])
        .map(str::to_owned)
        .collect();
    let mut add = |words: &[&str]| list.extend(words.iter().map(|word| (*word).to_owned()));
    for step in &setup.layout.steps {
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
                for (place, directory) in hidden() {
                    match directory {
                        true => add(&["--tmpfs", &place, "--remount-ro", &place]),
                        false => add(&["--ro-bind", "/dev/null", &place]),
                    }
                }
                add(&["--remount-ro", &at]);
            }
            // A copy is only needed for the order of entries: mounts on a tmpfs have one too.
            Step::Copy { at: copy, source, .. } => {
                (at, from) = (path(copy), source.to_string_lossy());
                add(&["--ro-bind", &from, &at]);
            }
            Step::Finish { .. } => {}
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
