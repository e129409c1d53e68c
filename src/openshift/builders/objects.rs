//! The Kubernetes objects of a tree: every document of every YAML or JSON file, with its file and line.

use std::collections::BTreeMap;
use std::fmt;

use super::{InputTree, JobError};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlNode};
use crate::engine::tree::EntryKind;
use crate::openshift::patch::Identity;

/// All of them. Excludes files that are not YAML: a check reports those.
#[derive(Default)]
pub(super) struct Objects {
    files: BTreeMap<String, File>,
}

struct File {
    text: String,
    documents: Vec<YamlNode>,
    secret: bool,
}

pub(super) struct Found<'a> {
    pub(super) file: &'a str,
    /// Index in the file.
    pub(super) at: usize,
    pub(super) identity: Identity,
    pub(super) document: &'a YamlNode,
    /// Whether messages must not show its values.
    pub(super) secret: bool,
}

impl Objects {
    pub(super) fn read(alias: &str, input: &InputTree) -> Result<Self, JobError> {
        let mut objects = Self::default();
        for (path, _, entry) in input.leaves().filter(|(path, ..)| yaml::is_manifest(path)) {
            if matches!(entry.kind, EntryKind::File { .. }) {
                objects.add(path, input.text(alias, path)?, entry.secret);
            }
        }
        Ok(objects)
    }

    pub(super) fn add(&mut self, path: &str, text: String, secret: bool) {
        let mut problems = Problems::default();
        let documents = yaml::documents(Source { name: path, text: &text }, &mut problems);
        if problems.0.is_empty() {
            self.files.insert(path.to_owned(), File { text, documents, secret });
        }
    }

    /// Every document, by file.
    pub(super) fn iter(&self) -> impl Iterator<Item = Found<'_>> {
        self.files.iter().flat_map(|(file, content)| {
            content.documents.iter().enumerate().map(move |(at, document)| Found {
                file,
                at,
                identity: Identity::of(document),
                document,
                secret: content.secret,
            })
        })
    }

    /// The paths of all files.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Replaces one document, and returns the new text of its file.
    pub(super) fn replace(&mut self, path: &str, at: usize, new: &YamlNode) -> String {
        let Some(File { text, documents, secret }) = self.files.remove(path) else { return String::new() };
        let text = yaml::edit(path, &text, &documents, at, new);
        self.add(path, text.clone(), secret);
        text
    }
}

/// `DNS cluster (manifests/cluster-dns-02-config.yml)`.
impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.identity, self.file)
    }
}
