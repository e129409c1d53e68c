//! Checks of references between objects: what pods mount, the namespaces of objects, and the subjects of bindings.

use std::collections::BTreeSet;

use super::artifacts::{Artifacts, Document};
use super::certificates;
use super::pods;
use super::{Check, Open, Report};
use crate::base::pki::Certificate;
use crate::base::yaml::YamlNode;

/// The input with cluster manifests.
const MANIFESTS: &str = "manifests";

/// Namespaces that the API server creates itself.
const OWN_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// ConfigMaps that controllers create in every namespace.
const EVERYWHERE: [&str; 2] = ["kube-root-ca.crt", "openshift-service-ca.crt"];

/// Users and groups without a certificate: the API server itself and its authenticators define them.
const BUILT_IN: [&str; 11] = [
    "system:anonymous",
    "system:apiserver",
    "system:authenticated",
    "system:authenticated:oauth",
    "system:bootstrappers",
    "system:masters",
    "system:monitoring",
    "system:nodes",
    "system:serviceaccounts",
    "system:unauthenticated",
    "system:cluster-admins",
];

/// The same, by prefix.
const BUILT_IN_PREFIXES: [&str; 4] =
    ["system:bootstrap:", "system:node:", "system:serviceaccount:", "system:serviceaccounts:"];

/// Pods find what they mount.
pub(super) const MOUNTS: Check = Check {
    name: "mounts-exist",
    config: &[],
    run: |artifacts, report| {
        let known = objects(artifacts);
        for file in &artifacts.files {
            let is_static = file.input == pods::INPUT;
            for document in file.documents() {
                let namespace = namespace(document);
                for used in pod_specs(document).into_iter().flat_map(|(path, spec)| uses(&path, spec)) {
                    let Used { field, line, kind, name } = used;
                    let key = (kind, namespace.to_owned(), name.to_owned());
                    if is_static {
                        let message = format!("a static pod cannot use {kind} `{name}`");
                        report.at(document, line, &field, message);
                        report.hint("use a file of the node, with hostPath");
                    } else if !known.contains(&key) && !EVERYWHERE.contains(&name) {
                        let message = format!("there is no {kind} `{namespace}/{name}`");
                        report.at(document, line, &field, message);
                        report.hint("add it to `manifests/`, or say `optional: true`");
                    }
                }
            }
        }
    },
};

/// Namespaces precede their content.
pub(super) const NAMESPACES: Check = Check {
    name: "namespaces-first",
    config: &[],
    run: |artifacts, report| {
        let mut made: BTreeSet<&str> = OWN_NAMESPACES.into();
        let all = || artifacts.of(MANIFESTS).flat_map(|file| file.documents());
        let namespaces = all().filter(|document| is_namespace(document));
        let later: BTreeSet<&str> =
            namespaces.filter_map(|document| document.text("metadata.name")).collect();
        for document in all() {
            if is_namespace(document) {
                made.extend(document.text("metadata.name"));
            }
            placed(document, &made, &later, report);
        }
        // Static pods exist before any namespace, and the API shows them once their namespace exists too.
        for document in artifacts.of(pods::INPUT).flat_map(|file| file.documents()) {
            placed(document, &made, &later, report);
        }
    },
};

/// Bindings name existing subjects.
pub(super) const SUBJECTS: Check = Check {
    name: "rbac-subjects",
    config: &[],
    run: |artifacts, report| {
        let known = identities(artifacts, report);
        for document in artifacts.of(MANIFESTS).flat_map(|file| file.documents()) {
            if !["ClusterRoleBinding", "RoleBinding"].contains(&document.text("kind").unwrap_or_default()) {
                continue;
            }
            for (at, subject) in document.list("subjects").iter().enumerate() {
                let word = |key: &str| subject.get(key).and_then(YamlNode::text).unwrap_or_default();
                let (kind, name) = (word("kind"), word("name"));
                let built_in = BUILT_IN.contains(&name)
                    || BUILT_IN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
                if !["User", "Group"].contains(&kind)
                    || built_in
                    || known.contains(&(kind.to_owned(), name.to_owned()))
                {
                    continue;
                }
                let field = format!("subjects[{at}].name");
                if name.starts_with("system:") {
                    let line = subject.get("name").unwrap_or(subject).line;
                    report.at(document, line, &field, format!("no certificate is for {kind} `{name}`"));
                } else {
                    report.open.insert(Open {
                        file: document.file.clone(),
                        field,
                        rule: format!("{kind} `{name}` exists"),
                        why: "an identity provider of the cluster may have it",
                    });
                }
            }
        }
    },
};

fn namespace(document: &Document) -> &str {
    document.text("metadata.namespace").unwrap_or("default")
}

fn is_namespace(document: &Document) -> bool {
    document.text("apiVersion") == Some("v1") && document.text("kind") == Some("Namespace")
}

