//! kube-proxy on masters: it is there with an identity of its own, and something removes it.

use super::super::artifacts::Artifacts;
use super::super::{Check, Report};
use super::programs::{MANIFESTS, Pod, pods};
use super::{Node, are_there, nodes};
use crate::engine::tree::leaf;
use crate::openshift::ignition::unit;
use crate::openshift::pod::{Container, Flag};
use crate::openshift::trust::client_certificate;

/// The user that the API server itself binds to system:node-proxier.
const USER: &str = "system:kube-proxy";

/// Every master has the pod that makes service addresses work. Returns whether there are configs to check.
pub(in super::super) fn kube_proxy(artifacts: &Artifacts<'_>, report: &mut Report<'_>) -> bool {
    for node in nodes(artifacts).iter().filter(|node| node.role == "master") {
        let proxies = proxies(node);
        if proxies.is_empty() {
            node.report(report, MANIFESTS, "no static pod runs kube-proxy");
        }
        for (pod, container) in &proxies {
            identity(node, pod, container, report);
        }
    }
    are_there(artifacts)
}

/// kube-proxy does not outlive its use.
pub(in super::super) const CLEANUP: Check = Check {
    name: "kube-proxy-cleanup",
    config: &["service_networks"],
    run: |artifacts, report| {
        let networks = artifacts.config_texts("service_networks");
        for node in nodes(artifacts).iter().filter(|node| node.role == "master") {
            for (pod, container) in proxies(node) {
                let kubeconfig = kubeconfig(&container).map(|(path, _)| path).unwrap_or_default();
                let names: Vec<&str> =
                    [pod.path.as_str(), &kubeconfig].into_iter().chain(networks.iter().copied()).collect();
                if !removes(node, &names) {
                    let message = format!(
                        "no enabled unit runs a script of this node with {} in it",
                        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                    );
                    node.report(report, &pod.path, message);
                }
            }
        }
    },
};

/// The static pods that run kube-proxy, each with that container.
fn proxies(node: &Node<'_>) -> Vec<(Pod, Container)> {
    let runs = |container: &&Container| container.program.iter().any(|word| leaf(word) == "kube-proxy");
    let found = pods(node).into_iter().filter_map(|pod| {
        let container = pod.containers.iter().find(runs)?.clone();
        Some((pod, container))
    });
    found.collect()
}

/// The kubeconfig of a container on the node, and the flag that names it.
fn kubeconfig(container: &Container) -> Option<(String, &Flag)> {
    let flag = container.flags.iter().find(|flag| flag.name == "kubeconfig")?;
    Some((container.on_node(flag.value.as_deref()?)?, flag))
}

/// It is the user that may watch services, and nobody else.
fn identity(node: &Node<'_>, pod: &Pod, container: &Container, report: &mut Report<'_>) {
    let Some((path, flag)) = kubeconfig(container) else {
        return node.report(report, &pod.path, "kube-proxy has no `--kubeconfig` of this node");
    };
    // Whether the file exists is for another check.
    let Some(text) = node.text(&path) else { return };
    let field = format!("{}:{}", pod.path, flag.line);
    match client_certificate(&path, &text) {
        Err(problem) => node.report(report, &field, problem),
        Ok(one) if one.common_name() != Some(USER) || !one.organizations().is_empty() => {
            let message = format!("kube-proxy is `{}`, not `CN={USER}`", one.subject());
            node.report(report, &field, message);
        }
        Ok(_) => {}
    }
}

/// Whether an enabled unit runs a script that has all of these names in it.
fn removes(node: &Node<'_>, names: &[&str]) -> bool {
    let enabled = node.config.units.values().filter(|unit| unit.enabled == Some(true));
    let texts = enabled.filter_map(|one| one.contents.as_deref()).map(unit);
    let mut scripts =
        texts.flat_map(|unit| unit.values("Service", "ExecStart").map(str::to_owned).collect::<Vec<_>>());
    scripts.any(|command| {
        let program = command.split_whitespace().next().unwrap_or_default();
        node.text(program).is_some_and(|text| names.iter().all(|name| text.contains(name)))
    })
}
