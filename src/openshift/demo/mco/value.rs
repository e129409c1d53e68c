//! What YAML and JSON say, and how to ask for it. Maps are sorted: order never reaches bytes.

use std::collections::BTreeMap;

/// One node of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As written, but for octal and hexadecimal integers, which become decimal.
    Number(String),
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// What stands under `key`; nothing below anything but a map.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Map(map) => map.get(key),
            _ => None,
        }
    }

    /// The value at a path of keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The text at a path; empty if there is none.
    pub(super) fn text(&self, path: &[&str]) -> &str {
        match self.at(path) {
            Some(Self::Text(text) | Self::Number(text)) => text,
            _ => "",
        }
    }

    /// The list at a path; empty if there is none.
    pub(super) fn list(&self, path: &[&str]) -> &[Value] {
        match self.at(path) {
            Some(Self::List(list)) => list,
            _ => &[],
        }
    }

    /// Whether the value at a path is `true`.
    pub(super) fn truth(&self, path: &[&str]) -> bool {
        self.at(path) == Some(&Self::Bool(true))
    }

    /// `apiVersion` without its version, and `kind`: what an object is.
    pub(super) fn kind(&self) -> (&str, &str) {
        let version = self.text(&["apiVersion"]);
        (version.split_once('/').map_or("", |(group, _)| group), self.text(&["kind"]))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<Vec<Value>> for Value {
    fn from(list: Vec<Value>) -> Self {
        Self::List(list)
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Value {
    fn from(entries: [(&str, Value); N]) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}
