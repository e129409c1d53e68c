//! Two files compared by meaning: what is in them decides how, down to the leaf.
//!
//! | content | compared by |
//! |---|---|
//! | Ignition config | files by path with their decoded contents, units, users, kernel arguments |
//! | Kubernetes objects | kind, namespace and name; then field by field, list items by their key |
//! | CRD | versions, then the schema by path: what it now allows or refuses |
//! | certificate, kubeconfig | field by field; of a key only whether it is another one |
//! | systemd unit, environment file | section and key |
//! | command line | flag by flag, wherever one stands: a container's, a unit's |
//! | image reference | component and digest |
//! | other YAML, JSON | field by field |
//! | text | lines, as `diff -u` |
//! | anything else | size and hash |
//!
//! Invariants: of a file and itself nothing differs; [`Change::inverse`] of every change from A to B are the changes from
//! B to A; no value of a secret is in a [`Change`], only that it is another one. Pure: bytes in, data out.

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
pub(crate) use rename::renames;
use walk::Walk;

/// One file of one side.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its path in the artifact or on the node; says what it may be (`.yaml`, `.service`, `.ign`).
    pub path: &'a str,
    pub content: &'a [u8],
    /// Whether its values may not be shown.
    pub secret: bool,
    /// Whether it is a program.
    pub executable: bool,
}

/// What is known about both sides beside the files.
#[derive(Debug, Clone, Default)]
pub struct DeltaContext {
    /// Names of images by the digest in their references (`sha256:…`): components of either release.
    pub components: BTreeMap<String, String>,
    /// Stops at this many changes of one file; 0 is [`CHANGES`].
    pub limit: usize,
}

/// Changes of one file that are told apart, unless told otherwise.
pub(crate) const CHANGES: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// The way to it, from the file down: file, object, fields.
    pub place: Vec<PlaceStep>,
    /// What it is a difference of.
    pub kind: ChangeKind,
    #[serde(flatten)]
    pub edit: Edit,
    /// Of a schema: whether it allows more or less now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tone: Option<Tone>,
    /// What the reader should know, such as why it is compared as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One step of the way to a place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PlaceStep {
    /// What it goes into.
    pub into: Into,
    pub name: String,
}

/// What a step goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Into {
    /// A file in the artifact, or on the node: its path.
    File,
    /// A Kubernetes object: `Kind namespace/name`.
    Object,
    /// A certificate of a file that has several: its subject.
    Certificate,
    /// A field of a map.
    Field,
    /// An item of a list: its key (`name=etcd`), its value, or its index where nothing else tells it.
    Item,
    /// A section of a unit.
    Section,
    /// A flag of a command line.
    Flag,
    /// A rule of a schema for the field before it: `enum`, `maxLength`.
    Rule,
}

/// What a difference is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A file as a whole: there or not, its name, its mode, its owner.
    File,
    /// A field of a Kubernetes object, or an object as a whole.
    Object,
    /// A field of other YAML or JSON.
    Data,
    /// A field of a CRD's schema, or one of its versions.
    Schema,
    /// A field of a certificate.
    Certificate,
    Key,
    /// A field of a kubeconfig.
    Kubeconfig,
    Unit,
    /// A variable of an environment file.
    Environment,
    /// A flag or argument of a command line.
    Flag,
    /// A reference to an image.
    Image,
    Gate,
    /// A user, group, kernel argument or the like of an Ignition config.
    Node,
    Text,
    Binary,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "edit", rename_all = "kebab-case")]
pub enum Edit {
    /// Only on the new side.
    Added { new: ShownValue },
    /// Only on the old side.
    Removed { old: ShownValue },
    /// On both sides, and not the same.
    Changed { old: ShownValue, new: ShownValue },
    /// The same under another name. Changes inside of it are changes of their own, under the new name.
    Renamed { old: String, new: String },
    Lines {
        /// Where they differ, with lines around.
        hunks: Vec<Hunk>,
        /// Hunks that are not here.
        cut: usize,
    },
}

/// A value as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShownValue {
    /// As text: a scalar as written, anything larger as YAML.
    Text(String),
    Secret,
    /// Bytes: how many, and their BLAKE3.
    Bytes {
        size: u64,
        blake3: String,
    },
}

/// A place where texts differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Hunk {
    /// First line on the old side, from 1.
    pub old_start: usize,
    /// First line on the new side, from 1.
    pub new_start: usize,
    pub lines: Vec<HunkLine>,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HunkLine {
    /// ` `, `-` or `+`.
    pub sign: char,
    pub text: String,
}

/// Whether a schema allows more or less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// What was valid may not be any more.
    Tightened,
    /// What was not valid may be now.
    Loosened,
}

/// What differs between two files that stand for the same thing; one of them may not be there.
pub fn files(old: Option<File<'_>>, new: Option<File<'_>>, context: &DeltaContext) -> Vec<Change> {
    match (old, new) {
        (None, None) => Vec::new(),
        // One side is always the first, so the way from B to A is the way from A to B, read backwards: an algorithm that
        // finds one of several shortest edits need not find the same one twice.
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
        walk.step(Into::File, path, |walk| walk.push(ChangeKind::File, edit));
    }
    walk.finish()
}

fn pair(old: &File<'_>, new: &File<'_>, context: &DeltaContext) -> Vec<Change> {
    let mut walk = Walk::new(context);
    walk.step(Into::File, new.path, |walk| {
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
