//! Compares two files by meaning: their content decides how, down to the leaf.
//!
//! | content | compared by |
//! |---|---|
//! | Ignition config | files by path with their decoded contents, units, users, kernel arguments |
//! | Kubernetes objects | kind, namespace and name; then field by field, list items by their key |
//! | CRD | versions, then the schema by path: what it newly allows or rejects |
//! | certificate, kubeconfig | field by field; for a key only whether it changed |
//! | systemd unit, environment file | section and key |
//! | command line | flag by flag, in containers and units |
//! | image reference | component and digest |
//! | other YAML, JSON | field by field |
//! | text | lines, as `diff -u` |
//! | anything else | size and hash |
//!
//! Invariants: a file does not differ from itself; [`Change::inverse`] of the changes from A to B are the changes from
//! B to A; a [`Change`] never contains a secret value, only that it changed. Pure: bytes in, data out.

mod certificate;
mod command;
mod data;
mod environment;
mod fields;
mod gate;
mod ignition;
mod image;
mod inverse;
mod lines;
mod lists;
mod narrow;
mod node;
mod object;
mod open;
mod pem;
mod read;
mod rename;
mod schema;
mod secret_fields;
mod show;
mod sparse;
#[cfg(test)]
mod tests;
mod text;
mod unit;
mod walk;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use inverse::inverse;
pub(crate) use lists::KEYS as LIST_KEYS;
pub(crate) use rename::renames;
use walk::Walk;

#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Path in the artifact or on the node; its extension hints at the type (`.yaml`, `.service`, `.ign`).
    pub path: &'a str,
    pub content: &'a [u8],
    /// Whether its values must be masked.
    pub secret: bool,
    pub executable: bool,
}

/// Knowledge about both sides beyond the files.
#[derive(Debug, Clone, Default)]
pub struct DeltaContext {
    /// Image names by the digest in their references (`sha256:…`): components of either release.
    pub components: BTreeMap<String, String>,
    /// Maximum number of changes per file; 0 is [`CHANGES`].
    pub limit: usize,
}

/// Default maximum number of changes per file.
pub(crate) const CHANGES: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// The path to it: file, object, fields.
    pub place: Vec<PlaceStep>,
    pub kind: ChangeKind,
    #[serde(flatten)]
    pub edit: Edit,
    /// For a schema: whether it allows more or less now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tone: Option<Tone>,
    /// A remark for the reader, such as why it is compared as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One step of the path to a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PlaceStep {
    pub into: StepKind,
    pub name: String,
}

/// The kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A file in the artifact or on the node: its path.
    File,
    /// A Kubernetes object: `Kind namespace/name`.
    Object,
    /// One of several certificates in a file: its subject.
    Certificate,
    Field,
    /// A list item: its key (`name=etcd`), its value, or its index if it has neither.
    Item,
    Section,
    Flag,
    /// A rule of a schema for the preceding field: `enum`, `maxLength`.
    Rule,
}

/// What a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A whole file: its existence, name, mode or owner.
    File,
    /// A field of a Kubernetes object, or a whole object.
    Object,
    /// A field of other YAML or JSON.
    Data,
    /// A field of a CRD's schema, or one of its versions.
    Schema,
    Certificate,
    Key,
    Kubeconfig,
    Unit,
    Environment,
    Flag,
    Image,
    Gate,
    /// A user, group, kernel argument or the like in an Ignition config.
    Node,
    Text,
    Binary,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "edit", rename_all = "kebab-case")]
pub enum Edit {
    Added {
        new: ShownValue,
    },
    Removed {
        old: ShownValue,
    },
    Changed {
        old: ShownValue,
        new: ShownValue,
    },
    /// The same under another name. Changes inside are separate, under the new name.
    Renamed {
        old: String,
        new: String,
    },
    Lines {
        /// The differences, with context lines.
        hunks: Vec<Hunk>,
        /// Number of omitted hunks.
        cut: usize,
    },
}

/// A value as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShownValue {
    /// A scalar as written, anything larger as YAML.
    Text(String),
    Secret,
    /// Binary data: size and BLAKE3.
    Bytes {
        size: u64,
        blake3: String,
    },
}

/// A range in which texts differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Hunk {
    /// From 1.
    pub old_start: usize,
    /// From 1.
    pub new_start: usize,
    pub lines: Vec<HunkLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HunkLine {
    /// ` `, `-` or `+`.
    pub sign: char,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Objects that were valid may become invalid.
    Tightened,
    /// Objects that were invalid may become valid.
    Loosened,
}

/// Compares two versions of a file; one of them may be absent.
pub fn files(old: Option<File<'_>>, new: Option<File<'_>>, context: &DeltaContext) -> Vec<Change> {
    match (old, new) {
        (None, None) => Vec::new(),
        // Always start from the same side, so that the changes from B to A are the inverse of those from A to B: an
        // algorithm that finds one of several shortest edits need not find the same one twice.
        (Some(old), Some(new)) if (new.content, new.path) < (old.content, old.path) => {
            inverse(pair(&new, &old, context))
        }
        (Some(old), Some(new)) => pair(&old, &new, context),
        (old, new) => alone(old.as_ref(), new.as_ref(), context),
    }
}

fn alone(old: Option<&File<'_>>, new: Option<&File<'_>>, context: &DeltaContext) -> Vec<Change> {
    let mut walk = Walk::new(context);
    let shown = |file: Option<&File<'_>>| file.map(|file| open::shown(file.path, file.content, file.secret));
    let path = old.or(new).map(|file| file.path).unwrap_or_default();
    if let Some(edit) = walk::edit(shown(old), shown(new)) {
        walk.step(StepKind::File, path, |walk| walk.push(ChangeKind::File, edit));
    }
    walk.finish()
}

fn pair(old: &File<'_>, new: &File<'_>, context: &DeltaContext) -> Vec<Change> {
    let mut walk = Walk::new(context);
    walk.step(StepKind::File, new.path, |walk| {
        if old.path != new.path {
            walk.push(ChangeKind::File, Edit::Renamed { old: old.path.to_owned(), new: new.path.to_owned() });
        }
        let word = |file: &File<'_>| if file.executable { "executable" } else { "plain" };
        walk.field("mode", |walk| walk.texts(ChangeKind::File, Some(word(old)), Some(word(new))));
        walk.masked = old.secret || new.secret;
        open::content(walk, new.path, old.content, new.content);
    });
    walk.finish()
}
