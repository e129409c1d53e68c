//! Image policies: whose signatures count, for the cluster and for pods of single namespaces, and where the container
//! runtime looks for them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::manifests::{items, kind, scalar};
use super::merge::file;
use crate::base::json::canonical;
use crate::openshift::ignition;

/// What images of a repository must have.
type Requirements = BTreeMap<String, Vec<Value>>;

/// The files of all policies; none if there is no policy.
pub(super) fn files(objects: &[Value]) -> Vec<Value> {
    let mut of_namespace: BTreeMap<String, Requirements> = BTreeMap::new();
    for object in objects {
        let namespace = match kind(object) {
            ("config.openshift.io", "ClusterImagePolicy") => String::new(),
            ("config.openshift.io", "ImagePolicy") => scalar(&object["metadata"]["namespace"]),
            _ => continue,
        };
        let required = of_namespace.entry(namespace).or_default();
        let requirement = json!({
            "keyData": object["spec"]["policy"]["rootOfTrust"]["publicKey"]["keyData"],
            "signedIdentity": {"type": "matchRepoDigestOrExact"},
            "type": "sigstoreSigned",
        });
        for scope in items(&object["spec"]["scopes"]) {
            required.entry(scalar(scope)).or_default().push(requirement.clone());
        }
    }
    let text = |path: &str, text: String| file(path, 420, ignition::encode(text.as_bytes()));
    let mut files: Vec<Value> = of_namespace
        .iter()
        .map(|(namespace, required)| match namespace.as_str() {
            "" => text("/etc/containers/policy.json", policy(required)),
            namespace => text(&format!("/etc/crio/policies/{namespace}.json"), policy(required)),
        })
        .collect();
    let scopes: BTreeSet<&String> = of_namespace.values().flat_map(Requirements::keys).collect();
    if !scopes.is_empty() {
        let entry = |scope: &String| format!("  {scope}:\n    use-sigstore-attachments: true\n");
        let lookup = format!("docker:\n{}", scopes.into_iter().map(entry).collect::<String>());
        files.push(text("/etc/containers/registries.d/sigstore-registries.yaml", lookup));
    }
    files
}

/// In the form of policy.json.
fn policy(required: &Requirements) -> String {
    let accept = json!([{"type": "insecureAcceptAnything"}]);
    canonical(&json!({
        "default": accept,
        "transports": {"atomic": required, "docker": required, "docker-daemon": {"": accept}},
    }))
}
