//! JSON pointers (RFC 6901): `/spec/containers/0`, where `~1` stands for `/` and `~0` for `~`.

use std::fmt;

use crate::base::yaml::{YamlData, YamlNode};

/// A path into a document; empty for the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer(pub Vec<String>);

impl Pointer {
    /// Parses a pointer; none if it violates RFC 6901.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let Some(rest) = text.strip_prefix('/') else {
            return text.is_empty().then(|| Self(Vec::new()));
        };
        let step = |step: &str| {
            let odd = step.replace("~0", "").replace("~1", "").contains('~');
            (!odd).then(|| step.replace("~1", "/").replace("~0", "~"))
        };
        rest.split('/').map(step).collect::<Option<_>>().map(Self)
    }

    pub(crate) fn find<'n>(&self, root: &'n YamlNode) -> Option<&'n YamlNode> {
        self.0.iter().try_fold(root, |node, step| match &node.data {
            YamlData::List(items) => items.get(index(step)?),
            _ => node.get(step),
        })
    }

    /// The node at the path, for editing.
    pub(super) fn find_mut<'n>(&self, root: &'n mut YamlNode) -> Option<&'n mut YamlNode> {
        self.0.iter().try_fold(root, |node, step| match &mut node.data {
            YamlData::List(items) => items.get_mut(index(step)?),
            YamlData::Map(entries) => {
                entries.iter_mut().find(|entry| entry.key == *step).map(|entry| &mut entry.value)
            }
            YamlData::Scalar { .. } => None,
        })
    }

    /// The path of the parent, and the last step; none for the root.
    pub(super) fn split(&self) -> Option<(Self, &str)> {
        let (last, parents) = self.0.split_last()?;
        Some((Self(parents.to_vec()), last))
    }

    /// The path with one more step.
    pub(super) fn below(&self, step: &str) -> Self {
        Self(self.0.iter().cloned().chain([step.to_owned()]).collect())
    }

    /// Whether `other` is at or below this path.
    pub(super) fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

/// The list index of a step: digits without leading zeros.
pub(super) fn index(step: &str) -> Option<usize> {
    let digits = step.bytes().all(|c| c.is_ascii_digit());
    (digits && (step == "0" || !step.starts_with('0'))).then(|| step.parse().ok()).flatten()
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}
