//! The static pods: what they say in every kind of cluster, that every flag is known and explained, and that a real etcd
//! starts with ours.
//!
//! A real kube-apiserver is left out: nothing that a plain machine has brings one.

mod explain;
mod flags;
mod host;
mod pods;
mod topologies;

use std::fs;

use tinderbox::internals::hint::Problems;
use tinderbox::internals::pod::{Container, containers};
use tinderbox::internals::yaml::{Source, parse};

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
    let ws = Workspace::example().prebuilt();
    ws.ipv6_only();
    ws
}

/// The example with IPv6 beside IPv4.
fn dual_stack() -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.dual_stack();
    ws
}

/// The file of a static pod, which is built for it.
fn pod(ws: &Workspace, name: &str) -> String {
    let target = format!("static-pod/{name}");
    fs::read_to_string(ws.build_paths(&[&target])[&target].join(format!("{name}.yaml"))).unwrap()
}

/// The containers of a pod; each has the name of its program.
fn containers_of(text: &str) -> Vec<Container> {
    let mut problems = Problems::default();
    let root = parse(Source { name: "pod.yaml", text }, &mut problems).unwrap();
    assert!(problems.0.is_empty(), "{problems}");
    containers(&root, text)
}

/// The first container of a pod.
fn container(text: &str) -> Container {
    containers_of(text).remove(0)
}