fn placed(document: &Document, made: &BTreeSet<&str>, later: &BTreeSet<&str>, report: &mut Report<'_>) {
    let field = "metadata.namespace";
    let Some(node) = document.get(field) else { return };
    let Some(name) = node.text().filter(|name| !made.contains(name)) else { return };
    if later.contains(name) {
        report.at(document, node.line, field, format!("Namespace `{name}` comes after it"));
        report.hint("files are applied in the order of their names: rename one of them");
    } else {
        report.at(document, node.line, field, format!("there is no Namespace `{name}`"));
        report.hint(format!(
            "add a Namespace `{name}` to `manifests/`, in a file whose name sorts before this one"
        ));
    }
}

/// What pods can mount: kind, namespace, name. A Service may request a Secret with a serving certificate.
fn objects(artifacts: &Artifacts<'_>) -> BTreeSet<(&'static str, String, String)> {
    let mut found = BTreeSet::new();
    for document in artifacts.of(MANIFESTS).flat_map(|file| file.documents()) {
        let namespace = namespace(document).to_owned();
        let name = document.text("metadata.name").unwrap_or_default().to_owned();
        match document.text("kind") {
            Some("ConfigMap") => found.insert(("ConfigMap", namespace, name)),
            Some("Secret") => found.insert(("Secret", namespace, name)),
            Some("Service") => {
                let all = document.get("metadata.annotations");
                let asked = all.and_then(|all| all.get("service.beta.openshift.io/serving-cert-secret-name"));
                let asked = asked.and_then(YamlNode::text).map(str::to_owned);
                asked.is_some_and(|name| found.insert(("Secret", namespace, name)))
            }
            _ => false,
        };
    }
    found
}

/// The subjects of the certificates.
fn identities(artifacts: &Artifacts<'_>, report: &mut Report<'_>) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for file in artifacts.of(certificates::INPUT).filter(|file| file.path.ends_with(".crt")) {
        match Certificate::chain_from_pem(&file.text) {
            Ok(chain) => {
                for one in chain.iter().filter(|one| one.is_client()) {
                    found.extend(one.common_name().map(|name| ("User".to_owned(), name.to_owned())));
                    found.extend(one.organizations().iter().map(|name| ("Group".to_owned(), name.clone())));
                }
            }
            Err(error) => report.add(&file.path, None, "", error.to_string()),
        }
    }
    found
}

/// The pods that an object describes, each with the path of its spec.
pub(super) fn pod_specs(document: &Document) -> Vec<(String, &YamlNode)> {
    let path = match document.text("kind") {
        Some("Pod") => "spec",
        Some("CronJob") => "spec.jobTemplate.spec.template.spec",
        _ => "spec.template.spec",
    };
    document
        .get(path)
        .filter(|spec| spec.get("containers").is_some())
        .map(|spec| (path.to_owned(), spec))
        .into_iter()
        .collect()
}

/// The containers of a pod, each with its path.
pub(super) fn containers<'n>(path: &str, spec: &'n YamlNode) -> Vec<(String, &'n YamlNode)> {
    let lists = ["initContainers", "containers"].into_iter();
    let nodes = lists.flat_map(|list| {
        let items = spec.get(list).map(YamlNode::items).unwrap_or_default().iter().enumerate();
        items.map(move |(at, node)| (format!("{path}.{list}[{at}]"), node))
    });
    nodes.collect()
}

/// A ConfigMap or Secret that a pod needs.
struct Used<'n> {
    field: String,
    line: usize,
    kind: &'static str,
    name: &'n str,
}

/// What a pod mounts or has in its environment, without optional references.
fn uses<'n>(path: &str, spec: &'n YamlNode) -> Vec<Used<'n>> {
    let mut found = Vec::new();
    let mut add = |field: String, source: &'n YamlNode| {
        let kinds = [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("secret", "Secret", "name"),
            ("configMapRef", "ConfigMap", "name"),
            ("secretRef", "Secret", "name"),
            ("configMapKeyRef", "ConfigMap", "name"),
            ("secretKeyRef", "Secret", "name"),
        ];
        for (key, kind, name) in kinds {
            let Some(node) = source.get(key) else { continue };
            let optional = node.get("optional").and_then(YamlNode::text) == Some("true");
            if let Some(named) = node.get(name).filter(|_| !optional)
                && let Some(text) = named.text()
            {
                found.push(Used {
                    field: format!("{field}.{key}.{name}"),
                    line: named.line,
                    kind,
                    name: text,
                });
            }
        }
    };
    let list = |node: &'n YamlNode, key: &str| {
        node.get(key).map(YamlNode::items).unwrap_or_default().iter().enumerate()
    };
    for (at, volume) in list(spec, "volumes") {
        let field = format!("{path}.volumes[{at}]");
        add(field.clone(), volume);
        for (at, source) in volume.get("projected").into_iter().flat_map(|one| list(one, "sources")) {
            add(format!("{field}.projected.sources[{at}]"), source);
        }
    }
    for (field, container) in containers(path, spec) {
        for (at, source) in list(container, "envFrom") {
            add(format!("{field}.envFrom[{at}]"), source);
        }
        for (at, variable) in list(container, "env") {
            if let Some(source) = variable.get("valueFrom") {
                add(format!("{field}.env[{at}].valueFrom"), source);
            }
        }
    }
    found
}
