//! Tables of values that recipes and checks know by name, where releases differ: `mco-formats.toml`, `on-prem.toml` and
//! `operands.toml`.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::Deserialize;

use super::release::Release;
use super::table::{Row, Table};
use crate::engine::recipe::NameTable;

/// Which table a value is of.
pub(crate) trait ValueTable {
    const FILE: &'static str;
    const ROW: &'static str;
}

/// What a release's machine-config operator reads and writes.
#[derive(Debug, Clone)]
pub(crate) enum McoFormats {}

/// What holds the VIPs where nodes do.
#[derive(Debug, Clone)]
pub(crate) enum OnPrem {}

/// What a release's other programs expect.
#[derive(Debug, Clone)]
pub(crate) enum Operands {}

impl ValueTable for McoFormats {
    const FILE: &'static str = "mco-formats.toml";
    const ROW: &'static str = "format";
}

impl ValueTable for OnPrem {
    const FILE: &'static str = "on-prem.toml";
    const ROW: &'static str = "value";
}

impl ValueTable for Operands {
    const FILE: &'static str = "operands.toml";
    const ROW: &'static str = "value";
}

/// A value that not every release has.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub(crate) struct NamedValue<T> {
    name: String,
    value: String,
    #[serde(skip)]
    table: PhantomData<T>,
}

pub(crate) type McoFormat = NamedValue<McoFormats>;
pub(crate) type OnPremValue = NamedValue<OnPrem>;
pub(crate) type Operand = NamedValue<Operands>;

impl<T: ValueTable> Row for NamedValue<T> {
    const FILE: &'static str = T::FILE;
    const NAME: &'static str = T::ROW;

    fn key(&self) -> &str {
        &self.name
    }
}

impl<T> Table<NamedValue<T>> {
    pub(crate) fn value(&self, release: Option<Release>, name: &str) -> Option<&str> {
        self.select(release).find(|row| row.name == name).map(|row| row.value.as_str())
    }

    /// What recipes may call `{mco-format.NAME}` or `{operand.NAME}`.
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
