//! What the user's files say, and what is around the cluster.

use super::Change::{Edit, Recipe};
use super::{Mutation, each_is_found, first_of_each};

pub(super) const MUTATIONS: &[Mutation] = &[
    // The user's files.
    (
        "addresses",
        &[],
        Edit("cluster.yaml", "api: 192.168.126.10\n", "api: 192.168.127.10\n"),
        "vips.api: `192.168.127.10` is not inside the machine network",
    ),
    (
        "families",
        &[],
        Edit("install-config.yaml", "  - 172.30.0.0/16", "  - fd02::/112"),
        "networking.serviceNetwork",
    ),
    (
        "machine-size",
        &[],
        Edit("cluster.yaml", "ip: 192.168.126.101", "memory: 8GiB, ip: 192.168.126.101"),
        "nodes.master-0.memory: 8192 MiB is less than a master node needs",
    ),
    (
        "machine-size",
        &[],
        Edit("cluster.yaml", "ip: 192.168.126.110", "vcpus: 1, disk: 20GB, ip: 192.168.126.110"),
        "nodes.worker-0.disk: 20 GB is less than a worker node needs",
    ),
    (
        "networks-disjoint",
        &[],
        Edit("install-config.yaml", "  - 172.30.0.0/16", "  - 10.128.0.0/16"),
        "networking.serviceNetwork",
    ),
    (
        "node-network",
        &[],
        Edit(
            "cluster.yaml",
            "ip: 192.168.126.110}",
            "ip: 192.168.126.110, networkConfig: {interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, \
             address: [{ip: 192.168.126.110, prefix-length: 24}]}}]}}",
        ),
        "nodes.worker-0.networkConfig: there is no default route for IPv4, and no DHCP that brings one",
    ),
    ("replicas", &[], Edit("install-config.yaml", "replicas: 2", "replicas: 1"), "replicas"),
    // Around the cluster.
    (
        "haproxy-tcp-checks",
        &[],
        Recipe("70-infra/_haproxy.j2", &[("option tcp-check", "option httpchk")]),
        "haproxy.cfg:",
    ),
];

#[test]
fn each_check_finds_its_first_mutation() {
    each_is_found(&first_of_each(MUTATIONS).0);
}

mod host {
    #[test]
    fn each_check_finds_its_other_mutations() {
        super::each_is_found(&super::first_of_each(super::MUTATIONS).1);
    }
}
