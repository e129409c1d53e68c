//! `render-differences.toml`: where our objects differ from those of the operators' own renders, and why.

use serde::Deserialize;

use super::release::Release;
use super::table::{Row, Table};

/// Differences with a common reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenderDifference {
    /// Stable.
    id: String,
    /// `*` is any text.
    objects: Vec<String>,
    /// None if we do not have the object.
    #[serde(default)]
    differences: Vec<String>,
    reason: String,
}

impl Row for RenderDifference {
    const FILE: &'static str = "render-differences.toml";
    const NAME: &'static str = "difference";

    fn key(&self) -> &str {
        &self.id
    }
}

impl Table<RenderDifference> {
    /// Why we do not have an object.
    pub(crate) fn why_missing(&self, object: &str, release: Option<Release>) -> Option<&str> {
        self.reason(object, release, |row| row.differences.is_empty())
    }

    /// Why one of our objects differs in this: `annotation NAME`.
    pub(crate) fn why_different(
        &self,
        object: &str,
        difference: &str,
        release: Option<Release>,
    ) -> Option<&str> {
        self.reason(object, release, |row| row.differences.iter().any(|known| known == difference))
    }

    fn reason(
        &self,
        object: &str,
        release: Option<Release>,
        is_it: impl Fn(&RenderDifference) -> bool,
    ) -> Option<&str> {
        let mut rows = self.select(release).filter(|row| is_it(row));
        let found = rows.find(|row| row.objects.iter().any(|pattern| matches(object, pattern)));
        found.map(|row| row.reason.as_str())
    }
}

fn matches(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            rest.is_empty() || text.char_indices().any(|(at, _)| matches(&text[at..], rest))
        }),
    }
}
