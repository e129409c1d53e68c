//! Root causes of a difference: the config field with its lines, the file of a recipe, the builder, the release. `why`,
//! `diff` and reports show the same causes, each in its own format.

use std::cmp::Ordering;

use serde::Serialize;

use crate::base::hint::Place;
use crate::engine::drv::{Change, Fact};
use crate::engine::exec::SEED;
use crate::engine::fields::Fields;
use crate::engine::recipe::GraphNode;
use crate::openshift::workspace::PREVIEW;

/// A root cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    pub kind: CauseKind,
    /// The name of a config field, file, parameter or alias.
    pub what: String,
    /// None if it was added.
    pub from: Option<String>,
    /// None if it was removed.
    pub to: Option<String>,
    /// The lines that set it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// The derivations that read it.
    pub read_by: Vec<String>,
}

/// What changed. In serialised form, all parts of a recipe are one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// The release, or its node OS.
    Release,
    /// An image of one component in place of the release's own, for a preview.
    Component,
    /// A field of the configuration or the lock.
    Config,
    /// The start of certificate validity.
    Epoch,
    Seed,
    #[serde(rename = "recipe")]
    File,
    /// A parameter of a recipe, or the recipe itself if only one side has it.
    #[serde(rename = "recipe")]
    Parameter,
    /// A value that a recipe takes from a table of the release, or a recipe that only some releases have.
    #[serde(rename = "recipe")]
    Versioned,
    /// The inputs that a recipe names.
    #[serde(rename = "recipe")]
    Inputs,
    /// A builder, or its version.
    Builder,
    /// One side has no trace.
    Unknown,
}

impl CauseKind {
    /// The kind of a config field.
    pub(crate) fn of_field(path: &str) -> Self {
        match path {
            _ if path.starts_with("lock.release") || path.starts_with("lock.rhcos") => Self::Release,
            _ if path.split('.').next() == Some(PREVIEW) => Self::Component,
            _ if path.starts_with("lock.epoch") => Self::Epoch,
            _ => Self::Config,
        }
    }

    /// The sort key: does not distinguish the parts of a recipe.
    fn group(self) -> Self {
        match self {
            Self::File | Self::Parameter | Self::Versioned | Self::Inputs => Self::File,
            other => other,
        }
    }
}

impl Ord for Cause {
    fn cmp(&self, other: &Self) -> Ordering {
        fn key(cause: &Cause) -> impl Ord + '_ {
            let Cause { kind, what, from, to, places, read_by } = cause;
            (kind.group(), what, from, to, places, read_by, kind)
        }
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Cause {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Cause {
    /// A cause without values to compare.
    pub(crate) fn new(kind: CauseKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), from: None, to: None, places: Vec::new(), read_by: Vec::new() }
    }

    /// A difference between two identities of a derivation whose recipe is unknown.
    pub fn unnamed(change: &Change) -> Self {
        let kind = if change.path == "builder" { CauseKind::Builder } else { CauseKind::Parameter };
        let show = |fact: &Option<Fact>| fact.as_ref().map(ToString::to_string);
        Self { from: show(&change.from), to: show(&change.to), ..Self::new(kind, &change.path) }
    }

    /// A difference between two identities of a derivation, with the names from its recipe and the configuration.
    pub(crate) fn named(fields: &Fields, node: &GraphNode, change: &Change) -> Self {
        let mut cause = Self::unnamed(change);
        let path = change.path.as_str();
        let recipe = || vec![Place::file(node.recipe.clone())];
        (cause.kind, cause.what, cause.places) = if path == "builder" {
            (CauseKind::Builder, "builder".to_owned(), vec![])
        } else if path.strip_prefix("secrets.").is_some_and(|name| unquoted(name) == SEED) {
            (CauseKind::Seed, SEED.to_owned(), vec![Place::file(SEED)])
        } else if let Some(rest) =
            path.strip_prefix("params.config.").or_else(|| path.strip_prefix("secrets."))
        {
            let (what, places) = field(fields, node, rest);
            let kind = CauseKind::of_field(&what);
            let what = match kind {
                CauseKind::Component => {
                    cause.from = cause.from.or(Some("the payload's own".to_owned()));
                    last(&what).to_owned()
                }
                _ => what,
            };
            (kind, what, places)
        } else if let Some(alias) = path.strip_prefix("params.files.").map(unquoted) {
            (cause.from, cause.to) = first_difference(cause.from, cause.to);
            (CauseKind::File, node.files.get(alias).map_or(alias, String::as_str).to_owned(), vec![])
        } else if let Some(alias) = path.strip_prefix("inputs.").map(unquoted) {
            (CauseKind::Inputs, alias.to_owned(), recipe())
        } else if let Some((_, file)) = node.tables.iter().find(|(whole, _)| is_within(path, whole)) {
            (
                CauseKind::Versioned,
                path.strip_prefix("params.").unwrap_or(path).to_owned(),
                vec![Place::file(file.clone())],
            )
        } else {
            (CauseKind::Parameter, path.strip_prefix("params.").unwrap_or(path).to_owned(), recipe())
        };
        cause
    }

