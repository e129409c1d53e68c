//! Checks of static pods, which a node's kubelet starts before there is an API.

use super::artifacts::{Artifacts, Document};
use super::certificates::{self, find};
use super::ignition;
use super::{Check, Report};
use crate::base::yaml::YamlNode;
use crate::engine::tree::leaf;
use crate::openshift::pod::{Container, Flag, containers};

/// The input with static pods.
pub(super) const INPUT: &str = "pods";

/// The bootstrap node's keys and certificates.
const SECRETS: &str = "/etc/kubernetes/bootstrap-secrets/";
/// Its kubeconfigs.
const KUBECONFIGS: &str = "/etc/kubernetes/kubeconfigs/";

/// A container of a static pod.
pub(super) struct Program<'a> {
    pub(super) document: &'a Document,
    /// The container in its file.
    pub(super) node: &'a YamlNode,
    pub(super) container: Container,
    place: String,
}

impl Program<'_> {
    /// Whether it runs a program of that name, directly or through hyperkube.
    pub(super) fn runs(&self, name: &str) -> bool {
        self.container.program.iter().any(|word| leaf(word) == name)
    }

    /// The last flag of a name, which counts.
    pub(super) fn flag(&self, name: &str) -> Option<&Flag> {
        self.container.flags.iter().rev().find(|flag| flag.name == name)
    }

    /// The path of one of its fields.
    pub(super) fn field(&self, name: &str) -> String {
        format!("{}.{name}", self.place)
    }

    /// Adds a finding at a field, or at the container if it has no such field.
    pub(super) fn report(&self, report: &mut Report<'_>, field: &str, message: impl Into<String>) {
        let line = self.node.get(field).unwrap_or(self.node).line;
        report.at(self.document, line, &self.field(field), message);
    }

    /// Whether it runs privileged.
    pub(super) fn is_privileged(&self) -> bool {
        let context = self.node.get("securityContext");
        context.and_then(|context| context.get("privileged")).and_then(YamlNode::text) == Some("true")
    }
}

/// All containers of all static pods.
pub(super) fn programs<'a>(artifacts: &'a Artifacts<'_>) -> Vec<Program<'a>> {
    let mut found = Vec::new();
    for file in artifacts.of(INPUT) {
        for document in file.documents().iter().filter(|document| document.text("kind") == Some("Pod")) {
            let nodes = ["initContainers", "containers"].into_iter().flat_map(|list| {
                let nodes = document.list(&format!("spec.{list}")).iter().enumerate();
                nodes.map(move |(at, node)| (format!("spec.{list}[{at}]"), node))
            });
            let read = containers(&document.root, &file.text);
            found.extend(nodes.zip(read).map(|((place, node), container)| Program {
                document,
                node,
                container,
                place,
            }));
        }
    }
    found
}

/// The CVO runs where nothing schedules pods.
pub(super) const CVO_STATIC_POD: Check = Check {
    name: "cvo-static-pod",
    config: &[],
    run: |artifacts, report| {
        if !programs(artifacts).iter().any(|program| program.runs("cluster-version-operator")) {
            report.add("static-pods", None, "", "no static pod runs cluster-version-operator");
        }
    },
};

/// The CVO finds its manifests and needs no certificate.
pub(super) const CVO_FLAGS: Check = Check {
    name: "cvo-flags",
    config: &[],
    run: |artifacts, report| {
        let programs = programs(artifacts);
        for program in programs.iter().filter(|program| program.runs("cluster-version-operator")) {
            match program.flag("listen") {
                Some(Flag { value: Some(value), .. }) if value.is_empty() => {}
                Some(flag) => {
                    report.at(program.document, flag.line, &program.field("args"), "`--listen` is not empty")
                }
                None => program.report(report, "args", "there is no `--listen=`"),
            }
            let word = |node: &YamlNode, key: &str| node.get(key).and_then(YamlNode::text).map(str::to_owned);
            let mut variables = program.node.get("env").map(YamlNode::items).unwrap_or_default().iter();
            let profile = variables.find(|one| word(one, "name").as_deref() == Some("CLUSTER_PROFILE"));
            if profile.and_then(|one| word(one, "value")).as_deref() != Some("self-managed-high-availability")
            {
                program.report(report, "env", "CLUSTER_PROFILE is not `self-managed-high-availability`");
            }
            if !program.is_privileged() {
                program.report(report, "securityContext", "it is not privileged");
            }
        }
    },
};

/// Aggregated APIs trust the API server.
pub(super) const FRONT_PROXY: Check = Check {
    name: "front-proxy-names",
    config: &[],
    run: |artifacts, report| {
        let programs = programs(artifacts);
        let mut servers = programs.iter().filter(|program| program.runs("kube-apiserver")).peekable();
        if servers.peek().is_none() {
            report.add("static-pods", None, "", "no static pod runs kube-apiserver");
        }
        for server in servers {
            let file = server.flag("proxy-client-cert-file").and_then(|flag| flag.value.as_deref());
            let Some(file) = file else {
                server.report(report, "args", "there is no `--proxy-client-cert-file`");
                continue;
            };
            let Some((_, certificate)) = find(artifacts, leaf(file), report) else { continue };
            let name = certificate.common_name().unwrap_or_default();
            let flag = server.flag("requestheader-allowed-names");
            let names = flag.and_then(|flag| flag.value.as_deref()).unwrap_or_default();
            if !names.split(',').any(|one| one == name) {
                let line = flag.map_or(server.node.line, |flag| flag.line);
                let message = format!("`{name}` of {} is not among `{names}`", leaf(file));
                report.at(server.document, line, &server.field("args"), message);
                report.hint(format!("add `{name}` to `--requestheader-allowed-names`"));
            }
        }
    },
};

/// Programs find their files: a derivation creates them, and the node's Ignition writes them.
pub(super) const FLAG_FILES: Check = Check {
    name: "flag-files-exist",
    config: &[],
    run: |artifacts, report| {
        ignition::flag_files(artifacts, report);
        for program in &programs(artifacts) {
            for flag in &program.container.flags {
                for path in flag.files() {
                    let Some(host) = program.container.on_node(path) else {
                        let message = format!("`{path}` of `--{}` is in no volume of the node", flag.name);
                        report.at(program.document, flag.line, &program.field("volumeMounts"), message);
                        continue;
                    };
                    let made = if let Some(name) = host.strip_prefix(SECRETS) {
                        // Every node has its own under this name.
                        match name.strip_prefix("etcd-peer.") {
                            Some(end) => {
                                let is_one =
                                    |file: &str| file.starts_with("etcd-peer-") && file.ends_with(end);
                                artifacts.any(certificates::INPUT, is_one)
                                    || artifacts.any("names-keys", is_one)
                            }
                            None => {
                                artifacts.has(certificates::INPUT, name) || artifacts.has("names-keys", name)
                            }
                        }
                    } else if let Some(name) = host.strip_prefix(KUBECONFIGS) {
                        artifacts.has("names-kubeconfigs", name)
                    } else {
                        true
                    };
                    if !made {
                        let message = format!("`{host}` of `--{}` is a file that nothing creates", flag.name);
                        report.at(program.document, flag.line, &program.field("args"), message);
                    }
                }
            }
        }
    },
};
