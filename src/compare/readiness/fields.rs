//! API versions and fields that a release does not have any more, and who uses them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Finding, Level, Section};
use crate::base::yaml::YamlNode;
use crate::openshift::schema;

/// Custom resource definitions by name.
pub(crate) type Definitions = BTreeMap<String, Definition>;

/// A custom resource definition.
#[derive(Debug)]
pub(crate) struct Definition {
    pub json: Value,
    pub node: YamlNode,
}

impl Definition {
    pub(crate) fn new(node: YamlNode) -> Self {
        Self { json: schema::json(&node), node }
    }
}

/// An object of this cluster, and where it comes from.
pub(crate) struct UsedObject {
    file: String,
    /// A derivation or a file of the user's, and the patches that changed it.
    origin: String,
    /// Whether messages must not show its content.
    pub secret: bool,
    pub node: YamlNode,
    json: Value,
}

impl UsedObject {
    pub(crate) fn new(file: String, origin: String, secret: bool, node: YamlNode) -> Self {
        Self { file, origin, secret, json: schema::json(&node), node }
    }

    pub(super) fn text(&self, pointer: &str) -> &str {
        self.json.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// Kind and name.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.text("/kind"), self.text("/metadata/name"))
    }

    /// Its file, a line in it, and what wrote it.
    pub(super) fn place(&self, line: Option<usize>) -> String {
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        match self.origin == self.file {
            true => format!("{}{line}", self.file),
            false => format!("{}{line}, from {}", self.file, self.origin),
        }
    }

    fn shown(&self) -> String {
        format!("{} ({})", self.name(), self.place(Some(self.node.line)))
    }

    /// Its API version, if it is of this definition.
    pub(super) fn version_of(&self, definition: &Value) -> Option<&str> {
        let (group, version) = self.text("/apiVersion").split_once('/')?;
        let is =
            |pointer: &str, text: &str| definition.pointer(pointer).and_then(Value::as_str) == Some(text);
        (is("/spec/group", group) && is("/spec/names/kind", self.text("/kind"))).then_some(version)
    }
}

/// Kinds and versions that go: an obstacle where an object uses them, else only listed, as are fields that no object has.
/// Those that one has are for [`super::values`], which knows their lines.
pub(crate) fn compare(old: &Definitions, new: &Definitions, objects: &[UsedObject]) -> Vec<Finding> {
    let (mut kinds, mut versions) = (Vec::new(), Vec::new());
    let mut unused = BTreeSet::new();
    for (name, before) in old {
        let of_this = || objects.iter().filter_map(|one| Some((one, one.version_of(&before.json)?)));
        let Some(after) = new.get(name) else {
            let users: Vec<String> = of_this().map(|(one, _)| one.shown()).collect();
            match users.is_empty() {
                true => drop(unused.insert(name.clone())),
                false => kinds.extend(users.into_iter().map(|user| format!("{name}: {user}"))),
            }
            continue;
        };
        let (before, after) = (served(&before.json), served(&after.json));
        for (version, schema) in &before {
            let used: Vec<&UsedObject> =
                of_this().filter(|(_, own)| own == version).map(|(one, _)| one).collect();
            let Some(now) = after.get(version) else {
                match used.is_empty() {
                    true => drop(unused.insert(format!("{name} {version}"))),
                    false => {
                        versions.extend(used.iter().map(|one| format!("{name} {version}: {}", one.shown())))
                    }
                }
                continue;
            };
            for path in gone(schema, now) {
                let shown = path.join(".").replace(".[]", "[]").replace(".{}", "{}");
                if !used.iter().any(|one| has(&one.json, &path)) {
                    unused.insert(format!("{name} {version} {shown}"));
                }
            }
        }
    }
    let obstacle =
        |id, message: &str, items| Finding::new(Level::Obstacle, Section::Crds, id, message, items);
    [
        obstacle("crd-in-use-gone", "kinds that go, and are used", kinds)
            .advice("remove these objects, or say with another kind what they say"),
        obstacle("version-in-use-gone", "API versions that go, and are used", versions)
            .advice("write these objects for a version that the release serves"),
        Finding::new(
            Level::Note,
            Section::Crds,
            "unused-gone",
            "kinds, versions and fields that go, and nothing here uses",
            unused.into_iter().collect(),
        ),
    ]
    .into_iter()
    .filter_map(Finding::if_any)
    .collect()
}

/// The schemas of served versions.
fn served(definition: &Value) -> BTreeMap<&str, &Value> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().filter(|version| version["served"] != Value::Bool(false));
    served
        .filter_map(|version| Some((version["name"].as_str()?, version.pointer("/schema/openAPIV3Schema")?)))
        .collect()
}

