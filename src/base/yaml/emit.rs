//! Writes values as YAML text for templates: block style, sorted, quoted whenever a parser could misread them.

use std::fmt::Write as _;

use crate::base::value::Value;

/// `value` as YAML. Every line but the first is indented by `indent` spaces, because the first continues the caller's
/// line. No final newline.
pub(crate) fn emit(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write(value, indent, &mut text);
    text.trim().to_owned()
}

fn write(value: &Value, indent: usize, to: &mut String) {
    match value {
        Value::List(list) if !list.is_empty() => {
            for item in list {
                let _ = write!(to, "\n{:indent$}-", "");
                entry(item, indent + 2, to, true);
            }
        }
        Value::Map(map) if !map.is_empty() => {
            for (key, item) in map {
                let _ = write!(to, "\n{:indent$}{}:", "", scalar(key));
                entry(item, indent, to, false);
            }
        }
        Value::List(_) => to.push_str("[]"),
        Value::Map(_) => to.push_str("{}"),
        Value::Null => to.push_str("null"),
        Value::Bool(value) => to.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => {
            let _ = write!(to, "{value}");
        }
        Value::Text(text) => to.push_str(&scalar(text)),
    }
}

/// The text after a `-` or a `key:`.
fn entry(item: &Value, indent: usize, to: &mut String, in_list: bool) {
    match item {
        Value::Map(map) if !map.is_empty() && in_list => {
            let mut nested = String::new();
            write(item, indent, &mut nested);
            to.push(' ');
            to.push_str(nested.trim_start());
        }
        Value::Map(map) if !map.is_empty() => write(item, indent + 2, to),
        Value::List(list) if !list.is_empty() => write(item, indent, to),
        _ => {
            to.push(' ');
            write(item, indent, to);
        }
    }
}

/// The text itself if no parser could misread it, else in double quotes (JSON strings are valid YAML).
pub(crate) fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./@+".contains(c))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n" | "nan" | "inf"
        );
    if plain { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn nested_values_are_block_style() {
        let map = |entries: &[(&str, Value)]| {
            Value::Map(
                entries
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), value.clone()))
                    .collect::<BTreeMap<_, _>>(),
            )
        };
        let value = map(&[
            (
                "cidrs",
                Value::List(vec![map(&[("cidr", "10.0.0.0/8".into()), ("hostPrefix", Value::Int(23))])]),
            ),
            ("empty", Value::List(vec![])),
            ("name", "ocp4".into()),
            ("none", Value::Map(BTreeMap::new())),
            (
                "odd",
                Value::List(vec!["yes".into(), "1".into(), "a: b".into(), "two\nlines".into(), Value::Null]),
            ),
        ]);
        insta::assert_snapshot!(emit(&value, 2), @r#"
        cidrs:
          - cidr: "10.0.0.0/8"
            hostPrefix: 23
          empty: []
          name: ocp4
          none: {}
          odd:
          - "yes"
          - "1"
          - "a: b"
          - "two\nlines"
          - null
        "#);
    }
}
