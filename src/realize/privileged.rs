//! What needs root, and why: commands that the user can read, and run.

use serde::Serialize;

use super::wanted::Wanted;
use super::{Step, Thing};

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

/// A command that needs root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Privileged {
    /// The command, for a shell.
    pub command: String,
    /// Why it needs root, and what it is for.
    pub why: String,
}

/// All of them: on this machine with `sudo`, unless we are root; on another, for its administrator.
pub(super) fn list(wanted: &Wanted, steps: &[Step], access: Access) -> Vec<Privileged> {
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
    add(
        format!("{} open", file("firewall.sh")),
        "the host's firewall lets the nodes reach the load balancer, and the outside",
    );
    if !access.local || access.first_port > 80 {
        add(
            format!("haproxy -D -f {}", file("haproxy.cfg")),
            "the load balancer listens on ports 80 and 443, which are root's",
        );
    }
    all
}
