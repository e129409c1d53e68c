//! Checks of admission: the bootstrap node's API server is OpenShift's, and pods get a security context before the pivot.

use std::collections::BTreeSet;

use super::artifacts::{Artifacts, Document, File};
use super::pods::{Program, programs};
use super::{Check, Report, ignition};
use crate::base::yaml::YamlNode;
use crate::engine::tree::leaf;
use crate::openshift::knowledge::{Admission, TableFile};

/// The input with the files that programs of the bootstrap node are told to read.
const CONFIGS: &str = "configs";

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Flags that the file's own values overwrite, or are added to.
const OVERRULED: [&str; 6] = [
    "api-audiences",
    "bind-address",
    "secure-port",
    "service-account-issuer",
    "service-account-key-file",
    "service-cluster-ip-range",
];

/// An API server with OpenShift's own admission.
pub(super) const OPENSHIFT_CONFIG: Check = Check {
    name: "openshift-config",
    config: &[],
    run: |artifacts, report| {
        for server in programs(artifacts).iter().filter(|program| program.runs("kube-apiserver")) {
            for (flag, wanted) in [
                ("authorization-mode", "SystemMasters"),
                ("enable-admission-plugins", "security.openshift.io/SecurityContextConstraint"),
            ] {
                let found = server.flag(flag);
                let names = found.and_then(|flag| flag.value.as_deref()).unwrap_or_default();
                if !names.split(',').any(|one| one == wanted) {
                    let line = found.map_or(server.node.line, |flag| flag.line);
                    let message = format!("`--{flag}` has no `{wanted}`");
                    report.at(server.document, line, &server.field("args"), message);
                }
            }
            match server.flag("openshift-config").and_then(|flag| flag.value.as_deref()) {
                None => server.report(report, "args", "there is no `--openshift-config`"),
                Some(path) => match artifacts.of(CONFIGS).find(|file| file.path == leaf(path)) {
                    None => {
                        let message = format!(
                            "`{}` of `--openshift-config` is a file that nothing creates",
                            leaf(path)
                        );
                        server.report(report, "args", message);
                    }
                    Some(file) => config(artifacts, server, file, report),
                },
            }
        }
    },
};

/// What the file says agrees with the cluster's objects, and no flag says it too.
fn config(artifacts: &Artifacts<'_>, server: &Program<'_>, file: &File, report: &mut Report<'_>) {
    for flag in server.container.flags.iter().filter(|flag| OVERRULED.contains(&flag.name.as_str())) {
        let message = format!("`--{}` is overruled by `{}`", flag.name, file.path);
        report.at(server.document, flag.line, &server.field("args"), message);
        report.hint("leave the flag out, and change the file");
    }
    let Some(config) = file.documents().first() else { return };
    if config.text("kind") != Some("KubeAPIServerConfig") {
        report.add(&file.path, config.line("kind"), "kind", "it is not a KubeAPIServerConfig");
    }
    let subnets = config.text("servicesSubnet").unwrap_or_default();
    for network in artifacts.kind("config.openshift.io/v1", "Network") {
        let wanted: Vec<&str> =
            network.list("spec.serviceNetwork").iter().filter_map(YamlNode::text).collect();
        if wanted.join(",") != subnets {
            let message = format!("it is `{subnets}`, but Network `cluster` has `{}`", wanted.join(","));
            report.add(&file.path, config.line("servicesSubnet"), "servicesSubnet", message);
        }
    }
}

/// What happened during bootstrap is recorded, where root alone reads it.
pub(super) const AUDIT_LOG: Check =
    Check { name: "audit-log", config: &[], run: |artifacts, report| ignition::audit_log(artifacts, report) };

/// CRDs without which the API server never becomes ready, or admits nothing.
pub(super) const CRDS: Check = Check {
    name: "admission-crds",
    config: &["version", Admission::FILE],
    run: |artifacts, report| {
        let crds = artifacts.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let names: BTreeSet<&str> = crds.filter_map(|crd| crd.text("metadata.name")).collect();
        for (name, without) in artifacts.tables.admission_crds().filter(|(name, _)| !names.contains(name)) {
            report.add("crds", None, "", format!("the release has no CRD `{name}`: {without}"));
        }
    },
};

/// Pods that are admitted before the masters take over.
pub(super) const SCC: Check = Check {
    name: "scc-before-pivot",
    config: &["version", Admission::FILE],
    run: |artifacts, report| {
        if !programs(artifacts).iter().any(|program| program.runs("cluster-policy-controller")) {
            report.add("static-pods", None, "", "no static pod runs cluster-policy-controller");
        }
        let has = |version: &str, kind: &str, name: &str| {
            artifacts.kind(version, kind).any(|document| document.text("metadata.name") == Some(name))
        };
        for name in artifacts.tables.sccs() {
            if !has("security.openshift.io/v1", "SecurityContextConstraints", name) {
                report.add("manifests", None, "", format!("there is no SecurityContextConstraints `{name}`"));
            }
        }
        for name in artifacts.tables.roles() {
            if !has(RBAC, "ClusterRole", name) {
                report.add("manifests", None, "", format!("there is no ClusterRole `{name}`"));
            }
            // Its service account has the same name, in a namespace that has to be there too.
            let account = name.rsplit(':').next().unwrap_or_default();
            let binds = |binding: &Document| {
                let word =
                    |node: &YamlNode, key: &str| node.get(key).and_then(YamlNode::text).map(str::to_owned);
                binding.text("roleRef.name") == Some(name)
                    && binding.list("subjects").iter().any(|subject| {
                        word(subject, "kind").as_deref() == Some("ServiceAccount")
                            && word(subject, "name").as_deref() == Some(account)
                            && word(subject, "namespace").as_deref() == Some(NAMESPACE)
                    })
            };
            if !artifacts.kind(RBAC, "ClusterRoleBinding").any(binds) {
                let message = format!(
                    "no ClusterRoleBinding grants `{name}` to ServiceAccount `{NAMESPACE}/{account}`"
                );
                report.add("manifests", None, "", message);
            }
        }
        if !has("v1", "Namespace", NAMESPACE) {
            report.add("manifests", None, "", format!("there is no Namespace `{NAMESPACE}`"));
        }
    },
};

/// Where cluster-policy-controller has its service accounts.
const NAMESPACE: &str = "openshift-infra";
