//! Derivations: the inputs of a build, and its identity.
//!
//! | part of a derivation | in its id | why |
//! |---|---|---|
//! | label | no | a renamed recipe produces the same bytes |
//! | builder, with version | yes | another version may produce other bytes |
//! | inputs: alias, kind, content digest | yes | by content, so that an input that rebuilds to the same bytes stops the cascade |
//! | inputs: name of the derivation they come from | no | only its content counts |
//! | parameters, including config fields and template texts | yes | they are the builder's input |
//! | config paths and file lines of the values | no | moving a line changes nothing |
//! | secrets: name and keyed digest | yes | another secret produces other bytes; the digest reveals nothing without the seed |
//! | stage, recipe file, estimated duration | no | they affect when it is built, not what |
//!
//! ONE walk ([`Derivation::describe`]) feeds the id and the explanation, so that `why` cannot drift from the hash.

mod describe;
mod explain;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub(crate) use describe::{Describe, Leaf, Step};
pub(crate) use explain::{Change, Explanation, Fact, show_path};

use crate::base::digest::{Digest, DrvId};
use crate::base::value::Value;
use crate::engine::tree::{EntryKind, TreeEntry};

/// A builder's kind and version, `template@1`. A builder that produces different bytes needs a new version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuilderId {
    pub kind: String,
    pub version: u32,
}

impl BuilderId {
    pub fn new(kind: &str, version: u32) -> Self {
        Self { kind: kind.to_owned(), version }
    }
}

impl fmt::Display for BuilderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.kind, self.version)
    }
}

impl FromStr for BuilderId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, version) = text.split_once('@').ok_or_else(|| format!("`{text}` is not a builder id"))?;
        let version = version.parse().map_err(|_| format!("`{text}` is not a builder id"))?;
        Ok(Self { kind: kind.to_owned(), version })
    }
}

/// The content of one input: a whole object, or one file or directory of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    /// `f`ile, e`x`ecutable or `d`irectory.
    pub kind: InputKind,
    /// Digest of the content; keyed if the content is secret.
    pub digest: Digest,
}

/// The type of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    File,
    Executable,
    Dir,
}

impl InputKind {
    /// Its name in the walk.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Executable => "executable",
            Self::Dir => "directory",
        }
    }
}

impl Input {
    /// The input kind of a listing entry; none for a link, which has no content of its own.
    pub(crate) fn of(entry: &TreeEntry) -> Option<Self> {
        let kind = match entry.kind {
            EntryKind::File { exec: false, .. } => InputKind::File,
            EntryKind::File { exec: true, .. } => InputKind::Executable,
            EntryKind::Dir => InputKind::Dir,
            EntryKind::Link { .. } => return None,
        };
        Some(Self { kind, digest: entry.digest })
    }
}

/// A recipe instance with everything resolved, ready to be looked up or built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Derivation<'a> {
    /// For messages only.
    pub label: &'a str,
    pub builder: BuilderId,
    /// Inputs by alias.
    pub inputs: BTreeMap<String, Input>,
    /// Everything else that the builder uses.
    pub params: &'a BTreeMap<String, Value>,
    /// Keyed digests of the builder's secret values, by name.
    pub secrets: BTreeMap<String, Digest>,
}

impl Derivation<'_> {
    /// Walks the identity of this build: [`Derivation::id`] hashes the walk, [`Derivation::explain`] stores it.
    pub(crate) fn describe(&self, to: &mut impl Describe) {
        let Self { label: _, builder, inputs, params, secrets } = self; // exhaustive on purpose: see the table above
        to.leaf(&[Step::Key("builder")], Leaf::Text(&builder.to_string()));
        for (alias, input) in inputs {
            let Input { kind, digest } = input;
            to.leaf(&[Step::Key("inputs"), Step::Key(alias)], Leaf::Content(*kind, *digest));
        }
        for (name, value) in *params {
            describe::walk(&mut vec![Step::Key("params"), Step::Key(name)], value, to);
        }
        for (name, digest) in secrets {
            to.leaf(&[Step::Key("secrets"), Step::Key(name)], Leaf::Secret(*digest));
        }
    }

    pub(crate) fn id(&self) -> DrvId {
        let mut hasher = describe::Hasher::default();
        self.describe(&mut hasher);
        hasher.finish()
    }

    /// The walk as data: stored in a trace, compared by `why`.
    pub(crate) fn explain(&self) -> Explanation {
        let mut explanation = Explanation::default();
        self.describe(&mut explanation);
        explanation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> BTreeMap<String, Value> {
        BTreeMap::from([
            ("domain".into(), Value::from("ocp4.example.com")),
            ("ports".into(), Value::List(vec![Value::Int(80), Value::Int(443)])),
            ("none".into(), Value::Null),
            ("empty".into(), Value::Map(BTreeMap::new())),
        ])
    }

    fn example(params: &BTreeMap<String, Value>) -> Derivation<'_> {
        Derivation {
            label: "manifest/dns",
            builder: BuilderId::new("template", 1),
            inputs: BTreeMap::from([(
                "ca".into(),
                Input { kind: InputKind::File, digest: Digest::of(b"ca") },
            )]),
            params,
            secrets: BTreeMap::from([("pullSecret".into(), Digest::of(b"keyed"))]),
        }
    }

    /// A literal digest: changing it rebuilds everything for everyone. Decide it, and say so in CHANGELOG.md.
    #[test]
    fn ids_are_pinned() {
        insta::assert_snapshot!(example(&params()).id(), @"2c4hfim2rymuyq76gqxwjft4xvmjxxmmuo5xggaxywtjpoj63waq");
    }

    #[test]
    fn the_label_is_not_identity_and_everything_else_is() {
        let params = params();
        let id = example(&params).id();
        let changed = |change: fn(&mut Derivation<'_>)| {
            let mut drv = example(&params);
            change(&mut drv);
            drv.id()
        };
        let given = |name: &str, value: Value| {
            let mut params = params.clone();
            *params.get_mut(name).unwrap() = value;
            example(&params).id()
        };
        assert_eq!(changed(|drv| drv.label = "other"), id);
        let others = [
            changed(|drv| drv.builder.version = 2),
            changed(|drv| drv.builder.kind = "tree".into()),
            changed(|drv| drv.inputs.clear()),
            changed(|drv| drv.inputs.get_mut("ca").unwrap().digest = Digest::of(b"other")),
            changed(|drv| drv.inputs.get_mut("ca").unwrap().kind = InputKind::Executable),
            given("domain", Value::from("x")),
            given("none", Value::from("null")),
            given("empty", Value::List(vec![])),
            changed(|drv| drv.secrets.clear()),
        ];
        for (index, other) in others.iter().enumerate() {
            assert_ne!(*other, id, "{index}");
            assert!(!others[..index].contains(other), "{index}");
        }
    }
}
