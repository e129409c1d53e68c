//! `artifacts.toml`, `node-files.toml` and `objects.toml`: what everything is for, who reads it, and what breaks without
//! it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::release::Release;
use super::table::{Row, Table};
use crate::openshift::trust::Pool;

/// What something is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Purpose {
    pub(crate) purpose: String,
    pub(crate) reader: String,
    pub(crate) without: String,
    /// Named checks that guard it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) checks: Vec<String>,
}

/// What one thing is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct About {
    /// The file, object or derivation.
    pub(crate) subject: String,
    pub(crate) known: Known,
    #[serde(flatten)]
    pub(crate) purpose: Purpose,
}

/// How we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Known {
    /// From the tables.
    Table,
    /// The user's own.
    Yours,
    /// The tables do not have it.
    Unknown,
}

/// A file, directory, link, unit or user of a node.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "NodeFileRow")]
pub(crate) struct NodeFile {
    /// The path and the nodes: one path may be different things on different nodes.
    key: String,
    row: NodeFileRow,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeFileRow {
    path: String,
    #[serde(default)]
    on: Nodes,
    purpose: String,
    reader: String,
    without: String,
    #[serde(default)]
    checks: Vec<String>,
}

/// The nodes that a row is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Nodes {
    #[default]
    Every,
    Bootstrap,
    /// Masters and workers.
    #[serde(rename = "nodes")]
    Joining,
    Master,
    Worker,
    /// The only node, if it bootstraps itself: it is a master and has the files of a bootstrap node, some for another purpose.
    #[serde(rename = "in-place")]
    InPlace,
}

/// An object that bootkube.sh applies.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "ObjectRow")]
pub(crate) struct AppliedObject {
    /// Kind and name.
    key: String,
    row: ObjectRow,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectRow {
    kind: String,
    name: String,
    purpose: String,
    reader: String,
    without: String,
    #[serde(default)]
    checks: Vec<String>,
}

/// A derivation, or one file of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownArtifact {
    name: String,
    purpose: Option<String>,
    reader: String,
    without: String,
    #[serde(default)]
    checks: Vec<String>,
}

impl From<NodeFileRow> for NodeFile {
    fn from(row: NodeFileRow) -> Self {
        Self { key: format!("{} on {:?}", row.path, row.on), row }
    }
}

impl From<ObjectRow> for AppliedObject {
    fn from(row: ObjectRow) -> Self {
        Self { key: format!("{} {}", row.kind, row.name), row }
    }
}

impl Nodes {
    fn has(self, pool: Pool) -> bool {
        match self {
            Self::Every => true,
            Self::Bootstrap => pool.bootstraps(),
            Self::Joining => pool.joins(),
            Self::Master => pool.is_master(),
            Self::Worker => pool == Pool::Worker,
            Self::InPlace => pool == Pool::InPlace,
        }
    }
}

impl Table<NodeFile> {
    /// What a path on a node of this pool is for.
    pub(crate) fn purpose(&self, release: Option<Release>, pool: Pool, path: &str) -> Option<Purpose> {
        // A node that bootstraps itself has rows of all kinds. Of those that name a path as closely, the last one counts.
        let mut rows: Vec<&NodeFileRow> =
            self.planned(release).map(|file| &file.row).filter(|row| row.on.has(pool)).collect();
        rows.sort_by_key(|row| match row.on {
            Nodes::Bootstrap => 0,
            Nodes::InPlace => 2,
            _ => 1,
        });
        let (row, captured) = best(rows.into_iter(), path, |row| &row.path)?;
        let NodeFileRow { purpose, reader, without, checks, .. } = row;
        Some(filled(captured, purpose, reader, without, checks))
    }

    /// Every check that a row names, for the tests.
    #[cfg(test)]
    pub(super) fn checks(&self) -> impl Iterator<Item = &str> {
        self.all().flat_map(|file| &file.row.checks).map(String::as_str)
    }
}

impl Table<AppliedObject> {
    /// What an object is for. `kind` has its group: `DNS.config.openshift.io`.
    pub(crate) fn purpose(&self, release: Option<Release>, kind: &str, name: &str) -> Option<Purpose> {
        let rows = self.planned(release).map(|object| &object.row).filter(|row| row.kind == kind);
        let (row, captured) = best(rows, name, |row| &row.name)?;
        let ObjectRow { purpose, reader, without, checks, .. } = row;
        Some(filled(captured, purpose, reader, without, checks))
    }

    #[cfg(test)]
    pub(super) fn checks(&self) -> impl Iterator<Item = &str> {
        self.all().flat_map(|object| &object.row.checks).map(String::as_str)
    }
}

