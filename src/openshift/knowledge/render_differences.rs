//! `render-differences.toml`: where our control plane and our objects differ from the operators' own renders, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::release::Release;
use super::table::{RawRows, Row, Source, Table, TableFile};
use crate::base::hint::Problems;

/// What is compared, and the reasons of known differences.
#[derive(Debug, Clone)]
pub(crate) struct RenderDifferences {
    pub(crate) programs: Table<ComparedProgram>,
    settings: Table<SettingDifference>,
    objects: Table<ObjectDifference>,
}

/// A program of the bootstrap node's control plane: a container with the same name in both pods.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComparedProgram {
    pub(crate) name: String,
    pub(crate) pod: ComparedFiles,
    /// Files that the program reads its configuration from.
    #[serde(default)]
    pub(crate) config: Vec<ComparedFiles>,
    /// The field of the configuration that holds flags.
    pub(crate) arguments: Option<String>,
    /// What the names of environment variables that are flags start with.
    pub(crate) environment: Option<String>,
    /// Fields of the configuration, and the flags that they are turned into.
    #[serde(default)]
    pub(crate) flags: Vec<(String, String)>,
    /// Lists whose order has no meaning.
    #[serde(default)]
    pub(crate) unordered: Vec<String>,
}

/// The same file in two artifacts, as `DERIVATION:PATH`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComparedFiles {
    pub(crate) ours: Option<String>,
    pub(crate) render: Option<String>,
    /// Where the file's fields are in the configuration as a whole.
    #[serde(default)]
    pub(crate) at: String,
}

/// Settings of programs that differ for a common reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingDifference {
    /// Stable.
    id: String,
    /// `*` is any text, here and below.
    programs: Vec<String>,
    settings: Vec<String>,
    /// The side that has the setting, if the other one must not.
    only: Option<Side>,
    /// The value of each side; any, if left out.
    render: Option<String>,
    ours: Option<String>,
    reason: String,
    source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Side {
    Render,
    Ours,
}

/// Objects that differ for a common reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectDifference {
    /// Stable.
    id: String,
    /// `*` is any text.
    objects: Vec<String>,
    /// None if we do not have the object.
    #[serde(default)]
    differences: Vec<String>,
    reason: String,
    source: String,
}

/// Why a difference is right, and how we know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct Reason {
    pub(crate) id: String,
    pub(crate) reason: String,
    pub(crate) source: String,
}

impl Row for ComparedProgram {
    const FILE: &'static str = RenderDifferences::FILE;
    const NAME: &'static str = "program";

    fn key(&self) -> &str {
        &self.name
    }
}

impl Row for SettingDifference {
    const FILE: &'static str = RenderDifferences::FILE;
    const NAME: &'static str = "setting";

    fn key(&self) -> &str {
        &self.id
    }
}

impl Row for ObjectDifference {
    const FILE: &'static str = RenderDifferences::FILE;
    const NAME: &'static str = "object";

    fn key(&self) -> &str {
        &self.id
    }
}

impl TableFile for RenderDifferences {
    const FILE: &'static str = "render-differences.toml";

    fn parse(source: Source<'_>) -> Result<Self, Problems> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[serde(default)]
            program: RawRows,
            #[serde(default)]
            setting: RawRows,
            #[serde(default)]
            object: RawRows,
        }
        let File { program, setting, object } = source.read()?;
        Ok(Self {
            programs: Table::of(source, program)?,
            settings: Table::of(source, setting)?,
            objects: Table::of(source, object)?,
        })
    }
}

impl RenderDifferences {
    /// The versions that rows mention.
    #[cfg(test)]
    pub(super) fn mentioned(&self) -> impl Iterator<Item = crate::base::version::Version> {
        let Self { programs, settings, objects } = self;
        programs.mentioned().chain(settings.mentioned()).chain(objects.mentioned())
    }

    /// Why a setting of a program differs.
    pub(crate) fn why_set(
        &self,
        program: &str,
        setting: &str,
        [render, ours]: [Option<&str>; 2],
        release: Option<Release>,
    ) -> Option<Reason> {
        let holds = |value: Option<&str>, wanted: &Option<String>, is_wanted: bool| match (value, wanted) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some(_), _) if !is_wanted => false,
            (Some(_), None) => true,
            (Some(value), Some(pattern)) => matches(value, pattern),
        };
        let found = self.settings.select(release).find(|row| {
            any(program, &row.programs)
                && any(setting, &row.settings)
                && row.only.is_none_or(|only| [render, ours][only as usize].is_some())
                && holds(render, &row.render, row.only != Some(Side::Ours))
                && holds(ours, &row.ours, row.only != Some(Side::Render))
        });
        found.map(|row| reason(&row.id, &row.reason, &row.source))
    }

    /// Why we do not have an object.
    pub(crate) fn why_missing(&self, object: &str, release: Option<Release>) -> Option<Reason> {
        self.why_object(object, release, |row| row.differences.is_empty())
    }

    /// Why one of our objects differs in this: `annotation NAME`.
    pub(crate) fn why_different(
        &self,
        object: &str,
        difference: &str,
        release: Option<Release>,
    ) -> Option<Reason> {
        self.why_object(object, release, |row| any(difference, &row.differences))
    }

    fn why_object(
        &self,
        object: &str,
        release: Option<Release>,
        is_it: impl Fn(&ObjectDifference) -> bool,
    ) -> Option<Reason> {
        let mut rows = self.objects.select(release).filter(|row| is_it(row));
        let found = rows.find(|row| any(object, &row.objects));
        found.map(|row| reason(&row.id, &row.reason, &row.source))
    }

    /// Reasons for settings that this release has, and that explain nothing of what was found.
    pub(crate) fn stale_settings(&self, used: &[&Reason], release: Option<Release>) -> Vec<String> {
        stale(self.settings.select(release).map(|row| row.id.as_str()), used)
    }

    /// The same for objects.
    pub(crate) fn stale_objects(&self, used: &[&Reason], release: Option<Release>) -> Vec<String> {
        stale(self.objects.select(release).map(|row| row.id.as_str()), used)
    }
}

fn stale<'r>(rows: impl Iterator<Item = &'r str>, used: &[&Reason]) -> Vec<String> {
    rows.filter(|id| used.iter().all(|reason| reason.id != *id)).map(str::to_owned).collect()
}

pub(super) fn reason(id: &str, reason: &str, source: &str) -> Reason {
    Reason { id: id.to_owned(), reason: reason.to_owned(), source: source.to_owned() }
}

pub(super) fn any(text: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| matches(text, pattern))
}

pub(super) fn matches(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            rest.is_empty() || text.char_indices().any(|(at, _)| matches(&text[at..], rest))
        }),
    }
}
