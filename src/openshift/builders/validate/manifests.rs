//! Checks of cluster manifests.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::artifacts::{Artifacts, Document, meaning};
use super::{Check, Report};
use crate::base::yaml::{self, Source, YamlNode};

/// The API server rejects invalid manifests late.
pub(super) const PARSES: Check = Check {
    name: "manifest-parses",
    config: &[],
    run: |artifacts, report| {
        for problem in artifacts.problems() {
            report.add(
                &problem.place.file,
                problem.place.line,
                &problem.place.field,
                problem.message.clone(),
            );
        }
        for document in artifacts.documents() {
            for field in ["apiVersion", "kind", "metadata.name"] {
                if document.text(field).is_none_or(str::is_empty) {
                    report.add(&document.file, document.line(field), field, "it is missing");
                }
            }
        }
    },
};

/// The cluster's domain, not the company's base domain.
pub(super) const DNS_BASE_DOMAIN: Check = Check {
    name: "dns-base-domain",
    config: &["domain"],
    run: |artifacts, report| {
        let wanted = artifacts.config_text("domain");
        one(artifacts, report, "config.openshift.io/v1", "DNS", |document, report| {
            let found = document.text("spec.baseDomain").unwrap_or_default();
            if found != wanted {
                let message = format!("it is `{found}`, not `{wanted}`");
                report.add(&document.file, document.line("spec.baseDomain"), "spec.baseDomain", message);
            }
        });
    },
};

/// The network operator reads its own Network, all others read the other one.
pub(super) const OPERATOR_NETWORK: Check = Check {
    name: "operator-network",
    config: &[],
    run: |artifacts, report| {
        let mut seen: Vec<(&Document, [String; 2])> = Vec::new();
        for version in ["config.openshift.io/v1", "operator.openshift.io/v1"] {
            match artifacts.kind(version, "Network").next() {
                Some(document) => {
                    let cidrs = ["spec.clusterNetwork", "spec.serviceNetwork"]
                        .map(|path| document.get(path).map(meaning).unwrap_or_default());
                    seen.push((document, cidrs));
                }
                None => report.add("manifests", None, "", format!("there is no {version} Network")),
            }
        }
        if let [(_, one), (document, other)] = seen.as_slice() {
            for (at, field) in ["spec.clusterNetwork", "spec.serviceNetwork"].into_iter().enumerate() {
                if one[at] != other[at] {
                    report.add(
                        &document.file,
                        document.line(field),
                        field,
                        "it differs from that of the other Network",
                    );
                }
            }
        }
    },
};

/// Operators read the status, and the network operator, which writes it, starts late.
pub(super) const NETWORK_STATUS: Check = Check {
    name: "network-status",
    config: &[],
    run: |artifacts, report| {
        one(artifacts, report, "config.openshift.io/v1", "Network", |document, report| {
            let [spec, status] = ["spec.serviceNetwork", "status.serviceNetwork"];
            for field in [spec, status].into_iter().filter(|field| document.list(field).is_empty()) {
                report.add(&document.file, document.line(field), field, "it is empty or missing");
            }
            let mean = |field: &str| document.get(field).map(meaning);
            if !document.list(status).is_empty() && mean(spec) != mean(status) {
                report.add(&document.file, document.line(status), status, "it differs from that of the spec");
            }
        });
    },
};

/// The CRDs accept any text here: nothing validates it before the network operator.
pub(super) const NETWORK_CIDRS: Check = Check {
    name: "network-cidrs",
    config: &[],
    run: |artifacts, report| {
        for version in ["config.openshift.io/v1", "operator.openshift.io/v1"] {
            for document in artifacts.kind(version, "Network") {
                let pods = document
                    .list("spec.clusterNetwork")
                    .iter()
                    .map(|entry| entry.get("cidr").unwrap_or(entry));
                let pods =
                    pods.enumerate().map(|(at, node)| (format!("spec.clusterNetwork[{at}].cidr"), node));
                let services = document.list("spec.serviceNetwork").iter().enumerate();
                let services = services.map(|(at, node)| (format!("spec.serviceNetwork[{at}]"), node));
                for (field, node) in pods.chain(services) {
                    let text = node.text().unwrap_or_default();
                    let network = text.parse::<IpNet>().ok().filter(|network| network.trunc() == *network);
                    if network.is_none() {
                        report.add(
                            &document.file,
                            Some(node.line),
                            &field,
                            format!("`{text}` is not a network"),
                        );
                    }
                }
            }
        }
    },
};

