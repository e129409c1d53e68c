//! Writes nodes as YAML or JSON text. Keys keep their order and plain scalars their spelling, because a patched
//! manifest should look like the original; multi-line texts become block scalars.

use std::fmt::Write as _;

use super::emit::scalar;
use super::read::{YamlData, YamlNode};
use crate::base::value::Value;

/// `node` in block style. Every line but the first is indented by `indent` spaces; no final newline.
pub(crate) fn block(node: &YamlNode, indent: usize) -> String {
    let mut text = String::new();
    write(node, indent, &mut text);
    text.trim_start_matches(['\n', ' ']).to_owned()
}

/// `node` as JSON on one line, valid anywhere, also inside brackets.
pub(crate) fn flow(node: &YamlNode) -> String {
    match &node.data {
        YamlData::Scalar { text, plain } if *plain && is_json(text) => text.clone(),
        YamlData::Scalar { .. } if node.is_null() => "null".into(),
        YamlData::Scalar { text, .. } => Value::from(text.as_str()).to_string(),
        YamlData::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        YamlData::Map(entries) => {
            let entry = |entry: &super::YamlEntry| {
                format!("{}: {}", Value::from(entry.key.as_str()), flow(&entry.value))
            };
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// `node` as JSON on several lines.
pub(super) fn json(node: &YamlNode, indent: usize) -> String {
    let deeper = indent + 2;
    let lines = |items: Vec<String>, [open, close]: [char; 2]| {
        let items = items.join(&format!(",\n{:deeper$}", ""));
        format!("{open}\n{:deeper$}{items}\n{:indent$}{close}", "", "")
    };
    match &node.data {
        YamlData::List(items) if !items.is_empty() => {
            lines(items.iter().map(|item| json(item, deeper)).collect(), ['[', ']'])
        }
        YamlData::Map(entries) if !entries.is_empty() => {
            let entry = |entry: &super::YamlEntry| {
                format!("{}: {}", Value::from(entry.key.as_str()), json(&entry.value, deeper))
            };
            lines(entries.iter().map(entry).collect(), ['{', '}'])
        }
        _ => flow(node),
    }
}

/// A scalar on one line of a block.
pub(super) fn inline(text: &str, plain: bool) -> String {
    match plain && !text.is_empty() && !text.contains('\n') && !is_marker(text) {
        true => text.to_owned(),
        false if plain && text.is_empty() => "null".into(),
        false => scalar(text),
    }
}

/// Whether a plain scalar would begin or end a document where nothing stands before it.
fn is_marker(text: &str) -> bool {
    let rest = text.strip_prefix("---").or_else(|| text.strip_prefix("..."));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Whether a plain scalar is also a JSON literal or number.
fn is_json(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || serde_json::from_str::<serde_json::Number>(text).is_ok()
}

/// YAML ends the search for the `:` of a key after 1,024 characters, unless a `?` announces it.
const LONGEST_KEY: usize = 1000;

fn write(node: &YamlNode, indent: usize, to: &mut String) {
    match &node.data {
        YamlData::List(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(to, "\n{:indent$}-", "");
                entry(item, indent + 2, to, true);
            }
        }
        YamlData::Map(entries) if !entries.is_empty() => {
            for one in entries {
                let key = scalar(&one.key);
                let _ = match key.len() <= LONGEST_KEY {
                    true => write!(to, "\n{:indent$}{key}:", ""),
                    false => write!(to, "\n{:indent$}? {key}\n{:indent$}:", "", ""),
                };
                entry(&one.value, indent, to, false);
            }
        }
        YamlData::List(_) => to.push_str("[]"),
        YamlData::Map(_) => to.push_str("{}"),
        YamlData::Scalar { text, plain } => to.push_str(&inline(text, *plain)),
    }
}

/// The text after a `-` or a `key:`.
fn entry(node: &YamlNode, indent: usize, to: &mut String, in_list: bool) {
    match &node.data {
        YamlData::Map(entries) if !entries.is_empty() && in_list => {
            let _ = write!(to, " {}", block(node, indent));
        }
        YamlData::Map(entries) if !entries.is_empty() => write(node, indent + 2, to),
        YamlData::List(items) if !items.is_empty() => write(node, indent, to),
        YamlData::Scalar { text, plain: false } if fits_block(text) => {
            let indent = if in_list { indent } else { indent + 2 };
            to.push_str(if text.ends_with('\n') { " |" } else { " |-" });
            for line in text.lines() {
                to.push('\n');
                if !line.is_empty() {
                    let _ = write!(to, "{:indent$}{line}", "");
                }
            }
        }
        _ => {
            to.push(' ');
            write(node, indent, to);
        }
    }
}

/// Whether a multi-line text survives a round trip as a block scalar.
fn fits_block(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with(|c: char| c.is_whitespace())
        && !text.chars().any(|c| c.is_control() && c != '\n')
}
