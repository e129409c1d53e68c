//! The headings of a chapter, and the words for kinds of entries.

use crate::cli::node_entries::NodeEntry;

/// The heading that a derivation stands under.
pub(super) fn group_of(name: &str) -> &'static str {
    match name.split_once('/').map_or(name, |(folder, _)| folder) {
        _ if name == "release/crds" => "CRDs",
        "release" => "The release",
        "identity" => "Identity",
        "key" => "Keys",
        "pki" => "Certificates",
        "kubeconfig" => "Kubeconfigs",
        "static-pod" => "Static pods",
        "bootstrap-config" => "Configuration of the control plane",
        "mco" => "The render",
        "ignition" => "Configs",
        "ignition-id" => "Digests of configs",
        "infra" => "Network, load balancer, machines",
        "iso" => "Media",
        "script" => "The script",
        "manifest" => "Objects",
        "user" => "Your own objects",
        "hand-over" => "Objects that operators adopt",
        "check" => "What was checked",
        _ => "The whole",
    }
}

pub(super) fn kind_of(name: &str) -> &'static str {
    match name.split_once('/').map_or(name, |(folder, _)| folder) {
        "key" => "key",
        "pki" => "certificate",
        "kubeconfig" => "kubeconfig",
        "static-pod" => "static pod",
        "script" => "script",
        "ignition" => "Ignition",
        "infra" => "infrastructure",
        "check" => "check",
        "identity" => "value",
        _ => "artifact",
    }
}

/// The heading that a node's file stands under.
pub(super) fn area(one: &NodeEntry, is_bootstrap: bool) -> &'static str {
    let path = one.on_node();
    let has = |words: &[&str]| words.iter().any(|word| path.contains(word));
    match one.kind {
        _ if is_bootstrap => "On the bootstrap node",
        "user" => "Users",
        _ if has(&[
            "machine-config",
            "mcs-",
            "ignition-machine",
            "firstboot",
            "rpm-ostree",
            "zincati",
            "/etc/mco",
        ]) =>
        {
            "First boot and updates"
        }
        _ if has(&[
            "NetworkManager",
            "nmstate",
            "ovs",
            "openvswitch",
            "ipsec",
            "nodeip",
            "resolv",
            "keepalived",
            "coredns",
            "br-ex",
            "dnsmasq",
            "hostname",
            "node-ip",
            "primary-ip",
            "cni",
            "mtu",
            "ip-forwarding",
        ]) =>
        {
            "Network"
        }
        _ if has(&["crio", "/etc/containers", "/etc/docker", "docker.socket"]) => "CRI-O and images",
        _ if has(&["sysctl", "modules-load", "/etc/audit"]) => "Kernel",
        _ if has(&["kube", "node-sizing", "chrony", "system-reserved"]) => "Kubelet",
        _ => "Everything else",
    }
}
