//! The input of checks: every text file of the inputs, and every YAML document with its lines.
//!
//! The input `crds` contains schemas; of inputs named `names-…` only the file names are known, so that nothing secret
//! can leak; everything else is checked. So a recipe decides what a check sees by naming inputs. Files are parsed on
//! first use: a release's CRDs are megabytes of YAML, of which few are needed.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::super::{Job, JobError};
use super::tables::Tables;
use crate::base::hint::Problems;
use crate::base::value::Value;
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::engine::tree::EntryKind;
use crate::openshift::ignition::{Config, IgnitionError};

/// The input whose files are schemas.
const SCHEMAS: &str = "crds";

/// Prefix of inputs whose files are not read.
const NAMES: &str = "names-";

/// All artifacts of a job.
pub(super) struct Artifacts<'a> {
    /// Text files, by input and path.
    pub(super) files: Vec<File>,
    /// The paths of all files, including those that are not read, each with its input.
    names: BTreeSet<(String, String)>,
    /// Config values by alias.
    pub(super) config: BTreeMap<&'a str, &'a Value>,
    pub(super) tables: Tables,
}

pub(super) struct File {
    /// The input's alias; for a member of a group, the group's.
    pub(super) input: String,
    /// Path in the input; for a single-file input, its alias.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) derivation: String,
    pub(super) secret: bool,
    /// Whether it contains schemas, not subjects.
    schema: bool,
    parsed: OnceCell<(Vec<Document>, Problems)>,
    config: OnceCell<Result<Config, IgnitionError>>,
}

/// One YAML document of a file.
pub(super) struct Document {
    pub(super) file: String,
    pub(super) derivation: String,
    /// Whether messages must not show its content.
    pub(super) secret: bool,
    pub(super) root: YamlNode,
}

impl<'a> Artifacts<'a> {
    pub(super) fn read(job: &'a Job<'_>) -> Result<Self, JobError> {
        let (mut files, mut names) = (Vec::new(), BTreeSet::new());
        for (alias, input) in &job.inputs {
            let group = alias.split('/').next().unwrap_or_default();
            names.extend(input.leaves().map(|(path, ..)| (group.to_owned(), path.to_owned())));
            if group.starts_with(NAMES) {
                continue;
            }
            let texts = input.texts(alias)?;
            let secret: BTreeMap<&str, bool> = input
                .leaves()
                .filter(|(_, _, entry)| matches!(entry.kind, EntryKind::File { .. }))
                .map(|(path, _, entry)| (path, entry.secret))
                .collect();
            let schema = group == SCHEMAS;
            files.extend(texts.into_iter().map(|(path, text)| File {
                input: group.to_owned(),
                derivation: input.derivation.clone(),
                secret: secret.get(path.as_str()).copied().unwrap_or(true),
                path: if path.is_empty() { alias.clone() } else { path },
                text,
                schema,
                parsed: OnceCell::new(),
                config: OnceCell::new(),
            }));
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Self { files, names, config: job.config(), tables: Tables::read(job)? })
    }

    /// Every document, including schemas.
    pub(super) fn documents(&self) -> impl Iterator<Item = &Document> {
        self.files.iter().flat_map(File::documents)
    }

