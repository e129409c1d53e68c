//! JSON in one canonical order, whatever order `serde_json`'s maps keep: a feature of some other crate decides that, for
//! the whole program. Every JSON text of ours that can reach an id is written here.

use std::fmt::Write as _;

use serde_json::Value;

/// JSON with sorted keys and no spaces.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// The value with sorted keys, for writers with a style of their own.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        scalar => scalar.clone(),
    }
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            text.push('{');
            for (at, key) in keys.into_iter().enumerate() {
                let _ = write!(text, "{}{}:", if at == 0 { "" } else { "," }, Value::from(key.as_str()));
                write(&map[key], text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write(item, text);
            }
            text.push(']');
        }
        scalar => drop(write!(text, "{scalar}")), // writing to a string cannot fail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_level() {
        let value: Value =
            serde_json::from_str(r#"{"b": [{"z": 1, "y": "\n"}], "a": {}, "c": null}"#).unwrap();
        let expected = r#"{"a":{},"b":[{"y":"\n","z":1}],"c":null}"#;
        assert_eq!(canonical(&value), expected);
        assert_eq!(sorted(&value).to_string(), expected);
    }
}
