//! `fieldValidation=Strict`: fields that a CRD's schema does not have are refused by name.

use serde_json::Value;

/// The fields of an object that its schema does not know, as the API server names them.
pub(crate) fn unknown(schema: &Value, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        // Every object has these, whatever its schema says.
        if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            field(schema, name, value, name, &mut found);
        }
    }
    found
}

fn field(schema: &Value, name: &str, value: &Value, path: &str, found: &mut Vec<String>) {
    let within = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
    match within {
        Some(within) => walk(within, value, path, found),
        None if schema["x-kubernetes-preserve-unknown-fields"] == true => {}
        None => found.push(format!("unknown field \"{path}\"")),
    }
}

fn walk(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if schema.is_object() && schema["x-kubernetes-embedded-resource"] != true => {
            for (name, value) in fields {
                field(schema, name, value, &format!("{path}.{name}"), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                walk(&schema["items"], item, &format!("{path}[{at}]"), found);
            }
        }
        _ => {}
    }
}
