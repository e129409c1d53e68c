//! What became of the sites of a run. Equal errors, and equal warnings, of several sites are one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::digest::ObjectId;
use crate::base::event::{Event, Events};
use crate::base::hint::{Hint, chain};
use crate::cli::Error;
use crate::cli::output::{Colour, count, stderr_line, stderr_paint};
use crate::compare::fleet::OwnValues;
use crate::engine::exec::ExecError;

/// What became of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SiteState {
    /// Something was built or taken from a cache; or the store had all of it, and it is another generation now.
    Built,
    /// It is as it was built before.
    Unchanged,
    /// It would be built.
    WouldBuild,
    Failed,
    /// It was not begun.
    Skipped,
}

/// A site's line of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SiteReport {
    pub(super) site: String,
    pub(super) state: SiteState,
    /// Number of derivations that were built, or would be.
    pub(super) built: usize,
    /// Number of derivations whose output the store had.
    pub(super) cached: usize,
    /// Number of derivations that came from a cache.
    pub(super) substituted: usize,
    /// Names of what was built for this site, with `--names`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) generation: Option<u64>,
    /// The `cluster` object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<ObjectId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<PathBuf>,
    pub(super) milliseconds: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<SiteError>,
}

/// Why a site failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(super) struct SiteError {
    /// The derivation, if one failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// In one line; a problem of the configuration has its place in it.
    pub(super) error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl SiteReport {
    pub(super) fn new(site: &str, state: SiteState) -> Self {
        Self {
            site: site.to_owned(),
            state,
            built: 0,
            cached: 0,
            substituted: 0,
            names: Vec::new(),
            generation: None,
            object: None,
            path: None,
            milliseconds: 0,
            errors: Vec::new(),
        }
    }

    pub(super) fn failed(site: &str, error: &Error) -> Self {
        Self { errors: errors_of(error), ..Self::new(site, SiteState::Failed) }
    }
}

/// The errors of a site that has no graph: each problem of its files is one.
fn errors_of(error: &Error) -> Vec<SiteError> {
    if let Error::Workspace(crate::openshift::workspace::WorkspaceError::Problems { problems }) = error {
        let problem = |problem: &crate::base::hint::Problem| {
            let check = problem.check.map(|check| format!(" [{check}]")).unwrap_or_default();
            let error = format!("{}: {}{check}", problem.place, problem.message);
            SiteError { name: None, error, hint: problem.hint.clone() }
        };
        return problems.0.iter().map(problem).collect();
    }
    vec![SiteError { name: None, error: chain(error), hint: error.hint() }]
}

/// The error of a derivation.
pub(super) fn error_of(name: &str, error: &ExecError) -> SiteError {
    SiteError { name: Some(name.to_owned()), error: chain(error), hint: error.hint() }
}

/// Errors that are equal but for the name of their site, and ids that are derived from it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorGroup {
    /// As it is at the first of the sites.
    #[serde(flatten)]
    pub(super) error: SiteError,
    pub(super) sites: Vec<String>,
}

/// Collects errors in groups.
#[derive(Debug, Default)]
pub(super) struct ErrorGroups(BTreeMap<SiteError, ErrorGroup>);

impl ErrorGroups {
    /// Adds the errors of a site; the first site that had the same ones, if each is known.
    pub(super) fn add(&mut self, report: &SiteReport) -> Option<String> {
        let own = OwnValues::new([("name", report.site.as_str())]);
        let (mut is_new, mut alike) = (false, None);
        for error in &report.errors {
            let plain = |text: &String| own.without(text);
            let key = SiteError {
                name: error.name.as_ref().map(plain),
                error: plain(&error.error),
                hint: error.hint.as_ref().map(plain),
            };
            let group = self.0.entry(key).or_insert_with(|| {
                is_new = true;
                ErrorGroup { error: error.clone(), sites: Vec::new() }
            });
            alike = group.sites.first().cloned();
            group.sites.push(report.site.clone());
        }
        alike.filter(|_| !is_new)
    }

    /// The groups, those of most sites first.
    pub(super) fn into_groups(self) -> Vec<ErrorGroup> {
        let mut groups: Vec<ErrorGroup> = self.0.into_values().collect();
        groups.iter_mut().for_each(|group| group.sites.sort_unstable());
        groups.sort_by(|one, other| (other.sites.len(), &one.error).cmp(&(one.sites.len(), &other.error)));
        groups
    }
}

/// Prints the groups for people.
pub(super) fn explain(groups: &[ErrorGroup]) {
    for ErrorGroup { error, sites } in groups {
        let which = match sites.as_slice() {
            [only] => only.clone(),
            [first, .., last] => format!("{}: {first} … {last}", count(sites.len(), "site")),
            [] => String::new(),
        };
        stderr_line(format!("{} {} ({which})", stderr_paint("error:", Colour::Red), error.error));
        if let Some(hint) = &error.hint {
            stderr_line(format!("{} {hint}", stderr_paint("hint:", Colour::Cyan)));
        }
    }
}

/// Passes on what is about a site as a whole, and collects its warnings: those of thousands of derivations would say nothing.
pub(super) struct SiteEvents<'a> {
    pub(super) of_fleet: &'a dyn Events,
    pub(super) warnings: &'a Warnings,
    pub(super) site: &'a str,
}

/// Warnings, without the name of their site: as the first one has them, and all sites.
#[derive(Default)]
pub(super) struct Warnings(Mutex<BTreeMap<String, (String, Vec<String>)>>);

impl Warnings {
    /// All of them, each once.
    pub(super) fn tell(self, to: &dyn Events) {
        for (text, mut sites) in self.0.into_inner().unwrap_or_else(PoisonError::into_inner).into_values() {
            sites.sort_unstable();
            let which = match sites.as_slice() {
                [first, _, ..] => format!("{}, the first: {first}", count(sites.len(), "site")),
                _ => sites.join(", "),
            };
            to.emit(Event::Warning { text: format!("{text} ({which})") });
        }
    }
}

impl Events for SiteEvents<'_> {
    fn emit(&self, event: Event) {
        match event {
            Event::Warning { text } => {
                let mut all = self.warnings.0.lock().unwrap_or_else(PoisonError::into_inner);
                let entry = all.entry(text.replace(self.site, "\u{0}")).or_insert_with(|| (text, Vec::new()));
                entry.1.push(self.site.to_owned());
            }
            event @ (Event::Fetching { .. } | Event::Fetched { .. } | Event::Notice { .. }) => {
                self.of_fleet.emit(event);
            }
            _ => {}
        }
    }
}
