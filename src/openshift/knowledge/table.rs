//! A table: rows with the releases that they apply to. Every error names the file, the row and the field.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use super::release::{Condition, Flavor, Release};
use crate::base::hint::{Place, Problem, Problems, line_of};
use crate::base::version::Version;

/// The content of one file.
pub trait TableFile: Sized {
    /// Its name below `recipes/knowledge/`.
    const FILE: &'static str;

    fn parse(source: Source<'_>) -> Result<Self, Problems>;
}

pub trait Row: DeserializeOwned {
    const FILE: &'static str;
    /// The name of a row in the file: `[[object]]`.
    const NAME: &'static str;

    /// Unique among the rows of a release.
    fn key(&self) -> &str;
}

/// Rows, in file order.
#[derive(Debug, Clone)]
pub struct Table<R> {
    rows: Vec<(Condition, R)>,
}

/// Rows as written.
pub(super) type RawRows = Vec<Spanned<toml::Table>>;

/// A file below `recipes/`, as shown to the user, and its text.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    /// Parses the file's own fields; leaves the rows raw.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Problems> {
        toml::from_str(self.text).map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| line_of(self.text, span.start));
            let place = Place { file: self.file.to_owned(), line, field: String::new() };
            Problems(vec![Problem::new(place, error.message())])
        })
    }

    /// A problem of a row.
    pub(super) fn problem<R: Row>(&self, line: Option<usize>, row: &str, message: String) -> Problem {
        let place = Place { file: self.file.to_owned(), line, field: format!("{}[{row}]", R::NAME) };
        Problem::new(place, message)
    }
}

/// A file with rows of one kind, and nothing else.
impl<R: Row> TableFile for Table<R> {
    const FILE: &'static str = R::FILE;

    fn parse(source: Source<'_>) -> Result<Self, Problems> {
        let mut file: BTreeMap<String, Spanned<RawRows>> = source.read()?;
        let rows = file.remove(R::NAME).map(Spanned::into_inner).unwrap_or_default();
        if let Some((name, raw)) = file.first_key_value() {
            let place = Place {
                file: source.file.to_owned(),
                line: raw.get_ref().first().map(|row| line_of(source.text, row.span().start)),
                field: name.clone(),
            };
            let hint = format!("rows of this table are `[[{}]]`", R::NAME);
            return Err(Problems(vec![Problem::new(place, "unknown field").hint(hint)]));
        }
        Self::of(source, rows)
    }
}

impl<R: Row> Table<R> {
    /// Parses the rows of a file. Reports all problems at once.
    pub(super) fn of(source: Source<'_>, raw: RawRows) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let mut rows: Vec<(Condition, R)> = Vec::with_capacity(raw.len());
        for (index, raw) in raw.into_iter().enumerate() {
            let line = line_of(source.text, raw.span().start);
            let mut fields = raw.into_inner();
            let mut problem = |name: &str, field: &str, message: String| {
                let mut problem = source.problem::<R>(Some(line), name, message);
                let dot = if field.is_empty() { "" } else { "." };
                problem.place.field.push_str(&format!("{dot}{field}"));
                problems.push(problem);
            };
            let condition = condition(&mut fields);
            let row = match toml::Value::Table(fields).try_into::<R>() {
                Ok(row) => row,
                Err(error) => {
                    let message = error.to_string().trim().replace('\n', " ");
                    problem(&index.to_string(), "", message);
                    continue;
                }
            };
            match condition {
                Err((field, message)) => problem(row.key(), field, message),
                Ok(condition) => rows.push((condition, row)),
            }
        }
        let table = Self { rows };
        if let Some((key, release)) = table.conflict() {
            let problem = source.problem::<R>(None, key, format!("two rows are for {release}"));
            problems.push(problem.hint("narrow `releases` or `flavor` of one".to_owned()));
        }
        problems.or(table)
    }

    /// Two rows with the same key for the same release.
    fn conflict(&self) -> Option<(&str, Release)> {
        releases(self.mentioned()).into_iter().find_map(|release| {
            let mut keys: Vec<&str> = self.select(Some(release)).map(Row::key).collect();
            keys.sort_unstable();
            let twice = keys.windows(2).find(|pair| pair[0] == pair[1])?;
            Some((twice[0], release))
        })
    }
}

impl<R> Table<R> {
    /// The rows for one release; without one, those for every release.
    pub fn select(&self, release: Option<Release>) -> impl Iterator<Item = &R> {
        self.rows.iter().filter(move |(condition, _)| condition.holds(release)).map(|(_, row)| row)
    }

    /// The rows for a release; without one, all of them, for a plan before there is a lock.
    pub(super) fn planned(&self, release: Option<Release>) -> impl Iterator<Item = &R> {
        self.rows
            .iter()
            .filter(move |(condition, _)| release.is_none() || condition.holds(release))
            .map(|(_, row)| row)
    }

    /// The rows for every release.
    pub(super) fn all(&self) -> impl Iterator<Item = &R> {
        self.rows.iter().map(|(_, row)| row)
    }

    /// The versions that rows mention.
    pub(super) fn mentioned(&self) -> impl Iterator<Item = Version> {
        self.rows
            .iter()
            .filter_map(|(condition, _)| condition.releases.as_ref())
            .flat_map(|range| range.mentioned())
    }
}

/// Releases at which a selection may change: every mentioned version, the next one, and the oldest supported one.
pub(super) fn releases(mentioned: impl Iterator<Item = Version>) -> Vec<Release> {
    let oldest = "4.18".parse().ok();
    let mut versions: Vec<Version> =
        mentioned.flat_map(|version| [version, version.next()]).chain(oldest).collect();
    versions.sort_unstable();
    versions.dedup();
    let flavored = |version| Flavor::ALL.map(|flavor| Release { version, flavor });
    versions.into_iter().flat_map(flavored).collect()
}

/// Removes `releases` and `flavor` from a row; on error, the field and what is wrong with it.
fn condition(fields: &mut toml::Table) -> Result<Condition, (&'static str, String)> {
    let mut text = |field: &'static str| match fields.remove(field) {
        None => Ok(None),
        Some(value) => {
            String::deserialize(value).map(Some).map_err(|_| (field, "it must be a text".to_owned()))
        }
    };
    let (releases, flavor) = (text("releases")?, text("flavor")?);
    let releases = releases.map(|text| text.parse()).transpose();
    let flavor = flavor.map(|text| text.parse()).transpose();
    Ok(Condition {
        releases: releases
            .map_err(|error: crate::base::version::VersionError| ("releases", error.to_string()))?,
        flavor: flavor.map_err(|error| ("flavor", error))?,
    })
}
