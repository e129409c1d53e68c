//! `drift.toml`: what a running cluster legitimately has otherwise than the closure that made it.

use serde::Deserialize;

use super::release::Release;
use super::render_differences::matches;
use super::table::{RawRows, Row, Source, Table, TableFile};
use crate::base::hint::Problems;

#[derive(Debug, Clone)]
pub(crate) struct DriftKnowledge {
    pub(crate) daemon: DaemonState,
    pub(crate) history: VersionHistory,
    expected: Table<ExpectedChange>,
}

/// How the machine-config daemon reports.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DaemonState {
    /// The type of a rendered config.
    pub(crate) kind: String,
    pub(crate) group: String,
    pub(crate) version: String,
    /// Annotations of a node.
    pub(crate) current: String,
    pub(crate) desired: String,
    pub(crate) state: String,
    pub(crate) reason: String,
    /// The state of a node that has its desired config.
    pub(crate) done: String,
    /// What the label of a role starts with.
    pub(crate) role: String,
}

/// The object that lists the releases of a cluster.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionHistory {
    pub(crate) kind: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) name: String,
}

/// A change that somebody of the cluster is supposed to make.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedChange {
    /// Stable.
    id: String,
    object: String,
    /// Paths in the object; the whole object if there are none.
    #[serde(default)]
    fields: Vec<String>,
    edit: Option<ExpectedEdit>,
    when: Option<ExpectedWhen>,
    who: String,
    why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExpectedEdit {
    Added,
    Removed,
    Changed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ExpectedWhen {
    Upgraded,
}

/// A change, as the table is asked about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveChange<'a> {
    /// `DNS.config.openshift.io cluster`.
    pub(crate) object: &'a str,
    /// The path in the object, with dots.
    pub(crate) field: &'a str,
    pub(crate) edit: ExpectedEdit,
    /// Whether the cluster has another release than the closure.
    pub(crate) upgraded: bool,
}

impl Row for ExpectedChange {
    const FILE: &'static str = "drift.toml";
    const NAME: &'static str = "expected";

    fn key(&self) -> &str {
        &self.id
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    daemon: DaemonState,
    history: VersionHistory,
    expected: RawRows,
}

impl TableFile for DriftKnowledge {
    const FILE: &'static str = ExpectedChange::FILE;

    fn parse(source: Source<'_>) -> Result<Self, Problems> {
        let File { daemon, history, expected } = source.read()?;
        Ok(Self { daemon, history, expected: Table::of(source, expected)? })
    }
}

impl DriftKnowledge {
    /// The versions that rows mention.
    #[cfg(test)]
    pub(super) fn mentioned(&self) -> impl Iterator<Item = crate::base::version::Version> {
        self.expected.mentioned()
    }

    /// Who makes a change, and why that is right; none if it is drift.
    pub(crate) fn why(&self, release: Option<Release>, change: LiveChange<'_>) -> Option<String> {
        let row = self.expected.select(release).find(|row| row.covers(change))?;
        Some(format!("{}: {}", row.who, row.why))
    }
}

impl ExpectedChange {
    fn covers(&self, change: LiveChange<'_>) -> bool {
        let is_below = |field: &String| {
            change
                .field
                .strip_prefix(field.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        matches(change.object, &self.object)
            && (self.fields.is_empty() || self.fields.iter().any(is_below))
            && self.edit.is_none_or(|edit| edit == change.edit)
            && (self.when != Some(ExpectedWhen::Upgraded) || change.upgraded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openshift::knowledge::Knowledge;

    #[test]
    fn only_what_a_row_describes_is_expected() {
        let knowledge = Knowledge::built_in().unwrap();
        let table = knowledge.drift.get().unwrap();
        let ask = |object: &str, field: &str, edit, upgraded| {
            table.why(None, LiveChange { object, field, edit, upgraded }).is_some()
        };
        let version = "ClusterVersion.config.openshift.io version";
        assert!(ask(version, "spec.overrides", ExpectedEdit::Removed, false));
        assert!(ask(version, "spec.overrides.kind=DNS", ExpectedEdit::Removed, false));
        assert!(!ask(version, "spec.overrides.kind=DNS", ExpectedEdit::Added, false));
        assert!(!ask(version, "spec.overridesX", ExpectedEdit::Removed, false));
        assert!(!ask(version, "spec.channel", ExpectedEdit::Changed, true));
        let crd = "CustomResourceDefinition.apiextensions.k8s.io dnses.config.openshift.io";
        assert!(!ask(crd, "spec.names", ExpectedEdit::Changed, false));
        assert!(ask(crd, "spec.names", ExpectedEdit::Changed, true));
    }
}
