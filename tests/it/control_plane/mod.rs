//! The static pods: what they say in every kind of cluster, that every flag is known and explained, and that a real etcd
//! starts with ours.
//!
//! A real kube-apiserver is left out: nothing that a plain machine has brings one.

mod etcd;
mod explain;
mod flags;
mod pods;

use std::fs;

use tinderbox::hint::Problems;
use tinderbox::pod::{Container, containers};
use tinderbox::yaml::{Source, parse};

use crate::harness::Workspace;

/// All static pods.
const PODS: [&str; 6] = [
    "cluster-version-operator",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
];

/// The example with one family, and that is IPv6.
fn ipv6() -> Workspace {
    let ws = Workspace::example();
    ws.edit("install-config.yaml", "192.168.126.0/24", "fd00:126::/64");
    ws.edit(
        "install-config.yaml",
        "cidr: 10.128.0.0/14\n    hostPrefix: 23",
        "cidr: fd01::/48\n    hostPrefix: 64",
    );
    ws.edit("install-config.yaml", "172.30.0.0/16", "fd02::/112");
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &text.replace("192.168.126.", "fd00:126::"));
    ws
}

/// The file of a static pod, which is built for it.
fn pod(ws: &Workspace, name: &str) -> String {
    let target = format!("static-pod/{name}");
    ws.build(&[&target]);
    fs::read_to_string(ws.path_of(&target).join(format!("{name}.yaml"))).unwrap()
}

/// The one container of a pod.
fn container(text: &str) -> Container {
    let mut problems = Problems::default();
    let root = parse(Source { name: "pod.yaml", text }, &mut problems).unwrap();
    assert!(problems.0.is_empty(), "{problems}");
    let mut found = containers(&root, text);
    assert_eq!(found.len(), 1);
    found.remove(0)
}
