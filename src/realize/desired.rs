//! What the closure asks for: machines with their roles. How they are made is the provider's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::base::fs;

#[derive(Debug, Clone)]
pub(crate) struct Desired {
    pub closure: PathBuf,
    /// The cluster's id, which marks its machines.
    pub cluster: String,
    /// In the order of cluster.yaml.
    pub machines: Vec<DesiredMachine>,
}

#[derive(Debug, Clone)]
pub(crate) struct DesiredMachine {
    pub node: String,
    /// `bootstrap`, `master` or `worker`.
    pub role: String,
    /// The object id of the Ignition config that it boots with.
    pub ignition: String,
}

/// The images of the node OS that are on this machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct BootImages {
    /// Live ISOs by node.
    pub isos: BTreeMap<String, PathBuf>,
    /// The QEMU image that disks begin as, if they do.
    pub qcow2: Option<BaseImage>,
}

#[derive(Debug, Clone)]
pub(crate) struct BaseImage {
    /// None if it is not on this machine.
    pub path: Option<PathBuf>,
    pub sha256: String,
}

impl DesiredMachine {
    /// Whether it runs the temporary control plane, and is removed after the pivot.
    pub(crate) fn is_bootstrap(&self) -> bool {
        self.role == "bootstrap"
    }

    pub(crate) fn is_master(&self) -> bool {
        self.role == "master"
    }
}

impl Desired {
    /// Whether the only node bootstraps itself: there is no bootstrap machine.
    pub(crate) fn is_in_place(&self) -> bool {
        !self.machines.iter().any(DesiredMachine::is_bootstrap)
    }

    /// The load balancer's configuration, with or without the bootstrap machine as a backend.
    pub(super) fn haproxy_config(&self, pivoted: bool) -> PathBuf {
        self.artifact(if pivoted || self.is_in_place() { "haproxy-pivoted.cfg" } else { "haproxy.cfg" })
    }

    /// Whether there is a load balancer in front of the nodes: none where they hold the VIPs themselves, or have none.
    pub(super) fn has_load_balancer(&self) -> bool {
        fs::exists(&self.haproxy_config(false)).unwrap_or(true)
    }

    /// Whether the closure opens the host's firewall: not for machines of the user's own.
    pub(super) fn has_firewall(&self) -> bool {
        fs::exists(&self.artifact("firewall.sh")).unwrap_or(true)
    }

    /// The machine of a node.
    pub(super) fn machine(&self, node: &str) -> Option<&DesiredMachine> {
        self.machines.iter().find(|machine| machine.node == node)
    }

    /// A file of the closure's `infra` directory.
    pub(crate) fn artifact(&self, name: &str) -> PathBuf {
        self.closure.join("infra").join(name)
    }
}
