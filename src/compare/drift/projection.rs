//! The part of a live object that a manifest of ours determines.
//!
//! An API server adds defaults, and operators own fields that we never set: neither is drift. So a live object is reduced to
//! what our manifest has:
//!
//! | ours has | of the live object stays |
//! |---|---|
//! | a map | the same keys, each reduced in the same way; of `data` all keys, because it belongs to whoever wrote it |
//! | a list whose items have keys | items with our keys, reduced; items that we do not have, whole |
//! | another list, a scalar | all of it |
//! | nothing but an empty value | nothing, if it is absent: servers drop empty values |
//!
//! A rendered config has one author, who writes all of it: there, what somebody added counts too ([`whole`]).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::compare::delta::LIST_KEYS;

/// Maps that belong to whoever wrote the object.
const OWNED: [&str; 2] = ["data", "binaryData"];
/// Fields of `metadata` that the server decides.
const SERVER: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// Both objects as they are compared.
pub(super) fn comparable(ours: &Value, live: &Value) -> (Value, Value) {
    let mut ours = ours.clone();
    encode_strings(&mut ours);
    if let Some(metadata) = ours["metadata"].as_object_mut() {
        metadata.retain(|key, _| !SERVER.contains(&key.as_str()));
    }
    let live = reduce(&mut ours, live, true);
    (ours, live)
}

/// Both as they are compared where every field is ours: without the values that say nothing.
pub(super) fn whole(ours: &Value, live: &Value) -> (Value, Value) {
    (without_empty(ours), without_empty(live))
}

fn without_empty(value: &Value) -> Value {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    match value {
        Value::Object(map) => {
            let kept = map.iter().map(|(key, value)| (key.clone(), without_empty(value)));
            Value::Object(kept.filter(|(_, value)| says(value)).collect())
        }
        Value::Array(items) => items.iter().map(without_empty).collect(),
        scalar => scalar.clone(),
    }
}

/// A Secret's `stringData` as the server keeps it.
fn encode_strings(object: &mut Value) {
    let Some(Value::Object(texts)) = object.as_object_mut().and_then(|map| map.remove("stringData")) else {
        return;
    };
    for (key, text) in texts {
        object["data"][key] = Value::String(STANDARD.encode(text.as_str().unwrap_or_default()));
    }
}

/// Reduces a live value to what ours determines; removes from ours what is empty and absent there.
fn reduce(ours: &mut Value, live: &Value, is_object: bool) -> Value {
    match (ours, live) {
        (Value::Object(ours), Value::Object(live)) => {
            let mut kept = Map::new();
            ours.retain(|key, value| match live.get(key) {
                None | Some(Value::Null) => !is_empty(value),
                Some(found) => {
                    let owned = is_object && OWNED.contains(&key.as_str());
                    kept.insert(key.clone(), if owned { found.clone() } else { reduce(value, found, false) });
                    true
                }
            });
            Value::Object(kept)
        }
        (Value::Array(ours), Value::Array(live)) => Value::Array(items(ours, live)),
        (_, live) => live.clone(),
    }
}

/// Items by their keys; without keys, in order.
fn items(ours: &mut [Value], live: &[Value]) -> Vec<Value> {
    let keys = LIST_KEYS.iter().find_map(|keys| Some((keyed(ours, keys)?, keyed(live, keys)?)));
    let Some((mine, theirs)) = keys else {
        let same_length = ours.len() == live.len();
        let pairs = ours.iter_mut().zip(live);
        return if same_length {
            pairs.map(|(one, two)| reduce(one, two, false)).collect()
        } else {
            live.to_vec()
        };
    };
    let reduced = |(key, item): (&String, &Value)| match mine.iter().position(|one| one == key) {
        Some(at) => reduce(&mut ours[at], item, false),
        None => item.clone(),
    };
    theirs.iter().zip(live).map(reduced).collect()
}

/// The key of each item, if each has one of its own.
fn keyed(items: &[Value], keys: &[&str]) -> Option<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for item in items {
        item.as_object()?.get(keys[0]).filter(|value| !value.is_object() && !value.is_array())?;
        let key: Vec<String> = keys.iter().map(|key| item[*key].to_string()).collect();
        found.push(key.join(" "));
    }
    let mut unique = found.clone();
    unique.sort_unstable();
    unique.dedup();
    (unique.len() == found.len()).then_some(found)
}

/// Whether a value says nothing that its absence does not say.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
        Value::Bool(true) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn same(ours: Value, live: Value) -> bool {
        let (ours, live) = comparable(&ours, &live);
        ours == live
    }

    #[test]
    fn defaults_and_fields_of_others_do_not_count() {
        let ours = json!({"kind": "Role", "metadata": {"name": "a", "labels": {"x": "1"}},
            "rules": [{"verbs": ["get"], "resources": ["pods"]}], "status": {}, "priority": null});
        let live = json!({"kind": "Role", "metadata": {"name": "a", "uid": "u", "labels": {"x": "1", "y": "2"}},
            "rules": [{"verbs": ["get"], "resources": ["pods"], "apiGroups": [""]}], "spec": {"new": 1}});
        assert!(same(ours.clone(), live.clone()));
        let mut more = live.clone();
        more["rules"].as_array_mut().unwrap().push(json!({"verbs": ["*"], "resources": ["*"]}));
        assert!(!same(ours.clone(), more), "a rule that somebody added counts");
        let mut other = live;
        other["rules"][0]["verbs"] = json!(["get", "delete"]);
        assert!(!same(ours, other), "a verb that somebody added counts");
    }

    #[test]
    fn items_with_keys_are_reduced_wherever_they_are() {
        let ours = json!({"subjects": [{"kind": "Group", "name": "a"}, {"kind": "Group", "name": "b"}]});
        let live = json!({"subjects": [
            {"kind": "Group", "name": "a", "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "Group", "name": "b", "apiGroup": "rbac.authorization.k8s.io"}]});
        assert!(same(ours.clone(), live.clone()));
        let mut more = live;
        more["subjects"].as_array_mut().unwrap().push(json!({"kind": "User", "name": "c"}));
        let (_, live) = comparable(&ours, &more);
        assert_eq!(live["subjects"][2]["name"], "c");
    }

    #[test]
    fn data_is_compared_as_a_whole_and_decoded() {
        let ours = json!({"kind": "Secret", "stringData": {"a": "hunter2"}});
        assert!(same(ours.clone(), json!({"kind": "Secret", "data": {"a": "aHVudGVyMg=="}})));
        assert!(!same(ours, json!({"kind": "Secret", "data": {"a": "aHVudGVyMg==", "b": "eA=="}})));
        assert!(!same(json!({"data": {"a": "1"}}), json!({"data": {}})));
    }
}
