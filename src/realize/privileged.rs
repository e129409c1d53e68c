//! What needs root, and why: commands that the user can read, and run.

use serde::Serialize;

use super::balancer::{self, Balancer};
use super::wanted::Wanted;
use super::{State, Step, Thing};

/// What this process may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
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

/// A command that needs root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Privileged {
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
    if access.session && network {
        let bridge = wanted.network.xml.at("bridge").map_or("", |bridge| bridge.attribute("name"));
        let system = "virsh -c qemu:///system";
        add(
            format!("{system} net-define {}", file("network.xml")),
            "a session cannot make networks: the system's libvirt does",
        );
        add(format!("{system} net-start {}", wanted.network.name), "the bridge, its addresses and its DNS");
        add(format!("{system} net-autostart {}", wanted.network.name), "also after the host was restarted");
        add(
            format!("sh -c 'echo allow {bridge} >> /etc/qemu/bridge.conf'"),
            "the session's machines may use that bridge",
        );
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
