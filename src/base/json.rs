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

/// JSON text without the blanks between its tokens, and otherwise as it is: what Go's `json.Compact` makes of it.
pub(crate) fn compacted(text: &str) -> Option<String> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let (mut compact, mut in_text, mut escaped) = (String::with_capacity(text.len()), false, false);
    for char in text.chars() {
        if in_text || !matches!(char, ' ' | '\t' | '\r' | '\n') {
            compact.push(char);
        }
        match char {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ => {}
        }
    }
    Some(compact)
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

    #[test]
    fn blanks_between_tokens_go_and_nothing_else() {
        let text = " { \"a b\" : [ 1,\n\t\"\\\" \\u00e4 <\" ],\r\n\"a b\":{} }\n";
        assert_eq!(compacted(text).as_deref(), Some("{\"a b\":[1,\"\\\" \\u00e4 <\"],\"a b\":{}}"));
        assert_eq!(compacted("{\"a\": }"), None);
    }
}