/// The network operator reads the install-config from the cluster.
pub(super) const CLUSTER_CONFIG: Check = Check {
    name: "cluster-config-v1",
    config: &[],
    run: |artifacts, report| {
        let mut maps = artifacts.kind("v1", "ConfigMap").filter(|document| {
            document.text("metadata.name") == Some("cluster-config-v1")
                && document.text("metadata.namespace") == Some("kube-system")
        });
        let Some(document) = maps.next() else {
            return report.add("manifests", None, "", "there is no ConfigMap kube-system/cluster-config-v1");
        };
        let field = "data.install-config";
        let text = document.text(field).unwrap_or_default();
        let mut problems = crate::base::hint::Problems::default();
        let inner = yaml::parse(Source { name: &document.file, text }, &mut problems);
        let has = |inner: &YamlNode, key: &str| inner.get(key).is_some();
        match inner {
            None => report.add(&document.file, document.line(field), field, "it is not YAML"),
            Some(inner) => {
                for key in ["apiVersion", "baseDomain", "metadata", "platform"]
                    .into_iter()
                    .filter(|key| !has(&inner, key))
                {
                    report.add(&document.file, document.line(field), field, format!("it has no `{key}`"));
                }
                let replicas = inner.get("controlPlane").and_then(|plane| plane.get("replicas"));
                if replicas.is_none_or(YamlNode::is_null) {
                    let message =
                        "it has no `controlPlane.replicas`: the etcd operator never makes a revision";
                    report.add(&document.file, document.line(field), field, message);
                }
                if has(&inner, "pullSecret") {
                    report.add(&document.file, document.line(field), field, "it has the pull secret in it");
                }
            }
        }
    },
};

/// Kubelets may request certificates.
pub(super) const BOOTSTRAPPER_RBAC: Check = Check {
    name: "bootstrapper-rbac",
    config: &[],
    run: |artifacts, report| {
        bound(artifacts, report, ("Group", BOOTSTRAPPERS), "system:node-bootstrapper");
        for (binding, role) in bindings(artifacts) {
            let subject = binding.list("subjects").iter().find(|subject| joins(subject));
            if let Some(subject) = subject.filter(|_| approves(artifacts, role)) {
                let name = subject.get("name").and_then(YamlNode::text).unwrap_or_default();
                let message = format!("`{role}` makes the controller manager approve what `{name}` asks for");
                report.at(binding, subject.line, "subjects", message);
            }
        }
    },
};

/// The group of credentials that nodes join with.
const BOOTSTRAPPERS: &str = "system:bootstrappers";
/// Whoever may create this gets a client certificate for any node, with no further question.
const NODE_CLIENT: &str = "certificatesigningrequests/nodeclient";

/// Whether a subject includes a credential that a node joins with.
fn joins(subject: &YamlNode) -> bool {
    let word = |key: &str| subject.get(key).and_then(YamlNode::text).unwrap_or_default();
    match word("kind") {
        "Group" => [BOOTSTRAPPERS, "system:authenticated"].contains(&word("name")),
        _ => word("name").starts_with("system:bootstrapper:"),
    }
}

/// Whether a role lets the controller manager approve client certificates of nodes: the API server's own, or one of
/// these manifests.
fn approves(artifacts: &Artifacts<'_>, role: &str) -> bool {
    let has = |rule: &YamlNode, key: &str, wanted: &str| {
        let values = rule.get(key).map(YamlNode::items).unwrap_or_default().iter();
        values.filter_map(YamlNode::text).any(|value| value == wanted || value == "*")
    };
    let may = |rule: &YamlNode| has(rule, "resources", NODE_CLIENT) && has(rule, "verbs", "create");
    let mut roles = artifacts.kind(RBAC, "ClusterRole");
    role == "system:certificates.k8s.io:certificatesigningrequests:nodeclient"
        || roles.any(|one| one.text("metadata.name") == Some(role) && one.list("rules").iter().any(may))
}

