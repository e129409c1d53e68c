//! A node that bootstraps itself: its first control plane yields to that of the operators, and its kubelet starts before there
//! is an API, and joins afterwards.

use super::super::Check;
use super::boot::commands;
use super::programs::{MANIFESTS, Pod, pods};
use super::{Node, nodes};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlNode};
use crate::engine::tree::leaf;
use crate::openshift::pod::Container;

const KUBELET: &str = "kubelet.service";
const KUBELET_CONFIG: &str = "/etc/kubernetes/kubelet.conf";
const HOSTNAME: &str = "/etc/hostname";

/// The programs that operators take over; `operands.toml` has the files of their pods.
const REPLACED_PROGRAMS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Operators write over the first control plane, and nothing runs twice.
pub(in super::super) const REPLACED: Check = Check {
    name: "in-place-static-pods",
    config: &["nodes", "operands.toml", "version"],
    run: |artifacts, report| {
        for node in nodes(artifacts).iter().filter(|node| node.bootstraps) {
            let pods = pods(node);
            for program in REPLACED_PROGRAMS {
                let file = artifacts.tables.operand(&format!("{program}-manifest"));
                let wanted = format!("{MANIFESTS}{file}");
                let found: Vec<&Pod> = pods.iter().filter(|pod| runs(pod, program).is_some()).collect();
                if !found.iter().any(|pod| pod.path == wanted) {
                    node.report(report, &wanted, format!("no pod in it runs {program}"));
                }
                for other in found.iter().filter(|pod| pod.path != wanted) {
                    let message = format!("it runs {program}, but its operator replaces only {wanted}");
                    node.report(report, &other.path, message);
                }
            }
        }
    },
};

/// etcd's member is the one that the operator expects.
pub(in super::super) const MEMBER_NAME: Check = Check {
    name: "in-place-member",
    config: &["nodes"],
    run: |artifacts, report| {
        for node in nodes(artifacts).iter().filter(|node| node.bootstraps) {
            let name = node.text(HOSTNAME).unwrap_or_default();
            let name = name.trim();
            let pods = pods(node);
            for (pod, etcd) in pods.iter().filter_map(|pod| Some((pod, runs(pod, "etcd")?))) {
                let value = |wanted: &str| {
                    let flag = etcd.flags.iter().rev().find(|flag| flag.name == wanted);
                    flag.and_then(|flag| flag.value.as_deref()).unwrap_or_default()
                };
                let found = value("name");
                if found != name {
                    let message = format!("`--name` is `{found}`, not the node's, `{name}`");
                    node.report(report, &pod.path, message);
                }
                let members = value("initial-cluster");
                if members.split(',').count() != 1 || !members.starts_with(&format!("{name}=")) {
                    let message = format!("`--initial-cluster` does not start with `{name}` alone");
                    node.report(report, &pod.path, message);
                }
            }
        }
    },
};

/// The kubelet starts static pods at once, and asks for its certificate meanwhile.
pub(in super::super) const JOINS: Check = Check {
    name: "in-place-kubelet",
    config: &["nodes"],
    run: |artifacts, report| {
        for node in nodes(artifacts).iter().filter(|node| node.bootstraps) {
            let commands = commands(node, KUBELET);
            let words: Vec<&String> = commands.iter().flatten().collect();
            for flag in ["--bootstrap-kubeconfig", "--kubeconfig"] {
                if !words.iter().any(|word| *word == flag || word.starts_with(&format!("{flag}="))) {
                    node.report(report, KUBELET, format!("it has no `{flag}`: the node never joins"));
                }
            }
            if !rotates(node) {
                let message = "`rotateCertificates` is not true: the kubelet waits for a certificate before it starts pods";
                node.report(report, KUBELET_CONFIG, message);
            }
        }
    },
};

/// Whether the kubelet's configuration turns on rotation of its client certificate.
fn rotates(node: &Node<'_>) -> bool {
    let text = node.text(KUBELET_CONFIG).unwrap_or_default();
    let config = yaml::parse(Source { name: KUBELET_CONFIG, text: &text }, &mut Problems::default());
    let field = config.as_ref().and_then(|config| config.get("rotateCertificates"));
    field.and_then(YamlNode::text) == Some("true")
}

/// The container of a pod that runs a program.
fn runs<'p>(pod: &'p Pod, program: &str) -> Option<&'p Container> {
    let is_it = |container: &&Container| container.program.iter().any(|word| leaf(word) == program);
    pod.containers.iter().find(is_it)
}
