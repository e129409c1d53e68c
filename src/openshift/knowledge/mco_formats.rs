//! `mco-formats.toml`: what a release's machine-config operator reads and writes.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::release::Release;
use super::table::{Row, Table};
use crate::engine::recipe::NameTable;

/// A format that not every release has.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct McoFormat {
    name: String,
    value: String,
}

impl Row for McoFormat {
    const FILE: &'static str = "mco-formats.toml";
    const NAME: &'static str = "format";

    fn key(&self) -> &str {
        &self.name
    }
}

impl Table<McoFormat> {
    pub(crate) fn value(&self, release: Option<Release>, name: &str) -> Option<&str> {
        self.select(release).find(|row| row.name == name).map(|row| row.value.as_str())
    }

    /// What recipes may call `{mco-format.NAME}`.
    pub(super) fn names(&self, file: &str, release: Option<Release>) -> NameTable {
        // The first row of each name, if there is no release.
        let mut values = BTreeMap::new();
        for row in self.planned(release) {
            values.entry(row.name.clone()).or_insert_with(|| row.value.as_str().into());
        }
        let why = || release.map_or_else(|| "without a release".to_owned(), |one| format!("for {one}"));
        let absent = self.all().map(|row| (row.name.clone(), why()));
        NameTable { file: file.to_owned(), values, absent: absent.collect::<BTreeMap<_, _>>() }
    }
}