/// The API server may contact kubelets.
pub(super) const KUBELET_ACCESS: Check = Check {
    name: "kubelet-access",
    config: &[],
    run: |artifacts, report| {
        bound(artifacts, report, ("User", "system:kube-apiserver"), "system:kubelet-api-admin");
    },
};

/// Checks the only object of a kind, which must exist.
pub(super) fn one(
    artifacts: &Artifacts<'_>,
    report: &mut Report<'_>,
    version: &str,
    kind: &str,
    look: impl Fn(&Document, &mut Report<'_>),
) {
    let mut found = artifacts.kind(version, kind).peekable();
    if found.peek().is_none() {
        report.add("manifests", None, "", format!("there is no {version} {kind}"));
    }
    found.for_each(|document| look(document, report));
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Every ClusterRoleBinding, with the name of its ClusterRole.
fn bindings<'a>(artifacts: &'a Artifacts<'_>) -> impl Iterator<Item = (&'a Document, &'a str)> {
    let bindings = artifacts.kind(RBAC, "ClusterRoleBinding");
    bindings
        .filter(|binding| binding.text("roleRef.kind") == Some("ClusterRole"))
        .filter_map(|binding| Some((binding, binding.text("roleRef.name")?)))
}

/// Checks that a ClusterRoleBinding grants `role` to a user or group.
fn bound(artifacts: &Artifacts<'_>, report: &mut Report<'_>, (kind, name): (&str, &str), role: &str) {
    let is = |subject: &YamlNode| {
        subject.get("kind").and_then(YamlNode::text) == Some(kind)
            && subject.get("name").and_then(YamlNode::text) == Some(name)
    };
    let given =
        bindings(artifacts).any(|(binding, of)| of == role && binding.list("subjects").iter().any(is));
    if !given {
        let to = format!("{} `{name}`", kind.to_lowercase());
        report.add("manifests", None, "", format!("no ClusterRoleBinding grants `{role}` to {to}"));
    }
}

/// The CRDs that the cluster-version operator itself needs first.
const CVO_OWN: [&str; 2] = ["clusteroperators.config.openshift.io", "clusterversions.config.openshift.io"];

/// The API server knows all custom resources.
pub(super) const CRDS: Check = Check {
    name: "crds-before-cvo",
    config: &[],
    run: |artifacts, report| {
        let mut known: BTreeMap<(String, String), &Document> = BTreeMap::new();
        let mut names: BTreeMap<&str, &Document> = BTreeMap::new();
        for crd in artifacts.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
            let text = |path: &str| crd.text(path).unwrap_or_default().to_owned();
            known.insert((text("spec.group"), text("spec.names.kind")), crd);
            if let Some(other) = names.insert(crd.text("metadata.name").unwrap_or_default(), crd) {
                let message = format!("`{}` has the same CRD", other.file);
                report.add(&crd.file, crd.line("metadata.name"), "metadata.name", message);
            }
        }
        for name in CVO_OWN.into_iter().filter(|name| !names.contains_key(name)) {
            report.add(
                "crds",
                None,
                "",
                format!("there is no CRD `{name}`: the cluster-version operator needs it"),
            );
        }
        for document in artifacts.documents() {
            let (group, version) =
                document.text("apiVersion").and_then(|text| text.split_once('/')).unwrap_or_default();
            let kind = document.text("kind").unwrap_or_default();
            if !group.ends_with(".openshift.io") {
                continue;
            }
            match known.get(&(group.to_owned(), kind.to_owned())) {
                None => {
                    let message = format!("no CRD of this release has {group} {kind}");
                    report.add(&document.file, document.line("kind"), "kind", message);
                }
                Some(crd) => {
                    let mut versions = crd.list("spec.versions").iter();
                    let served =
                        versions.any(|one| one.get("name").and_then(YamlNode::text) == Some(version));
                    if !served {
                        let message = format!("`{}` has no version `{version}`", crd.file);
                        report.add(&document.file, document.line("apiVersion"), "apiVersion", message);
                    }
                }
            }
        }
    },
};