/// Paths of properties that only the old schema has: `[]` stands for items, `{}` for values.
fn gone(old: &Value, new: &Value) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    walk(old, new, &mut Vec::new(), &mut found);
    found
}

fn walk(old: &Value, new: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if new["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true) {
        return;
    }
    let empty = Map::new();
    let properties = |schema: &'_ Value| schema["properties"].as_object().cloned();
    let now = properties(new).unwrap_or_default();
    for (name, before) in old["properties"].as_object().unwrap_or(&empty) {
        path.push(name.clone());
        match now.get(name) {
            Some(after) => walk(before, after, path, found),
            // A map takes any key.
            None if new["additionalProperties"].is_object()
                || new["additionalProperties"] == Value::Bool(true) => {}
            None => found.push(path.clone()),
        }
        path.pop();
    }
    for (key, step) in [("items", "[]"), ("additionalProperties", "{}")] {
        if old[key].is_object() && new[key].is_object() {
            path.push(step.to_owned());
            walk(&old[key], &new[key], path, found);
            path.pop();
        }
    }
}

/// Whether an object has a value at a path.
fn has(value: &Value, path: &[String]) -> bool {
    let Some((step, rest)) = path.split_first() else { return !value.is_null() };
    match (step.as_str(), value) {
        ("[]", Value::Array(items)) => items.iter().any(|item| has(item, rest)),
        ("{}", Value::Object(map)) => map.values().any(|value| has(value, rest)),
        (name, Value::Object(map)) => map.get(name).is_some_and(|value| has(value, rest)),
        _ => false,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::yaml::{self, Source};
    use serde_json::json;

    fn parse(text: &str) -> YamlNode {
        yaml::parse(Source { name: "f", text }, &mut Problems::default()).unwrap()
    }

    /// A release with one kind, in these versions, with these properties of its spec.
    pub(in crate::compare::readiness) fn definitions(versions: &[(&str, &str)]) -> Definitions {
        let mut text = "spec:\n  group: a.io\n  names: {kind: Thing}\n  versions:\n".to_owned();
        for (name, properties) in versions {
            text += &format!(
                "  - name: {name}\n    served: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n"
            );
            properties.lines().for_each(|line| text += &format!("              {line}\n"));
        }
        [("things".to_owned(), Definition::new(parse(&text)))].into()
    }

    pub(in crate::compare::readiness) fn thing(version: &str, spec: &str) -> UsedObject {
        let text = format!("apiVersion: {version}\nkind: Thing\nmetadata: {{name: t}}\nspec: {spec}\n");
        UsedObject::new("manifests/t.yaml".into(), "patch/x".into(), false, parse(&text))
    }

    #[test]
    fn only_what_is_used_stands_in_the_way() {
        let list = |names: &[&str]| {
            let fields: Vec<String> = names.iter().map(|name| format!("{name}: {{}}")).collect();
            let fields = fields.join(", ");
            format!(
                "list: {{items: {{properties: {{{fields}}}}}}}\nmap: {{additionalProperties: {{properties: {{{fields}}}}}}}\n"
            )
        };
        let old = definitions(&[("v1", &list(&["a", "b"])), ("v1beta1", &list(&["a"]))]);
        let new = definitions(&[("v1", &list(&["a"]))]);
        let ids = |objects: &[UsedObject]| -> Vec<(&str, Vec<String>)> {
            compare(&old, &new, objects).into_iter().map(|one| (one.id, one.items)).collect()
        };
        let unused =
            |items: &[&str]| ("unused-gone", items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            ids(&[thing("a.io/v1", "{list: [{a: 1}]}"), thing("b.io/v1", "{list: [{b: 1}]}")]),
            [unused(&["things v1 spec.list[].b", "things v1 spec.map{}.b", "things v1beta1"])]
        );
        let place = "things v1beta1: Thing t (manifests/t.yaml:1, from patch/x)";
        assert_eq!(
            ids(&[thing("a.io/v1", "{list: [{a: 1}, {b: 1}]}"), thing("a.io/v1beta1", "{}")]),
            [("version-in-use-gone", vec![place.to_owned()]), unused(&["things v1 spec.map{}.b"])]
        );
        let found = compare(&old, &Definitions::new(), &[thing("a.io/v1", "{}")]);
        assert_eq!(found[0].id, "crd-in-use-gone");
    }

    #[test]
    fn a_schema_that_keeps_unknown_fields_loses_none() {
        let old = json!({"properties": {"a": {}, "b": {"properties": {"c": {}}}}});
        let new = json!({"properties": {"b": {"x-kubernetes-preserve-unknown-fields": true}}, "additionalProperties": true});
        assert_eq!(gone(&old, &new), Vec::<Vec<String>>::new());
        assert_eq!(gone(&old, &json!({"properties": {"b": {}}})), [vec!["a"], vec!["b", "c"]]);
    }
}
