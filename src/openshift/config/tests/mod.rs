//! The config as a whole. Here: shared helpers, and the clusters of the examples and of `init`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod external;
mod fields;
mod in_place;
mod init;
mod mistakes;
mod platform;
mod problems;
mod schema;

use std::fmt::Write;

use super::*;
use crate::engine::fields::Projected;

const INSTALL: &str = include_str!("../../../../examples/ocp4/install-config.yaml");
const CLUSTER: &str = include_str!("../../../../examples/ocp4/cluster.yaml");

/// That of the example, as the content of `pull-secret.json`.
const PULL_SECRET: &str = r#"{"auths":{"example.invalid":{"auth":"ZGVtbzpkZW1v"}}}"#;

fn try_load(install: &str, cluster: &str) -> Result<Cluster, Problems> {
    load(
        Source { name: "install-config.yaml", text: install },
        Source { name: "cluster.yaml", text: cluster },
        &|file| match file {
            "pull-secret.json" => Ok(format!("{PULL_SECRET}\n")),
            _ => Err("no such file".to_owned()),
        },
    )
}

fn example() -> Cluster {
    try_load(INSTALL, CLUSTER).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The example with texts replaced in either file.
fn edited(edits: &[(&str, &str)]) -> Result<Cluster, Problems> {
    let (mut install, mut cluster) = (INSTALL.to_owned(), CLUSTER.to_owned());
    for (from, to) in edits {
        assert!(install.contains(from) || cluster.contains(from), "{from:?} is in neither file");
        install = install.replace(from, to);
        cluster = cluster.replace(from, to);
    }
    try_load(&install, &cluster)
}

/// What a recipe sees at a path, as JSON.
fn value(cluster: &Cluster, path: &str) -> String {
    match cluster.fields().project(path).unwrap().value {
        Projected::Plain(value) => value.to_string(),
        Projected::Secret(_) => panic!("`{path}` is secret"),
    }
}

fn report(edits: &[(&str, &str)]) -> String {
    edited(edits).map_or_else(|problems| problems.to_string(), |_| "no problems".to_owned())
}

/// An install-config with these counts and networks, and the `cluster.yaml` that `init` generates for it.
fn generated(masters: usize, workers: usize, machine: &[&str]) -> (String, Result<String, Problems>) {
    let has = |v4: bool| machine.iter().any(|network| network.contains('.') == v4);
    let mut networks = [("10.128.0.0/12", 23, "172.30.0.0/16"), ("fd01::/48", 64, "fd02::/112")];
    if machine[0].contains(':') {
        networks.reverse();
    }
    let used = networks.iter().filter(|(pods, ..)| has(pods.contains('.')));
    let (mut machines, mut pods, mut services) = (String::new(), String::new(), String::new());
    for network in machine {
        writeln!(machines, "  - cidr: {network}").unwrap();
    }
    for (cidr, prefix, service) in used {
        writeln!(pods, "  - {{cidr: '{cidr}', hostPrefix: {prefix}}}").unwrap();
        writeln!(services, "  - '{service}'").unwrap();
    }
    let text = format!(
        "apiVersion: v1\nmetadata: {{name: lab}}\nbaseDomain: example.com\nplatform: {{none: {{}}}}\n\
         controlPlane: {{name: master, replicas: {masters}}}\ncompute:\n- {{name: worker, replicas: {workers}}}\n\
         networking:\n  machineNetwork:\n{machines}  clusterNetwork:\n{pods}  serviceNetwork:\n{services}\
         pullSecret: '{{\"auths\":{{\"example.invalid\":{{\"auth\":\"ZGVtbzpkZW1v\"}}}}}}'\n"
    );
    let cluster = cluster_yaml_for(Source { name: "install-config.yaml", text: &text }, Known::default());
    (text, cluster.map(|generated| generated.text))
}

fn lab(masters: usize, workers: usize, machine: &[&str]) -> Cluster {
    let (install, cluster) = generated(masters, workers, machine);
    try_load(&install, &cluster.unwrap_or_else(|problems| panic!("{problems}"))).unwrap()
}

#[test]
fn the_example_is_a_highly_available_cluster() {
    let cluster = example();
    assert_eq!(cluster.domain(), "ocp4.example.com");
    assert_eq!(
        value(&cluster, "api.{url,internalUrl}"),
        r#"{"internalUrl":"https://api-int.ocp4.example.com:6443","url":"https://api.ocp4.example.com:6443"}"#
    );
    assert_eq!(cluster.control_plane_topology(), "HighlyAvailable");
    assert_eq!(cluster.infrastructure_topology(), "HighlyAvailable");
    assert!(!cluster.masters_schedulable());
    assert_eq!(cluster.kubernetes_ips()[0].to_string(), "172.30.0.1");
    assert_eq!(cluster.dns_ips()[0].to_string(), "172.30.0.10");
    assert_eq!(
        value(&cluster, "nodes.bootstrap.{vcpus,memoryMiB,diskGB}"),
        r#"{"diskGB":100,"memoryMiB":16384,"vcpus":4}"#
    );
    assert_eq!(
        value(&cluster, "nodes.worker-1.{vcpus,memoryMiB,diskGB}"),
        r#"{"diskGB":100,"memoryMiB":8192,"vcpus":4}"#
    );
    assert!(!format!("{cluster:?}").contains("ZGVtbzpkZW1v"));
}

#[test]
fn topologies_follow_the_replicas() {
    let of = |masters, workers| {
        let cluster = lab(masters, workers, &["192.168.126.0/24"]);
        (cluster.control_plane_topology(), cluster.infrastructure_topology(), cluster.masters_schedulable())
    };
    assert_eq!(of(3, 0), ("HighlyAvailable", "HighlyAvailable", true));
    assert_eq!(of(1, 0), ("SingleReplica", "SingleReplica", true));
    assert_eq!(of(1, 2), ("SingleReplica", "HighlyAvailable", false));
    assert_eq!(of(5, 1), ("HighlyAvailable", "SingleReplica", false));
}

#[test]
fn ipv6_and_dual_stack() {
    let v6 = lab(3, 2, &["fd00:1::/64"]);
    assert_eq!(v6.kubernetes_ips()[0].to_string(), "fd02::1");
    assert_eq!(v6.api_vips[0].to_string(), "fd00:1::a");
    let both = lab(3, 2, &["192.168.126.0/24", "fd00:1::/64"]);
    let addresses = both.fields().project("nodes.worker-0.addresses").unwrap().value;
    let Projected::Plain(addresses) = addresses else { panic!("{addresses:?}") };
    assert_eq!(
        addresses.to_string(),
        concat!(
            r#"[{"family":"ipv4","gateway":"192.168.126.1","ip":"192.168.126.110","prefix":24},"#,
            r#"{"family":"ipv6","gateway":"fd00:1::1","ip":"fd00:1::6e","prefix":64}]"#
        )
    );
    assert_eq!(both.dns_ips().len(), 2);
}

#[test]
fn old_field_names_are_read() {
    let old = "networking:\n  type: OVNKubernetes\n  machineCIDR: 192.168.126.0/24\n  serviceCIDR: 172.31.0.0/16\n  \
               clusterNetworks:\n  - {cidr: 10.64.0.0/14, hostSubnetLength: 9}\n";
    let start = INSTALL.find("networking:").unwrap();
    let end = INSTALL.find("# No integration").unwrap();
    let install = format!("{}{old}{}", &INSTALL[..start], &INSTALL[end..]);
    let cluster = try_load(&install, CLUSTER).unwrap();
    assert_eq!(cluster.networks.cluster[0].host_prefix, 23);
    assert_eq!(cluster.kubernetes_ips()[0].to_string(), "172.31.0.1");
    let fields = cluster.fields();
    let machine = fields.project("networks.machine").unwrap();
    assert_eq!(machine.reads[0].origins[0].field, "networking.machineCIDR");
    assert!(machine.reads[0].origins[0].line.is_some());
}