    /// Merges all fields of the model that one line sets.
    pub(crate) fn by_line(mut self) -> Self {
        if let (CauseKind::Release | CauseKind::Config | CauseKind::Epoch, [place]) =
            (self.kind, self.places.as_slice())
            && !place.field.is_empty()
        {
            self.what.clone_from(&place.field);
            self.kind = CauseKind::of_field(&self.what);
        }
        self
    }
}

/// The last name of a field's path.
fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Whether a path is another one, or leads into it.
fn is_within(path: &str, whole: &str) -> bool {
    path.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// A path key without the quotes around keys with a dot.
fn unquoted(key: &str) -> &str {
    key.trim_matches('"')
}

/// The config field behind `alias[1].ip`, with the lines that set it.
fn field(fields: &Fields, node: &GraphNode, rest: &str) -> (String, Vec<Place>) {
    let (alias, steps) = match rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        Some(quoted) => quoted,
        None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
    };
    let Some((_, pattern, reads)) = node.reads.iter().find(|(known, _, _)| known == alias) else {
        return (rest.to_owned(), vec![]);
    };
    let concrete = concrete(pattern.trim_end_matches('?'), steps);
    let exact = fields.project(&concrete).ok().map(|found| found.reads);
    let reads = exact.filter(|exact| !exact.is_empty()).unwrap_or_else(|| reads.clone());
    let what = match reads.as_slice() {
        [one] => one.path.clone(),
        _ => pattern.clone(),
    };
    let mut places: Vec<Place> = reads.iter().flat_map(|read| read.origins.iter().cloned()).collect();
    places.sort();
    places.dedup();
    (what, places)
}

/// A projection pattern with the steps of a result filled in: `workers.*.{name,ip}` and `[1].ip` yield `workers.1.ip`.
fn concrete(pattern: &str, steps: &str) -> String {
    let mut steps = steps.replace('[', ".").replace(']', "");
    let mut parts = Vec::new();
    for part in pattern.split('.') {
        if part == "*" || part.starts_with('{') {
            let rest = steps.trim_start_matches('.').to_owned();
            let (step, rest) = rest
                .split_once('.')
                .map_or((rest.clone(), String::new()), |(a, b)| (a.to_owned(), b.to_owned()));
            parts.push(if step.is_empty() { part.to_owned() } else { step });
            steps = rest;
        } else {
            parts.push(part.to_owned());
        }
    }
    let rest = steps.trim_start_matches('.');
    if !rest.is_empty() {
        parts.push(rest.to_owned());
    }
    parts.join(".")
}

/// The first line that differs between two texts.
fn first_difference(from: Option<String>, to: Option<String>) -> (Option<String>, Option<String>) {
    let (Some(one), Some(other)) = (&from, &to) else { return (from, to) };
    let same = one.lines().zip(other.lines()).take_while(|(a, b)| a == b).count();
    let line =
        |text: &str| Some(format!("line {}: {}", same + 1, text.lines().nth(same).unwrap_or("(end)").trim()));
    (line(one), line(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_a_result_finds_its_field() {
        assert_eq!(concrete("workers.*.{name,ip}", "[1].ip"), "workers.1.ip");
        assert_eq!(concrete("workers.*.ip", "[0]"), "workers.0.ip");
        assert_eq!(concrete("cluster.domain", ""), "cluster.domain");
        assert_eq!(concrete("networks.cluster", "[0].cidr"), "networks.cluster.0.cidr");
        assert_eq!(concrete("proxy", ".httpProxy"), "proxy.httpProxy");
        assert_eq!(concrete("api.{vip,url}", ".vip"), "api.vip");
    }

    #[test]
    fn texts_are_shown_by_their_first_differing_line() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            first_difference(text("a\nb\nc"), text("a\nB\nc")),
            (text("line 2: b"), text("line 2: B"))
        );
        assert_eq!(first_difference(None, text("x")), (None, text("x")));
    }
}
