//! Bootstrap Ignition configs: manifests with CRDs, static pods, units and scripts, as large as real ones.

use std::path::Path;

use serde_json::{Value, json};
use tinderbox::internals::ignition::encode;

/// Path and content.
type File = (String, String);

/// Number of CRDs in a config.
pub(crate) const CRDS: usize = 100;
/// Number of fields in a CRD, so that a config has about 4 MB.
const FIELDS: usize = 62;

/// A config with generated CRDs. One field differs in those that `changed` selects.
pub(crate) fn config(changed: impl Fn(usize) -> bool) -> String {
    let crds = (0..CRDS).map(|number| {
        let path = format!("/opt/openshift/manifests/0000_10_crd-{number:03}.yaml");
        (path, definition(number, changed(number)))
    });
    written(crds.chain(others(changed(0))))
}

/// A config with the CRDs of a real release.
pub(crate) fn real(folder: &Path) -> String {
    let mut crds: Vec<File> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (format!("/opt/openshift/manifests/{name}"), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    crds.sort();
    crds.truncate(CRDS);
    written(crds.into_iter().chain(others(false)))
}

fn definition(number: usize, changed: bool) -> String {
    let mut text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things{number}.example.com\nspec:\n  group: example.com\n  names:\n    kind: Thing{number}\n    plural: things{number}\n  scope: Cluster\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        description: Thing{number} is one of many.\n        properties:\n          spec:\n            description: spec holds what is wanted.\n            properties:\n"
    );
    for field in 0..FIELDS {
        let most = if changed && field == FIELDS / 2 { 128 } else { 63 };
        text.push_str(&format!(
            "              field{field}:\n                description: |-\n                  field{field} of thing {number} says what is to be done about it.\n                  It is optional, and when it is left out the platform chooses.\n                maxLength: {most}\n                pattern: ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\n                type: string\n"
        ));
    }
    text + "            type: object\n        type: object\n    served: true\n    storage: true\n"
}

fn others(changed: bool) -> Vec<File> {
    let value = if changed { "4" } else { "2" };
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: kube-apiserver\n  namespace: kube-system\nspec:\n  containers:\n  - name: kube-apiserver\n    command:\n    - hyperkube\n    - kube-apiserver\n    - --v={value}\n    - --feature-gates=A=true,B={changed}\n"
    );
    let script = format!("#!/bin/bash\nset -euo pipefail\n{}echo {value}\n", "echo waiting\n".repeat(100));
    vec![
        ("/etc/kubernetes/manifests/kube-apiserver.yaml".into(), pod),
        ("/usr/local/bin/bootkube.sh".into(), script),
    ]
}

fn written(files: impl Iterator<Item = File>) -> String {
    let file = |(path, content): File| json!({"path": path, "mode": 420, "overwrite": true, "contents": {"source": encode(content.as_bytes())}});
    let files: Vec<Value> = files.map(file).collect();
    json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}}).to_string()
}
