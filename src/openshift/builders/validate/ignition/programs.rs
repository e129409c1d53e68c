//! Static pods in a config, and the files of the node that they need.

use super::super::Report;
use super::super::artifacts::Artifacts;
use super::{Node, nodes};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source};
use crate::engine::tree::leaf;
use crate::openshift::pod::{Container, containers};

pub(super) const MANIFESTS: &str = "/etc/kubernetes/manifests/";
/// Directories that the operating system provides or creates at boot.
const SYSTEM: [&str; 6] = ["/lib/", "/usr/", "/dev/", "/proc/", "/run/", "/sys/"];

/// Files that the kubelet of a joining node writes itself, once its first certificate request is granted: MCO's own
/// pods wait for them. The bootstrap node joins nothing.
const KUBELET: [&str; 2] = ["/var/lib/kubelet/kubeconfig", "/var/lib/kubelet/pki/"];

/// A static pod as the node gets it.
pub(super) struct Pod {
    pub(super) path: String,
    root: yaml::YamlNode,
    pub(super) containers: Vec<Container>,
}

pub(super) fn pods(node: &Node<'_>) -> Vec<Pod> {
    let mut found = Vec::new();
    for path in node.config.files.keys().filter(|path| path.starts_with(MANIFESTS)) {
        let Some(text) = node.text(path) else { continue };
        let documents = yaml::documents(Source { name: path, text: &text }, &mut Problems::default());
        for root in documents {
            let containers = containers(&root, &text);
            found.push(Pod { path: path.clone(), root, containers });
        }
    }
    found
}

/// Every file that a static pod's flag names, and everything that it mounts, exists on the node.
pub(in super::super) fn flag_files(artifacts: &Artifacts<'_>, report: &mut Report<'_>) {
    for node in &nodes(artifacts) {
        for pod in &pods(node) {
            for container in &pod.containers {
                for flag in &container.flags {
                    for host in flag.files().filter_map(|path| container.on_node(path)) {
                        let later =
                            node.role != "bootstrap" && KUBELET.iter().any(|path| host.starts_with(path));
                        if !node.config.has(&host) && !is_system(&host) && !is_made(pod, &host) && !later {
                            let message = format!("nothing writes `{host}` of `--{}`", flag.name);
                            node.report(report, &format!("{}:{}", pod.path, flag.line), message);
                        }
                    }
                }
            }
            for (host, kind, line) in volumes(pod) {
                let below = format!("{}/", host.trim_end_matches('/'));
                let written = match kind {
                    "File" => node.config.files.contains_key(host),
                    "Directory" => {
                        node.config.directories.contains_key(host)
                            || node.config.files.keys().any(|path| path.starts_with(&below))
                    }
                    _ => true,
                };
                if !written && !is_system(host) {
                    let message = format!("`{host}` is mounted as a {kind}, but nothing writes it");
                    node.report(report, &format!("{}:{line}", pod.path), message);
                }
            }
        }
    }
}

/// The first API server writes its audit log into a directory that root alone reads.
pub(in super::super) fn audit_log(artifacts: &Artifacts<'_>, report: &mut Report<'_>) {
    for node in nodes(artifacts).iter().filter(|node| node.bootstraps) {
        let runs =
            |container: &Container| container.program.iter().any(|word| leaf(word) == "kube-apiserver");
        for pod in &pods(node) {
            for server in pod.containers.iter().filter(|container| runs(container)) {
                for wanted in ["audit-log-path", "audit-policy-file"] {
                    if !server.flags.iter().any(|flag| flag.name == wanted) {
                        node.report(report, &pod.path, format!("there is no `--{wanted}`"));
                    }
                }
                for flag in server.flags.iter().filter(|flag| flag.name == "audit-log-path") {
                    let at = format!("{}:{}", pod.path, flag.line);
                    let path = flag.value.as_deref().unwrap_or_default();
                    let host = server.on_node(path).unwrap_or_default();
                    let dir = host.rsplit_once('/').map_or("", |(dir, _)| dir);
                    match node.config.directories.get(dir) {
                        None if dir.is_empty() => {
                            node.report(report, &at, format!("`{path}` is in no volume of the node"))
                        }
                        None => node.report(report, &at, format!("nothing creates `{dir}` for root alone")),
                        Some(made) if made.mode.is_none_or(|mode| mode & 0o077 != 0) => {
                            node.report(report, dir, "users other than root can read the audit log")
                        }
                        Some(_) => {}
                    }
                }
            }
        }
    }
}

/// Host path volumes: path, type, line.
fn volumes(pod: &Pod) -> impl Iterator<Item = (&str, &str, usize)> {
    let volumes = pod.root.get("spec").and_then(|spec| spec.get("volumes"));
    volumes.map(yaml::YamlNode::items).unwrap_or_default().iter().filter_map(|volume| {
        let host = volume.get("hostPath")?;
        let kind = host.get("type").and_then(yaml::YamlNode::text).unwrap_or_default();
        Some((host.get("path")?.text()?, kind, host.line))
    })
}

/// Whether a path is in a volume that is created if it is missing.
fn is_made(pod: &Pod, path: &str) -> bool {
    volumes(pod).any(|(host, kind, _)| {
        let rest = path.strip_prefix(host.trim_end_matches('/'));
        kind.ends_with("OrCreate") && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn is_system(path: &str) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}
