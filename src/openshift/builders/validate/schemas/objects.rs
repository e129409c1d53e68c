//! What Kubernetes validates in code and not by types, for the few kinds whose mistakes stop a boot.

use base64::Engine as _;

use super::super::Report;
use super::super::artifacts::Document;
use super::at;
use crate::base::yaml::{YamlData, YamlEntry, YamlNode};
use crate::openshift::schema::Fault;

pub(super) fn look(document: &Document, kind: &str, report: &mut Report<'_>) {
    match kind {
        "ConfigMap" => keys(document, &["data", "binaryData"], report),
        "Secret" => {
            keys(document, &["data", "stringData"], report);
            secret(document, report);
        }
        "RoleBinding" | "ClusterRoleBinding" => binding(document, kind, report),
        "CustomResourceDefinition" => crd(document, report),
        _ => {}
    }
}

/// Keys become file names in a volume; a key in both maps is ambiguous.
fn keys(document: &Document, fields: &[&str], report: &mut Report<'_>) {
    for field in fields {
        for YamlEntry { key, line, .. } in entries(document, field) {
            let right = key.len() <= 253
                && !matches!(key.as_str(), "." | "..")
                && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
            if !right {
                let message = "a key has letters, digits, `-`, `_` and `.` only, at most 253".to_owned();
                report.fault(
                    document,
                    Fault { path: format!("{field}[{key}]"), line: *line, message, hint: None },
                );
            }
        }
    }
    // In a Secret, stringData wins; a ConfigMap with both is rejected.
    if fields.contains(&"binaryData") {
        let data = entries(document, "data");
        for YamlEntry { key, line, .. } in entries(document, "binaryData") {
            if data.iter().any(|entry| entry.key == *key) {
                let message = "`data` has the same key".to_owned();
                report.fault(
                    document,
                    Fault { path: format!("binaryData[{key}]"), line: *line, message, hint: None },
                );
            }
        }
    }
}

/// Types of Secrets require keys.
fn secret(document: &Document, report: &mut Report<'_>) {
    let needed: &[&str] = match document.text("type") {
        Some("kubernetes.io/tls") => &["tls.crt", "tls.key"],
        Some("kubernetes.io/dockerconfigjson") => &[".dockerconfigjson"],
        Some("kubernetes.io/dockercfg") => &[".dockercfg"],
        Some("kubernetes.io/ssh-auth") => &["ssh-privatekey"],
        _ => &[],
    };
    let kind = document.text("type").unwrap_or_default();
    for key in needed {
        let Some(bytes) = value(document, key) else {
            let message = format!("a Secret of type `{kind}` needs `{key}`");
            report.fault(document, at(document, "data", message, None));
            continue;
        };
        // The type check already reports bad base64.
        let Some(bytes) = bytes else { continue };
        if key.starts_with(".docker") && serde_json::from_slice::<serde_json::Value>(&bytes).is_err() {
            let path = format!("data[{key}]");
            let message = "it is not JSON".to_owned();
            let line = document.get("data").and_then(|data| data.get(key)).map_or(1, |node| node.line);
            report.fault(document, Fault { path, line, message, hint: None });
        }
    }
}

/// The bytes of a key: none if it is missing, and none inside if it cannot be decoded.
fn value(document: &Document, key: &str) -> Option<Option<Vec<u8>>> {
    let of = |field: &str| document.get(field).and_then(|map| map.get(key)).and_then(YamlNode::text);
    if let Some(text) = of("stringData") {
        return Some(Some(text.as_bytes().to_vec()));
    }
    let text = of("data")?.replace(['\r', '\n'], "");
    Some(base64::engine::general_purpose::STANDARD.decode(text).ok())
}

/// Subjects are users, groups and service accounts, each with its own fields.
fn binding(document: &Document, kind: &str, report: &mut Report<'_>) {
    let text =
        |node: &YamlNode, key: &str| node.get(key).and_then(YamlNode::text).unwrap_or_default().to_owned();
    for (index, subject) in document.list("subjects").iter().enumerate() {
        let (of, group) = (text(subject, "kind"), text(subject, "apiGroup"));
        let mut wrong = |field: &str, message: String, hint: &str| {
            let line = subject.get(field).map_or(subject.line, |node| node.line);
            let path = format!("subjects[{index}].{field}");
            report.fault(document, Fault { path, line, message, hint: Some(hint.to_owned()) });
        };
        if of == "ServiceAccount" && text(subject, "namespace").is_empty() {
            wrong("namespace", "a ServiceAccount needs its namespace".into(), "add `namespace`");
        }
        if of == "ServiceAccount" && !group.is_empty() {
            wrong("apiGroup", "a ServiceAccount is in the core group".into(), "remove `apiGroup`");
        }
        if matches!(of.as_str(), "User" | "Group")
            && !matches!(group.as_str(), "" | "rbac.authorization.k8s.io")
        {
            let message = format!("a {of} is not in the group `{group}`");
            wrong("apiGroup", message, "write `rbac.authorization.k8s.io`");
        }
        if text(subject, "name").is_empty() && subject.get("name").is_some() {
            wrong("name", "it is empty".into(), "name the identity that gets the rights");
        }
    }
    if kind == "ClusterRoleBinding" && document.text("roleRef.kind") == Some("Role") {
        let hint = Some("use a RoleBinding, or a ClusterRole".to_owned());
        let message = "a ClusterRoleBinding cannot grant a Role".to_owned();
        report.fault(document, at(document, "roleRef.kind", message, hint));
    }
}

/// The name of a CRD follows from what it defines.
fn crd(document: &Document, report: &mut Report<'_>) {
    let text = |path: &str| document.text(path).unwrap_or_default();
    let wanted = format!("{}.{}", text("spec.names.plural"), text("spec.group"));
    if text("metadata.name") != wanted && !text("metadata.name").is_empty() {
        let message = format!("a CRD is called `<plural>.<group>`, here `{wanted}`");
        report.fault(document, at(document, "metadata.name", message, None));
    }
}

fn entries<'a>(document: &'a Document, field: &str) -> &'a [YamlEntry] {
    match document.get(field).map(|node| &node.data) {
        Some(YamlData::Map(entries)) => entries,
        _ => &[],
    }
}
