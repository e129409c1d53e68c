//! The canonical encoding: a sequence of leaves, each with its path from the root.
//!
//! Every count, length and number is a little-endian u64, every text is preceded by its length, every alternative by a
//! tag byte. So two different derivations never feed the same bytes to the hash.

use super::InputKind;
use crate::base::digest::{Digest, DrvId};
use crate::base::value::Value;

/// One step of the path to a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The value at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Text(&'a str),
    EmptyList,
    EmptyMap,
    /// The content of an input.
    Content(InputKind, Digest),
    /// A secret, by its keyed digest.
    Secret(Digest),
}

pub(crate) trait Describe {
    /// Receives one leaf, in canonical order.
    fn leaf(&mut self, path: &[Step<'_>], leaf: Leaf<'_>);
}

/// Walks a value below `path`.
pub(super) fn walk<'a>(path: &mut Vec<Step<'a>>, value: &'a Value, to: &mut impl Describe) {
    match value {
        Value::Null => to.leaf(path, Leaf::Null),
        Value::Bool(value) => to.leaf(path, Leaf::Bool(*value)),
        Value::Int(value) => to.leaf(path, Leaf::Int(*value)),
        Value::Text(text) => to.leaf(path, Leaf::Text(text)),
        Value::List(list) if list.is_empty() => to.leaf(path, Leaf::EmptyList),
        Value::Map(map) if map.is_empty() => to.leaf(path, Leaf::EmptyMap),
        Value::List(list) => {
            for (index, item) in list.iter().enumerate() {
                path.push(Step::Index(index));
                walk(path, item, to);
                path.pop();
            }
        }
        Value::Map(map) => {
            for (key, item) in map {
                path.push(Step::Key(key));
                walk(path, item, to);
                path.pop();
            }
        }
    }
}

/// Hashes the walk into an id.
pub(super) struct Hasher(blake3::Hasher);

impl Default for Hasher {
    fn default() -> Self {
        Self(blake3::Hasher::new_derive_key("tinderbox 2026-11-16 derivation v1"))
    }
}

impl Hasher {
    pub(super) fn finish(&self) -> DrvId {
        Digest::from(self.0.finalize()).into()
    }

    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn tag(&mut self, tag: u8) {
        self.0.update(&[tag]);
    }
}

impl Describe for Hasher {
    fn leaf(&mut self, path: &[Step<'_>], leaf: Leaf<'_>) {
        self.number(path.len() as u64);
        for step in path {
            match step {
                Step::Key(key) => {
                    self.tag(b'k');
                    self.text(key);
                }
                Step::Index(index) => {
                    self.tag(b'i');
                    self.number(*index as u64);
                }
            }
        }
        match leaf {
            Leaf::Null => self.tag(b'0'),
            Leaf::Bool(value) => self.tag(if value { b'T' } else { b'F' }),
            Leaf::Int(value) => {
                self.tag(b'n');
                self.number(value as u64);
            }
            Leaf::Text(text) => {
                self.tag(b't');
                self.text(text);
            }
            Leaf::EmptyList => self.tag(b'['),
            Leaf::EmptyMap => self.tag(b'{'),
            Leaf::Content(kind, digest) => {
                self.tag(b'c');
                self.text(kind.word());
                self.0.update(digest.as_bytes());
            }
            Leaf::Secret(digest) => {
                self.tag(b's');
                self.0.update(digest.as_bytes());
            }
        }
    }
}
