//! The walk as data: stored with every realisation, compared by `why`. Contains secrets only as keyed digests.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Describe, Leaf, Step};
use crate::base::secret::MASK;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    Text(String),
    Int(i64),
    Bool(bool),
    /// Anything that is not a plain value.
    Special(Special),
    Null,
}

/// A leaf that is not a plain value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Special {
    /// An input: its kind and digest.
    Content(String, String),
    /// A secret's keyed digest.
    Secret(String),
    /// An empty list or map.
    Empty(char),
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Int(value) => value.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Null => f.write_str("not set"),
            Self::Special(Special::Content(kind, digest)) => {
                write!(f, "{kind} {}", digest.get(..12).unwrap_or(digest))
            }
            Self::Special(Special::Secret(_)) => f.write_str(MASK),
            Self::Special(Special::Empty(bracket)) => f.write_str(if *bracket == '[' { "[]" } else { "{}" }),
        }
    }
}

impl Fact {
    /// Whether it represents a secret, whose value is unknown here.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Special(Special::Secret(_)))
    }
}

/// Everything that is part of an id, by path (`params.config.domain`, `inputs.ca`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Explanation(pub BTreeMap<String, Fact>);

/// A path whose fact differs between two explanations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    pub path: String,
    /// None if it was added.
    pub from: Option<Fact>,
    /// None if it was removed.
    pub to: Option<Fact>,
}

impl Explanation {
    /// The changes from `self` to `other`, by path.
    pub fn changes(&self, other: &Self) -> Vec<Change> {
        let paths: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        paths
            .into_iter()
            .map(|path| (path, self.0.get(path), other.0.get(path)))
            .filter(|(_, from, to)| from != to)
            .map(|(path, from, to)| Change { path: path.clone(), from: from.cloned(), to: to.cloned() })
            .collect()
    }
}

impl Describe for Explanation {
    fn leaf(&mut self, path: &[Step<'_>], leaf: Leaf<'_>) {
        let fact = match leaf {
            Leaf::Null => Fact::Null,
            Leaf::Bool(value) => Fact::Bool(value),
            Leaf::Int(value) => Fact::Int(value),
            Leaf::Text(text) => Fact::Text(text.to_owned()),
            Leaf::EmptyList => Fact::Special(Special::Empty('[')),
            Leaf::EmptyMap => Fact::Special(Special::Empty('{')),
            Leaf::Content(kind, digest) => {
                Fact::Special(Special::Content(kind.word().to_owned(), digest.to_string()))
            }
            Leaf::Secret(digest) => Fact::Special(Special::Secret(digest.to_string())),
        };
        self.0.insert(show_path(path), fact);
    }
}

/// A readable path: `params.nodes[1].ip`. A key with a dot or bracket is quoted.
pub(crate) fn show_path(path: &[Step<'_>]) -> String {
    let mut shown = String::new();
    for step in path {
        match step {
            Step::Index(index) => shown.push_str(&format!("[{index}]")),
            Step::Key(key) => {
                if !shown.is_empty() {
                    shown.push('.');
                }
                if key.contains(['.', '[', '"']) {
                    shown.push_str(&format!("{key:?}"))
                } else {
                    shown.push_str(key)
                }
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::digest::Digest;
    use crate::engine::drv::InputKind;

    #[test]
    fn an_explanation_survives_its_json() {
        let mut explanation = Explanation::default();
        let leaves = [
            Leaf::Null,
            Leaf::Bool(true),
            Leaf::Int(-3),
            Leaf::Text("x"),
            Leaf::EmptyList,
            Leaf::EmptyMap,
            Leaf::Content(InputKind::Dir, Digest::of(b"")),
            Leaf::Secret(Digest::of(b"")),
        ];
        for (index, leaf) in leaves.into_iter().enumerate() {
            explanation.leaf(&[Step::Key("a.b"), Step::Index(index)], leaf);
        }
        let json = serde_json::to_string(&explanation).unwrap();
        assert!(json.contains(r#""\"a.b\"[3]":"x""#), "{json}");
        assert_eq!(serde_json::from_str::<Explanation>(&json).unwrap(), explanation);
    }

    #[test]
    fn changes_name_path_and_both_sides() {
        let mut before = Explanation::default();
        let mut after = Explanation::default();
        before.leaf(&[Step::Key("params"), Step::Key("ip")], Leaf::Text("a"));
        after.leaf(&[Step::Key("params"), Step::Key("ip")], Leaf::Text("b"));
        after.leaf(&[Step::Key("secrets"), Step::Key("pull")], Leaf::Secret(Digest::of(b"")));
        let changes = before.changes(&after);
        assert_eq!(changes.len(), 2);
        assert_eq!(
            (changes[0].path.as_str(), changes[0].from.clone()),
            ("params.ip", Some(Fact::Text("a".into())))
        );
        assert_eq!(changes[1].to.as_ref().unwrap().to_string(), MASK);
        assert!(before.changes(&before).is_empty());
    }
}
