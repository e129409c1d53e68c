//! What needs root, and why: commands that the user can read, and run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde::Serialize;

use super::balancer::{self, Balancer};
use super::wanted::Wanted;
use super::{State, Step, Thing};
use crate::base::fs;

/// What this process may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// Whether it is root.
    pub root: bool,
    /// Whether libvirt is on this machine.
    pub local: bool,
    /// Whether it is a user's own, which has no networks.
    pub session: bool,
    /// The first port that everybody may listen on.
    pub first_port: u32,
}

impl Access {
    /// Whether we may start a load balancer that libvirt's machines reach.
    pub(super) fn may_listen(self) -> bool {
        self.local && (self.root || self.first_port <= 80)
    }
}

/// The system's libvirt, as a command.
const SYSTEM: &str = "virsh -c qemu:///system";
/// Which bridges QEMU's helper may use for anybody.
const BRIDGES: &str = "/etc/qemu/bridge.conf";
/// Where the helper is, by distribution.
const HELPERS: [&str; 2] = ["/usr/lib/qemu/qemu-bridge-helper", "/usr/libexec/qemu-bridge-helper"];

/// Whether everybody's machines may use a bridge.
fn is_allowed(bridge: &str) -> bool {
    let text = fs::read_text(Path::new(BRIDGES)).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("allow "))
        .any(|name| [bridge, "all"].contains(&name.trim()))
}

/// The helper, if it cannot do its work for us.
fn plain_helper() -> Option<&'static str> {
    const SETUID: u32 = 0o4000;
    let mode = |path: &&str| fs::metadata(Path::new(path)).map(|found| found.permissions().mode());
    let there: Vec<(&str, u32)> = HELPERS.iter().filter_map(|path| Some((*path, mode(path).ok()?))).collect();
    there.iter().all(|(_, mode)| mode & SETUID == 0).then(|| there.first().map(|(path, _)| *path)).flatten()
}

/// What is left after everything that we may remove was removed.
pub(super) fn leftovers(
    wanted: &Wanted,
    balancers: &[i32],
    network: bool,
    access: Access,
) -> Vec<Privileged> {
    let mut all = Vec::new();
    let mut add = |command: String, why: &str| {
        all.push(Privileged { command: format!("sudo {command}"), why: why.to_owned() });
    };
    for pid in balancers {
        add(format!("kill {pid}"), "the load balancer is root's");
    }
    if access.local && !access.root {
        add(
            format!("{} close", wanted.artifact("firewall.sh").display()),
            "the firewall's openings, if they were made",
        );
    }
    if network {
        let name = &wanted.network.name;
        add(format!("{SYSTEM} net-destroy {name}"), "the network is the system's");
        add(format!("{SYSTEM} net-undefine {name}"), "and is forgotten");
    }
    all
}

/// A command that needs root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Privileged {
    /// The command, for a shell.
    pub command: String,
    /// Why it needs root, and what it is for.
    pub why: String,
}

/// All of them: on this machine with `sudo`, unless we are root; on another, for its administrator.
pub(super) fn list(
    wanted: &Wanted,
    steps: &[Step],
    pivoted: bool,
    running: Option<&Balancer>,
    state: &State,
    access: Access,
) -> Vec<Privileged> {
    let mut all = Vec::new();
    let mut add = |command: String, why: &str| {
        let command = if access.root { command } else { format!("sudo {command}") };
        all.push(Privileged { command, why: why.to_owned() });
    };
    let file = |name: &str| wanted.artifact(name).display().to_string();
    let network = steps.iter().any(|step| step.thing == Thing::Network && step.action.makes());
    let bridge = wanted.network.xml.at("bridge").map_or("", |bridge| bridge.attribute("name"));
    if access.session && network {
        add(
            format!("{SYSTEM} net-define {}", file("network.xml")),
            "a session cannot make networks: the system's libvirt does",
        );
        add(format!("{SYSTEM} net-start {}", wanted.network.name), "the bridge, its addresses and its DNS");
        add(format!("{SYSTEM} net-autostart {}", wanted.network.name), "also after the host was restarted");
    }
    if access.session && access.local {
        if !is_allowed(bridge) {
            let command = format!("sh -c 'mkdir -p /etc/qemu && echo allow {bridge} >> {BRIDGES}'");
            add(command, "the session's machines may use that bridge");
        }
        if let Some(helper) = plain_helper() {
            add(format!("chmod u+s {helper}"), "QEMU's helper, which puts them there, is root's");
        }
    }
    // As root we look whether it is open; others cannot.
    let closed = |step: &Step| step.thing == Thing::Firewall && step.action.makes();
    if !access.root || !access.local || steps.iter().any(closed) {
        let why = "the host's firewall lets the nodes reach the load balancer, and the outside";
        add(format!("{} open", file("firewall.sh")), why);
    }
    let runs = steps.iter().any(|step| step.thing == Thing::Balancer && !step.action.makes());
    if !access.may_listen() && !runs {
        let configuration = wanted.balancer(pivoted);
        let words = match access.local {
            true => balancer::command(state, &configuration, running),
            false => vec!["-D".into(), "-f".into(), configuration.display().to_string()],
        };
        add(
            format!("haproxy {}", words.join(" ")),
            "the load balancer listens on ports 80 and 443, which are root's",
        );
    }
    all
}