    /// The documents to check, without schemas.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &Document> {
        self.files.iter().filter(|file| !file.schema).flat_map(File::documents)
    }

    /// The files of one input, in the order of their names.
    pub(super) fn of<'s>(&'s self, input: &'s str) -> impl Iterator<Item = &'s File> {
        self.files.iter().filter(move |file| file.input == input)
    }

    /// Whether an input has a file of that name, read or not.
    pub(super) fn has(&self, input: &str, path: &str) -> bool {
        self.names.contains(&(input.to_owned(), path.to_owned()))
    }

    /// Whether an input has such a file, read or not.
    pub(super) fn any(&self, input: &str, is_one: impl Fn(&str) -> bool) -> bool {
        self.names.iter().any(|(of, path)| of == input && is_one(path))
    }

    /// The CRD of a group and kind, from the schemas or from the subjects. Parses only files that name both.
    pub(super) fn crd(&self, group: &str, kind: &str) -> Option<&Document> {
        let [group_line, kind_line] = [("group", group), ("kind", kind)]
            .map(|(key, value)| [format!("{key}: {value}"), format!("\"{key}\":\"{value}\"")]);
        let names = |text: &str, wanted: &[String; 2]| {
            // The search is much faster than comparing lines, and nearly always fails.
            (text.contains(&wanted[0]) && text.lines().map(str::trim).any(|line| line == wanted[0]))
                || (text.starts_with('{') && text.replace(": ", ":").contains(&wanted[1]))
        };
        let files =
            self.files.iter().filter(|file| names(&file.text, &group_line) && names(&file.text, &kind_line));
        files.flat_map(File::documents).find(|document| {
            document.text("kind") == Some("CustomResourceDefinition")
                && document.text("spec.group") == Some(group)
                && document.text("spec.names.kind") == Some(kind)
        })
    }

    /// Problems of the YAML files.
    pub(super) fn problems(&self) -> impl Iterator<Item = &crate::base::hint::Problem> {
        self.files.iter().flat_map(|file| &file.parsed().1.0)
    }

    /// The documents of a kind, for example `config.openshift.io/v1` `DNS`.
    pub(super) fn kind<'s>(&'s self, version: &'s str, kind: &'s str) -> impl Iterator<Item = &'s Document> {
        self.documents().filter(move |document| {
            document.text("apiVersion") == Some(version) && document.text("kind") == Some(kind)
        })
    }

    pub(super) fn config_text(&self, alias: &str) -> &str {
        self.config.get(alias).and_then(|value| value.as_text()).unwrap_or_default()
    }

    /// The texts of a config value: itself, or those in its lists.
    pub(super) fn config_texts(&self, alias: &str) -> Vec<&str> {
        fn collect<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
            match value {
                Value::List(items) => items.iter().for_each(|item| collect(item, found)),
                other => found.extend(other.as_text()),
            }
        }
        let mut found = Vec::new();
        self.config.get(alias).into_iter().for_each(|value| collect(value, &mut found));
        found
    }

    /// The derivation that wrote a file; empty if it is not a file.
    pub(super) fn derivation(&self, path: &str) -> &str {
        self.files.iter().find(|file| file.path == path).map_or("", |file| &file.derivation)
    }
}

impl File {
    /// The YAML documents in it.
    pub(super) fn documents(&self) -> &[Document] {
        &self.parsed().0
    }

    /// The Ignition config in it, or the error.
    pub(super) fn ignition(&self) -> &Result<Config, IgnitionError> {
        self.config.get_or_init(|| Config::parse(&self.text))
    }

    fn parsed(&self) -> &(Vec<Document>, Problems) {
        self.parsed.get_or_init(|| {
            let mut problems = Problems::default();
            if !yaml::is_manifest(&self.path) {
                return (Vec::new(), problems);
            }
            // A release's schemas were written for Go; the rest is ours or the user's.
            let read = if self.schema { yaml::go_documents } else { yaml::documents };
            let read = read(Source { name: &self.path, text: &self.text }, &mut problems);
            let document = |root| Document {
                file: self.path.clone(),
                derivation: self.derivation.clone(),
                secret: self.secret,
                root,
            };
            (read.into_iter().map(document).collect(), problems)
        })
    }
}

impl Document {
    /// The node at `metadata.name`, `subjects.0.name`.
    pub(super) fn get(&self, path: &str) -> Option<&YamlNode> {
        path.split('.').try_fold(&self.root, |node, step| match &node.data {
            YamlData::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => node.get(step),
        })
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.get(path)?.text()
    }

    /// The line of the node at a path, else of the document.
    pub(super) fn line(&self, path: &str) -> Option<usize> {
        Some(self.get(path).unwrap_or(&self.root).line)
    }

    pub(super) fn list(&self, path: &str) -> &[YamlNode] {
        match self.get(path).map(|node| &node.data) {
            Some(YamlData::List(items)) => items,
            _ => &[],
        }
    }
}

/// Canonical text of a node, to compare meaning and not layout.
pub(super) fn meaning(node: &YamlNode) -> String {
    match &node.data {
        YamlData::Scalar { text, .. } => format!("{text:?}"),
        YamlData::List(items) => format!("[{}]", items.iter().map(meaning).collect::<Vec<_>>().join(",")),
        YamlData::Map(entries) => {
            let sorted: BTreeMap<&str, String> =
                entries.iter().map(|entry| (entry.key.as_str(), meaning(&entry.value))).collect();
            format!("{sorted:?}")
        }
    }
}
