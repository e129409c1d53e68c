//! A YAML value as the API server receives it, with the lines of the file.
//!
//! A separate type: a [`YamlNode`] keeps the written order and layout, and finds keys by linear search; here scalars
//! have types, maps are sorted, and defaults are added.

use std::collections::BTreeMap;

use crate::base::yaml::{self, Scalar, YamlData, YamlNode};

/// A JSON value and the line of its key, or of itself in a list.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) line: usize,
    pub(super) json: Json,
    /// The spelling of scalars that are not text: `4.10`, not `4.1`.
    pub(super) raw: String,
}

#[derive(Debug, Clone)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    Map(BTreeMap<String, Tree>),
}

impl Tree {
    /// The YAML parser bounds the depth.
    pub(super) fn of(node: &YamlNode) -> Self {
        Self::at(node, node.line)
    }

    fn at(node: &YamlNode, line: usize) -> Self {
        let json = match &node.data {
            YamlData::Scalar { text, plain } => scalar(text, *plain),
            YamlData::List(items) => Json::List(items.iter().map(Self::of).collect()),
            YamlData::Map(entries) => {
                let fields =
                    entries.iter().map(|entry| (entry.key.clone(), Self::at(&entry.value, entry.line)));
                Json::Map(fields.collect())
            }
        };
        let raw = match (&json, &node.data) {
            (Json::Bool(_) | Json::Int(_) | Json::Float(_), YamlData::Scalar { text, .. }) => text.clone(),
            _ => String::new(),
        };
        Self { line, json, raw }
    }

    /// The value with another line: a default gets the line of the object that lacks it.
    pub(super) fn moved(&self, line: usize) -> Self {
        let json = match &self.json {
            Json::List(items) => Json::List(items.iter().map(|item| item.moved(line)).collect()),
            Json::Map(map) => {
                Json::Map(map.iter().map(|(key, value)| (key.clone(), value.moved(line))).collect())
            }
            other => other.clone(),
        };
        Self { line, json, raw: self.raw.clone() }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.json, Json::Null)
    }

    /// The name of its type.
    pub(super) fn kind(&self) -> &'static str {
        match &self.json {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Int(_) => "an integer",
            Json::Float(_) => "a number",
            Json::Text(_) => "a string",
            Json::List(_) => "a list",
            Json::Map(_) => "a map",
        }
    }

    /// Canonical text: equal for equal JSON, regardless of layout and order.
    pub(super) fn meaning(&self) -> String {
        match &self.json {
            Json::Null => "null".into(),
            Json::Bool(value) => value.to_string(),
            Json::Int(value) => value.to_string(),
            // 1.0 and 1 are the same JSON number; f64 prints the first as `1`.
            Json::Float(value) => value.to_string(),
            Json::Text(text) => format!("{text:?}"),
            Json::List(items) => {
                format!("[{}]", items.iter().map(Self::meaning).collect::<Vec<_>>().join(","))
            }
            Json::Map(map) => {
                let fields = map.iter().map(|(key, value)| format!("{key:?}:{}", value.meaning()));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// For a message: short, and on one line.
    pub(super) fn shown(&self) -> String {
        const MOST: usize = 60;
        match &self.json {
            Json::Text(text) => {
                let line = text.lines().next().unwrap_or_default();
                match line.char_indices().nth(MOST) {
                    Some((end, _)) => format!("`{}…`", &line[..end]),
                    None if line.len() < text.trim_end().len() => format!("`{line}…`"),
                    None => format!("`{line}`"),
                }
            }
            Json::Null => "`null`".into(),
            Json::Bool(_) | Json::Int(_) | Json::Float(_) => format!("`{}`", self.raw),
            Json::List(_) | Json::Map(_) => self.kind().into(),
        }
    }
}

/// The JSON type of a scalar.
fn scalar(text: &str, plain: bool) -> Json {
    match if plain { yaml::resolve(text) } else { Scalar::Text } {
        Scalar::Null => Json::Null,
        Scalar::Bool(value) => Json::Bool(value),
        Scalar::Int(value) => i64::try_from(value).map_or(Json::Float(value as f64), Json::Int),
        Scalar::Float(value) => Json::Float(value),
        Scalar::Text => Json::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_what_the_api_server_gets() {
        for (text, wanted) in [
            ("on", "true"),
            ("No", "false"),
            ("y", "true"),
            ("~", "null"),
            ("", "null"),
            ("0777", "511"),
            ("0x10", "16"),
            ("0o17", "15"),
            ("1_000", "1000"),
            ("-5", "-5"),
            ("+5", "5"),
            ("4.10", "4.1"),
            ("1e3", "1000"),
            (".5", "0.5"),
            ("08", "8"),
            ("1.0", "1"),
            ("10.0.0.1", "\"10.0.0.1\""),
            ("10.0.0.0/8", "\"10.0.0.0/8\""),
            ("0x", "\"0x\""),
            ("+", "\"+\""),
            ("-", "\"-\""),
            (".", "\".\""),
            ("2024-01-01", "\"2024-01-01\""),
            ("4.18.0", "\"4.18.0\""),
            ("1e", "\"1e\""),
            ("9223372036854775808", "9223372036854776000"),
        ] {
            let tree = Tree { line: 1, json: scalar(text, true), raw: text.into() };
            assert_eq!(tree.meaning(), wanted, "{text}");
            assert!(matches!(scalar(text, false), Json::Text(same) if same == text));
        }
    }

    #[test]
    fn what_is_shown_is_short() {
        let shown = |text: &str| Tree { line: 1, json: Json::Text(text.into()), raw: String::new() }.shown();
        assert_eq!(shown("a"), "`a`");
        assert_eq!(shown("a\nb"), "`a…`");
        assert_eq!(shown(&"é".repeat(100)), format!("`{}…`", "é".repeat(60)));
    }
}
