//! API versions and fields that a release does not have any more, and who uses them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Finding, Level, Section};

/// Custom resource definitions by name, as JSON.
pub(crate) type Definitions = BTreeMap<String, Value>;

/// An object of this cluster, as JSON, and its file.
pub(crate) struct UsedObject {
    pub file: String,
    pub object: Value,
}

impl UsedObject {
    fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn shown(&self) -> String {
        format!("{} {} ({})", self.text("/kind"), self.text("/metadata/name"), self.file)
    }

    /// Its API version, if it is of this definition.
    fn version_of(&self, definition: &Value) -> Option<&str> {
        let (group, version) = self.text("/apiVersion").split_once('/')?;
        let is =
            |pointer: &str, text: &str| definition.pointer(pointer).and_then(Value::as_str) == Some(text);
        (is("/spec/group", group) && is("/spec/names/kind", self.text("/kind"))).then_some(version)
    }
}

/// What goes: an obstacle where an object uses it, else only counted.
pub(crate) fn compare(old: &Definitions, new: &Definitions, objects: &[UsedObject]) -> Vec<Finding> {
    let (mut kinds, mut versions, mut fields) = (Vec::new(), Vec::new(), Vec::new());
    let mut unused = BTreeSet::new();
    for (name, before) in old {
        let of_this = || objects.iter().filter_map(|one| Some((one, one.version_of(before)?)));
        let Some(after) = new.get(name) else {
            let users: Vec<String> = of_this().map(|(one, _)| one.shown()).collect();
            match users.is_empty() {
                true => drop(unused.insert(name.clone())),
                false => kinds.extend(users.into_iter().map(|user| format!("{name}: {user}"))),
            }
            continue;
        };
        let (before, after) = (served(before), served(after));
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
                let users: Vec<String> = used
                    .iter()
                    .filter(|one| has(&one.object, &path))
                    .map(|one| format!("{name} {version} {shown}: {}", one.shown()))
                    .collect();
                match users.is_empty() {
                    true => drop(unused.insert(format!("{name} {version} {shown}"))),
                    false => fields.extend(users),
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
        obstacle(
            "field-in-use-gone",
            "fields that go, and are set: the API server drops or refuses them",
            fields,
        )
        .advice("remove them from your manifests and patches"),
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
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(versions: &[(&str, Value)]) -> Value {
        let versions: Vec<Value> = versions
            .iter()
            .map(|(name, spec)| {
                json!({"name": name, "served": true,
                    "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": spec}}}}})
            })
            .collect();
        json!({"spec": {"group": "a.io", "names": {"kind": "Thing"}, "versions": versions}})
    }

    fn thing(version: &str, spec: Value) -> UsedObject {
        let object = json!({"apiVersion": version, "kind": "Thing", "metadata": {"name": "t"}, "spec": spec});
        UsedObject { file: "t.yaml".into(), object }
    }

    #[test]
    fn only_what_is_used_stands_in_the_way() {
        let list = |names: &[&str]| {
            let fields: Map<String, Value> =
                names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
            json!({"list": {"items": {"properties": fields}}, "map": {"additionalProperties": {"properties": fields}}})
        };
        let old: Definitions =
            [("things".to_owned(), definition(&[("v1", list(&["a", "b"])), ("v1beta1", list(&["a"]))]))]
                .into();
        let new: Definitions = [("things".to_owned(), definition(&[("v1", list(&["a"]))]))].into();
        let ids = |objects: &[UsedObject]| -> Vec<(&str, Vec<String>)> {
            compare(&old, &new, objects).into_iter().map(|one| (one.id, one.items)).collect()
        };
        let unused =
            |items: &[&str]| ("unused-gone", items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            ids(&[
                thing("a.io/v1", json!({"list": [{"a": 1}]})),
                thing("b.io/v1", json!({"list": [{"b": 1}]}))
            ]),
            [unused(&["things v1 spec.list[].b", "things v1 spec.map{}.b", "things v1beta1"])]
        );
        let found =
            ids(&[thing("a.io/v1", json!({"list": [{"a": 1}, {"b": 1}]})), thing("a.io/v1beta1", json!({}))]);
        assert_eq!(
            found,
            [
                ("version-in-use-gone", vec!["things v1beta1: Thing t (t.yaml)".to_owned()]),
                ("field-in-use-gone", vec!["things v1 spec.list[].b: Thing t (t.yaml)".to_owned()]),
                unused(&["things v1 spec.map{}.b"])
            ]
        );
        let found = compare(&old, &Definitions::new(), &[thing("a.io/v1", json!({}))]);
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
