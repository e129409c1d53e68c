//! What a session's libvirt needs root for: networks, and permission for its machines to use a bridge.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::definitions::Definitions;
use crate::base::fs;
use crate::realize::HostAccess;
use crate::realize::plan::{PlanStep, ResourceKind};

/// The system's libvirt, as a command.
const SYSTEM: &str = "virsh -c qemu:///system";
/// Which bridges QEMU's helper lets every user's machines use.
const BRIDGES: &str = "/etc/qemu/bridge.conf";
/// Where the helper is, by distribution.
const HELPERS: [&str; 2] = ["/usr/lib/qemu/qemu-bridge-helper", "/usr/libexec/qemu-bridge-helper"];

/// Commands and their reasons, for a session; empty otherwise.
pub(super) fn to_apply(
    desired: &Definitions,
    steps: &[PlanStep],
    access: HostAccess,
) -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    let network = &desired.infrastructure.network;
    let makes_network =
        steps.iter().any(|step| step.resource == ResourceKind::Network && step.action.makes());
    if access.session && makes_network {
        let (name, file) = (&network.name, &network.file);
        all.push((
            format!("{SYSTEM} net-define {}", file.display()),
            "a session cannot create networks: the system's libvirt does",
        ));
        all.push((format!("{SYSTEM} net-start {name}"), "starts the bridge with its addresses and DNS"));
        all.push((format!("{SYSTEM} net-autostart {name}"), "starts it again after a reboot of the host"));
    }
    if access.session && access.local {
        let bridge = super::network::bridge(&network.xml);
        if !is_allowed(bridge) {
            let command = format!("sh -c 'mkdir -p /etc/qemu && echo allow {bridge} >> {BRIDGES}'");
            all.push((command, "lets the session's machines use the bridge"));
        }
        if let Some(helper) = helper_without_setuid() {
            let why = "QEMU's helper attaches machines to the bridge, and needs root for that";
            all.push((format!("chmod u+s {helper}"), why));
        }
    }
    all
}

/// Commands that remove the network from the system's libvirt.
pub(super) fn to_remove_network(desired: &Definitions) -> [(String, &'static str); 2] {
    let name = &desired.infrastructure.network.name;
    [
        (format!("{SYSTEM} net-destroy {name}"), "the network belongs to the system's libvirt"),
        (format!("{SYSTEM} net-undefine {name}"), "removes its definition"),
    ]
}

fn is_allowed(bridge: &str) -> bool {
    let text = fs::read_text(Path::new(BRIDGES)).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("allow "))
        .any(|name| [bridge, "all"].contains(&name.trim()))
}

/// The helper, if no installed one is setuid.
fn helper_without_setuid() -> Option<&'static str> {
    const SETUID: u32 = 0o4000;
    let mode = |path: &&str| fs::metadata(Path::new(path)).map(|found| found.permissions().mode());
    let found: Vec<(&str, u32)> = HELPERS.iter().filter_map(|path| Some((*path, mode(path).ok()?))).collect();
    found.iter().all(|(_, mode)| mode & SETUID == 0).then(|| found.first().map(|(path, _)| *path)).flatten()
}
