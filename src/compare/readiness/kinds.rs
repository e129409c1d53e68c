//! Kinds of objects in a payload: those that nobody here knows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::{Definition, Definitions};
use super::{Finding, Level, Section};

/// Kinds (`Kind.group`) of the objects that the cluster-version operator applies, each with a file that has one.
pub(crate) type Kinds = BTreeMap<String, String>;

/// Kinds that only the new payload has and that neither Kubernetes nor a CRD of the release defines.
pub(crate) fn unknown(old: &Kinds, new: &Kinds, definitions: &Definitions) -> Option<Finding> {
    let defined: BTreeSet<String> = definitions.values().filter_map(kind_of).collect();
    let unknown = new
        .iter()
        .filter(|(kind, _)| !old.contains_key(*kind) && !is_of_kubernetes(kind) && !defined.contains(*kind));
    let items = unknown.map(|(kind, file)| format!("{kind} ({file})")).collect();
    let message = "kinds in the payload that neither Kubernetes nor a CRD of the release defines";
    let advice = "see what brings their API: bootkube.sh waits until everything is applied";
    Finding::new(Level::Look, Section::Payload, "payload-kind-unknown", message, items)
        .advice(advice)
        .if_any()
}

/// Kinds that are new in a group whose objects say what nodes are, and that our table does not have.
pub(crate) fn new_in_group(
    group: &str,
    old: &Definitions,
    new: &Definitions,
    known: &BTreeSet<String>,
) -> Option<Finding> {
    let before: BTreeSet<String> = old.values().filter_map(kind_of).collect();
    let added = new.values().filter_map(kind_of).filter(|kind| {
        kind.split_once('.').is_some_and(|(_, own)| own == group)
            && !before.contains(kind)
            && !known.contains(kind)
    });
    let message = "new kinds of the machine-config operator that the tables do not have";
    let advice =
        "if its bootstrap reads one, objects of yours need a row in recipes/knowledge/mco-kinds.toml";
    let items = added.collect();
    Finding::new(Level::Note, Section::Payload, "node-kind-new", message, items).advice(advice).if_any()
}

/// `Kind.group` of a definition.
fn kind_of(definition: &Definition) -> Option<String> {
    let text = |pointer: &str| definition.json.pointer(pointer).and_then(Value::as_str);
    Some(format!("{}.{}", text("/spec/names/kind")?, text("/spec/group")?))
}

/// Whether Kubernetes itself has the group: it has no dot, or is below k8s.io.
fn is_of_kubernetes(kind: &str) -> bool {
    kind.split_once('.').is_none_or(|(_, group)| !group.contains('.') || group.ends_with(".k8s.io"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::yaml::{self, Source};

    #[test]
    fn what_somebody_defines_is_known() {
        let crd = |kind: &str, group: &str| {
            let text = format!("spec: {{group: {group}, names: {{kind: {kind}}}}}\n");
            let source = Source { name: "f", text: &text };
            Definition::new(yaml::parse(source, &mut Problems::default()).unwrap())
        };
        let definitions: Definitions = [("a".to_owned(), crd("A", "x.openshift.io"))].into();
        let kinds = |names: &[&str]| -> Kinds {
            names.iter().map(|name| ((*name).to_owned(), "f.yaml".to_owned())).collect()
        };
        let new = kinds(&[
            "Secret",
            "Role.rbac.authorization.k8s.io",
            "Job.batch",
            "A.x.openshift.io",
            "B.x.openshift.io",
            "C.y.io",
        ]);
        let found = unknown(&kinds(&["C.y.io"]), &new, &definitions).unwrap();
        assert_eq!(found.items, ["B.x.openshift.io (f.yaml)"]);
        assert_eq!(unknown(&new, &new, &definitions), None);
        let more: Definitions = [
            ("a", crd("A", "g.io")),
            ("b", crd("B", "g.io")),
            ("c", crd("C", "other.io")),
            ("d", crd("D", "g.io")),
        ]
        .into_iter()
        .map(|(name, crd)| (name.to_owned(), crd))
        .collect();
        let old: Definitions = [("a".to_owned(), crd("A", "g.io"))].into();
        let found = new_in_group("g.io", &old, &more, &["D.g.io".to_owned()].into()).unwrap();
        assert_eq!(found.items, ["B.g.io"]);
    }
}
