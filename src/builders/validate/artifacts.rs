//! What checks look at: every text file of the inputs, and every YAML document with its lines.

use std::collections::BTreeMap;

use super::super::{Job, JobError};
use crate::hint::Problems;
use crate::value::Value;
use crate::yaml::{self, Data, Node, Source};

/// All artifacts of a job.
pub(super) struct Artifacts<'a> {
    /// Text files by path.
    pub(super) files: BTreeMap<String, String>,
    /// YAML documents.
    pub(super) documents: Vec<Document>,
    /// What is wrong with the files that are YAML.
    pub(super) problems: Problems,
    /// Config values by alias.
    pub(super) config: BTreeMap<&'a str, &'a Value>,
}

/// One YAML document of a file.
pub(super) struct Document {
    /// The file.
    pub(super) file: String,
    /// What it says.
    pub(super) root: Node,
}

impl<'a> Artifacts<'a> {
    pub(super) fn read(job: &'a Job<'_>) -> Result<Self, JobError> {
        let mut files = BTreeMap::new();
        for (alias, input) in &job.inputs {
            for (path, text) in input.texts(alias)? {
                files.insert(if path.is_empty() { alias.clone() } else { path }, text);
            }
        }
        let (mut documents, mut problems) = (Vec::new(), Problems::default());
        for (file, text) in files.iter().filter(|(file, _)| file.ends_with(".yaml") || file.ends_with(".yml"))
        {
            let read = yaml::documents(Source { name: file, text }, &mut problems);
            documents.extend(read.into_iter().map(|root| Document { file: file.clone(), root }));
        }
        Ok(Self { files, documents, problems, config: job.config() })
    }

    /// The documents of a kind, for example `config.openshift.io/v1` `DNS`.
    pub(super) fn kind<'s>(&'s self, version: &'s str, kind: &'s str) -> impl Iterator<Item = &'s Document> {
        self.documents.iter().filter(move |document| {
            document.text("apiVersion") == Some(version) && document.text("kind") == Some(kind)
        })
    }

    /// A config value that is a text.
    pub(super) fn config_text(&self, alias: &str) -> &str {
        self.config.get(alias).and_then(|value| value.as_text()).unwrap_or_default()
    }
}

impl Document {
    /// The node at `metadata.name`, `subjects.0.name`.
    pub(super) fn get(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(&self.root, |node, step| match &node.data {
            Data::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => node.get(step),
        })
    }

    /// The scalar there.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.get(path)?.text()
    }

    /// The line of what is there, or else of the document.
    pub(super) fn line(&self, path: &str) -> Option<usize> {
        Some(self.get(path).unwrap_or(&self.root).line)
    }

    /// The elements of the list there.
    pub(super) fn list(&self, path: &str) -> &[Node] {
        match self.get(path).map(|node| &node.data) {
            Some(Data::List(items)) => items,
            _ => &[],
        }
    }
}

/// A node as canonical text, to compare meaning and not layout.
pub(super) fn meaning(node: &Node) -> String {
    match &node.data {
        Data::Scalar { text, .. } => format!("{text:?}"),
        Data::List(items) => format!("[{}]", items.iter().map(meaning).collect::<Vec<_>>().join(",")),
        Data::Map(entries) => {
            let sorted: BTreeMap<&str, String> =
                entries.iter().map(|entry| (entry.key.as_str(), meaning(&entry.value))).collect();
            format!("{sorted:?}")
        }
    }
}