impl Table<KnownArtifact> {
    /// What a derivation is for, or one file of it. `summary` is the first line of its recipe.
    pub(crate) fn purpose(
        &self,
        release: Option<Release>,
        derivation: &str,
        file: Option<&str>,
        summary: &str,
    ) -> Option<Purpose> {
        let named = file.map(|file| format!("{derivation}:{file}"));
        let rows = |of_file: bool| self.planned(release).filter(move |row| row.name.contains(':') == of_file);
        let in_file = named.as_deref().and_then(|named| best(rows(true), named, |row| &row.name));
        let (row, captured) = in_file.or_else(|| best(rows(false), derivation, |row| &row.name))?;
        let purpose = row.purpose.as_deref().unwrap_or(summary);
        Some(filled(captured, purpose, &row.reader, &row.without, &row.checks))
    }

    #[cfg(test)]
    pub(super) fn checks(&self) -> impl Iterator<Item = &str> {
        self.all().flat_map(|artifact| &artifact.checks).map(String::as_str)
    }
}

/// The row whose pattern matches, and the text that its `*` stands for. Without a `*` beats with one, then the longest.
pub(super) fn best<'r, 't, R>(
    rows: impl Iterator<Item = &'r R>,
    text: &'t str,
    pattern: impl Fn(&'r R) -> &'r str,
) -> Option<(&'r R, &'t str)> {
    rows.filter_map(|row| {
        let pattern = pattern(row);
        let captured = captured(pattern, text)?;
        Some(((!pattern.contains('*'), pattern.len()), row, captured))
    })
    .max_by_key(|(rank, ..)| *rank)
    .map(|(_, row, captured)| (row, captured))
}

/// The text that the only `*` of a pattern stands for; empty without one.
pub(super) fn captured<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
    match pattern.split_once('*') {
        None => (pattern == text).then_some(""),
        Some((start, end)) => {
            text.strip_prefix(start)?.strip_suffix(end).filter(|captured| !captured.is_empty())
        }
    }
}

fn filled(captured: &str, purpose: &str, reader: &str, without: &str, checks: &[String]) -> Purpose {
    let fill = |text: &str| text.replace("{*}", captured);
    Purpose { purpose: fill(purpose), reader: fill(reader), without: fill(without), checks: checks.to_vec() }
}

impl Row for NodeFile {
    const FILE: &'static str = "node-files.toml";
    const NAME: &'static str = "file";

    fn key(&self) -> &str {
        &self.key
    }
}

impl Row for AppliedObject {
    const FILE: &'static str = "objects.toml";
    const NAME: &'static str = "object";

    fn key(&self) -> &str {
        &self.key
    }
}

impl Row for KnownArtifact {
    const FILE: &'static str = "artifacts.toml";
    const NAME: &'static str = "artifact";

    fn key(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openshift::knowledge::{Source, TableFile};

    #[test]
    fn the_closest_row_answers_and_the_pattern_is_filled_in() {
        let text = "[[artifact]]\nname = 'pki/*'\nreader = 'r {*}'\nwithout = 'w'\n\
                    [[artifact]]\nname = 'pki/etcd-*'\npurpose = 'p {*}'\nreader = 'r'\nwithout = 'w'\n\
                    [[artifact]]\nname = 'pki/etcd-ca:x.crt'\nreader = 'f'\nwithout = 'w'\n";
        let table = Table::<KnownArtifact>::parse(Source { file: "artifacts.toml", text }).unwrap();
        let ask = |name: &str, file: Option<&str>| {
            let found = table.purpose(None, name, file, "summary")?;
            Some(format!("{}, {}", found.purpose, found.reader))
        };
        assert_eq!(ask("pki/admin", None).as_deref(), Some("summary, r admin"));
        assert_eq!(ask("pki/etcd-ca", None).as_deref(), Some("p ca, r"));
        assert_eq!(ask("pki/etcd-ca", Some("x.crt")).as_deref(), Some("summary, f"));
        assert_eq!(ask("pki/", None), None);
        assert_eq!(ask("key/admin", None), None);
    }

    #[test]
    fn one_path_may_be_different_things_on_different_nodes() {
        let row = |on: &str| {
            format!("[[file]]\npath = '/a'\non = '{on}'\npurpose = '{on}'\nreader = ''\nwithout = ''\n")
        };
        let parse = |text: &str| Table::<NodeFile>::parse(Source { file: "node-files.toml", text });
        let table = parse(&format!("{}{}", row("bootstrap"), row("nodes"))).unwrap();
        let ask = |pool| table.purpose(None, pool, "/a").unwrap().purpose;
        assert_eq!([Pool::Bootstrap, Pool::Master, Pool::Worker].map(ask), ["bootstrap", "nodes", "nodes"]);
        assert!(parse(&format!("{}{}", row("nodes"), row("nodes"))).is_err());
    }
}
