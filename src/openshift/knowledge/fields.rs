//! `fields.toml`: what parts of an artifact mean.

use serde::Deserialize;

use super::purposes::best;
use super::release::Release;
use super::table::{Row, Table};

/// The meaning of a part, in every artifact of a format.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "FieldRow")]
pub(crate) struct FieldMeaning {
    /// Format and name.
    key: String,
    row: FieldRow,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldRow {
    format: String,
    name: String,
    meaning: String,
}

impl From<FieldRow> for FieldMeaning {
    fn from(row: FieldRow) -> Self {
        Self { key: format!("{} {}", row.format, row.name), row }
    }
}

impl Table<FieldMeaning> {
    /// What a part means; none if no row covers it.
    pub(crate) fn meaning(&self, release: Option<Release>, format: &str, name: &str) -> Option<&str> {
        let rows = self.planned(release).map(|field| &field.row).filter(|row| row.format == format);
        best(rows, name, |row| &row.name).map(|(row, _)| row.meaning.as_str())
    }
}

impl Row for FieldMeaning {
    const FILE: &'static str = "fields.toml";
    const NAME: &'static str = "field";

    fn key(&self) -> &str {
        &self.key
    }
}
