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
                objects.add(alias, path, input.text(alias, path)?, entry.secret)?;
            }
        }
        Ok(objects)
    }

    /// Adds the objects of a file of an input. One that cannot be read is an error: left out, its objects would be
    /// missing from every check and patch, and nobody would know.
    pub(super) fn add(
        &mut self,
        alias: &str,
        path: &str,
        text: String,
        secret: bool,
    ) -> Result<(), JobError> {
        let mut problems = Problems::default();
        let documents = yaml::documents(Source { name: path, text: &text }, &mut problems);
        match problems.0.into_iter().min() {
            None => drop(self.files.insert(path.to_owned(), File { text, documents, secret })),
            Some(problem) => {
                // A message may quote the file.
                let problem = if secret { problem.place.to_string() } else { problem.to_string() };
                let problem = format!("has a file that cannot be read: {problem}");
                return Err(JobError::Input { alias: alias.to_owned(), problem });
            }
        }
        Ok(())
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
    pub(super) fn replace(
        &mut self,
        alias: &str,
        path: &str,
        at: usize,
        new: &YamlNode,
    ) -> Result<String, JobError> {
        let Some(File { text, documents, secret }) = self.files.remove(path) else {
            return Ok(String::new());
        };
        let text = yaml::edit(path, &text, &documents, at, new);
        self.add(alias, path, text.clone(), secret)?;
        Ok(text)
    }
}

/// `DNS cluster (manifests/cluster-dns-02-config.yml)`.
impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.identity, self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let mut objects = Objects::default();
        objects.add("tree", "good.yaml", "kind: A\n".into(), false).unwrap();
        let add = |objects: &mut Objects, secret| {
            let text = "kind: A\ndata: {password: hunter2\n".to_owned();
            objects.add("tree", "manifests/bad.yaml", text, secret).unwrap_err().to_string()
        };
        let public = add(&mut objects, false);
        assert!(
            public.starts_with("input `tree` has a file that cannot be read: manifests/bad.yaml:"),
            "{public}"
        );
        let secret = add(&mut objects, true);
        assert!(secret.contains("manifests/bad.yaml") && !secret.contains("hunter2"), "{secret}");
        assert_eq!(objects.files().collect::<Vec<_>>(), ["good.yaml"]);
    }
}
