//! `releases.toml`: the releases that the tables describe.

use serde::Deserialize;

use super::release::Release;
use super::table::{Row, Table};

/// A range of releases that somebody compared with the tables.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    /// For people.
    series: String,
}

impl Row for Series {
    const FILE: &'static str = "releases.toml";
    const NAME: &'static str = "known";

    fn key(&self) -> &str {
        &self.series
    }
}

impl Table<Series> {
    /// All of them, for a sentence: `4.18 to 4.23 and 5.0 to 5.2`.
    pub(super) fn all_series(&self) -> String {
        self.all().map(|row| row.series.as_str()).collect::<Vec<_>>().join(" and ")
    }

    pub(super) fn describes(&self, release: Release) -> bool {
        self.select(Some(release)).next().is_some()
    }
}
