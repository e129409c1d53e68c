//! Explains why there is no sandbox, and what to change: the system says `EPERM` for a dozen reasons.

use std::path::Path;

use rustix::io::Errno;

use super::enter::ChildMessage;
use super::layout::Layout;
use super::{Isolation, SandboxError};
use crate::base::fs;

/// Settings that forbid user namespaces: the file, the forbidding value, and how to allow them.
const SETTINGS: [(&str, &str, &str); 3] = [
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=15000"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0 (or an AppArmor profile with `userns,` for tinderbox)",
    ),
];

/// Files that container engines create in their containers.
const CONTAINERS: [&str; 2] = ["/run/.containerenv", "/.dockerenv"];

pub(super) fn forbidden(what: &str, errno: Option<Errno>) -> SandboxError {
    let what = match errno {
        Some(errno) => format!("{what} ({})", std::io::Error::from(errno)),
        None => what.to_owned(),
    };
    SandboxError::Forbidden { what, advice: advice() }
}

/// What to change on this machine, as far as we can tell.
fn advice() -> String {
    let says = |path: &str| fs::read_text(Path::new(path)).unwrap_or_default();
    let setting = SETTINGS.iter().find(|(path, forbids, _)| says(path).trim() == *forbids);
    if let Some((_, _, change)) = setting {
        return format!("as root, `{change}`; or install bubblewrap");
    }
    if CONTAINERS.iter().any(|path| fs::exists(Path::new(path)).unwrap_or(false)) {
        return "this is a container: start it with `--security-opt seccomp=unconfined` (and `--security-opt apparmor=unconfined` \
                where there is AppArmor), so that namespaces can be made in it"
            .into();
    }
    "allow user namespaces (`sysctl user.max_user_namespaces`, seccomp, AppArmor or SELinux forbid them here), or install bubblewrap"
        .into()
}

/// Explains a failed `clone`.
pub(super) fn of_clone(isolation: Isolation, errno: Errno) -> SandboxError {
    let denied = [Errno::PERM, Errno::NOSPC, Errno::USERS, Errno::INVAL, Errno::NOSYS, Errno::ACCESS];
    if denied.contains(&errno) {
        let what = match isolation {
            Isolation::User => "cannot create user namespaces",
            Isolation::Root | Isolation::Bubblewrap => "cannot create namespaces",
        };
        // These two mean that a limit is reached; their texts are about disks and users.
        return match errno {
            Errno::NOSPC | Errno::USERS => forbidden(&format!("{what}: the system's limit is reached"), None),
            errno => forbidden(what, Some(errno)),
        };
    }
    SandboxError::Failed { what: "cannot create a process".into(), source: errno.into() }
}

/// Explains why the first process could not continue.
pub(super) fn of_child(isolation: Isolation, layout: &Layout, word: u32, errno: Errno) -> SandboxError {
    let what = what(layout, word);
    // AppArmor allows creating the namespace and then forbids everything inside it.
    let early = word <= ChildMessage::Root as u32 || (word == ChildMessage::Step as u32);
    if isolation != Isolation::Bubblewrap && early && [Errno::PERM, Errno::ACCESS].contains(&errno) {
        return forbidden(&format!("cannot {what} in a new namespace"), Some(errno));
    }
    SandboxError::Failed { what: format!("cannot {what}"), source: errno.into() }
}

fn what(layout: &Layout, word: u32) -> String {
    if let Some(step) =
        word.checked_sub(ChildMessage::Step as u32).and_then(|number| layout.steps.get(number as usize))
    {
        return step.describe();
    }
    let stages = [
        (ChildMessage::Leash, "start, because tinderbox is gone"),
        (ChildMessage::Users, "map the user"),
        (ChildMessage::Host, "set the host's name"),
        (ChildMessage::Network, "set up the loopback interface"),
        (ChildMessage::Private, "make mounts private"),
        (ChildMessage::Root, "mount a root"),
        (ChildMessage::Pivot, "change to the new root"),
        (ChildMessage::Privileges, "give up privileges"),
        (ChildMessage::Fork, "start a process"),
        (ChildMessage::Limits, "set limits"),
        (ChildMessage::User, "become an unprivileged user"),
        (ChildMessage::Filter, "install the system-call filter or Landlock"),
        (ChildMessage::Directory, "enter the working directory"),
    ];
    let found = stages.iter().find(|(stage, _)| *stage as u32 == word);
    found.map_or("go on", |(_, what)| what).to_owned()
}
