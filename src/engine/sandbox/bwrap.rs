//! The same sandbox through `bwrap`, which may be allowed where our own user namespaces are forbidden.

use std::path::Path;

use super::layout::{Access, Layout, Step};
use super::watch::StartedProcess;
use super::{Ended, HOST, Isolation, Program, Ran, SandboxError, USER, enter, obstacle};
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
    enter::start_bare(Isolation::Bubblewrap, program, arguments(bwrap, program, layout))
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

fn arguments(bwrap: &str, program: &Program<'_>, layout: &Layout) -> Vec<String> {
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
            }
        }
    }
    add(&["--remount-ro", "/", "--chdir", program.directory]);
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
