//! `cel-bounds` warns about CEL rules over what has no bound, in CRDs of the user's and of the release.

use serde_json::Value;

use crate::harness::Workspace;

fn crd(bound: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: probes.example.com}}\nspec:\n  \
         group: example.com\n  names: {{kind: Probe, plural: probes, singular: probe, listKind: ProbeList}}\n  scope: Cluster\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
         properties:\n          spec:\n            type: object\n            properties:\n              hosts:\n                \
         type: array\n                {bound}\n                items: {{type: string, maxLength: 253}}\n                \
         x-kubernetes-validations:\n                - rule: self.all(h, self.exists_one(o, o == h))\n"
    )
}

/// The warnings of `check --json`, which passes.
fn warnings(ws: &Workspace) -> Vec<Value> {
    let found = ws.json(&["check", "-q"]);
    let check = found["checks"].as_array().unwrap().iter().find(|one| one["name"] == "cel-bounds").unwrap();
    assert_eq!(check["status"], "passed");
    check["warnings"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_rule_over_a_list_without_a_bound_is_a_warning() {
    let ws = Workspace::example().prebuilt();
    let of_release = warnings(&ws);
    assert!(of_release.iter().all(|one| one["derivation"] == "release/crds"), "{of_release:#?}");

    ws.write("manifests/probe.yaml", &crd("minItems: 1"));
    let found = warnings(&ws);
    let own: Vec<_> = found.iter().filter(|one| one["derivation"] != "release/crds").collect();
    assert_eq!(found.len(), of_release.len() + 1, "{own:#?}");
    assert_eq!(
        (own[0]["file"].as_str(), own[0]["line"].as_u64(), own[0]["field"].as_str()),
        (Some("probe.yaml"), Some(20), Some("v1 spec.hosts"))
    );
    assert_eq!(
        own[0]["message"],
        "no `maxItems`, and the rule `self.all(h, self.exists_one(o, o == h))` goes over it"
    );
    let said = ws.run(&["check"]);
    let line = "cel-bounds: warning: probe.yaml:20: v1 spec.hosts: no `maxItems`";
    assert!(said.contains(line) && said.contains("[exit 0]"), "{said}");

    ws.write("manifests/probe.yaml", &crd("maxItems: 9"));
    assert_eq!(warnings(&ws).len(), of_release.len());
}
