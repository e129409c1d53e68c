//! How a build ends for people: what it made, what that changes for which node, and what to do next.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::Result;
use super::build::BuildReport;
use super::output::{Colour, command_line, stderr_paint};
use crate::base::digest::ObjectId;
use crate::engine::exec::Outcome;
use crate::engine::store::Store;
use crate::openshift::workspace::{Env, Workspace};

/// Folders whose derivations only repeat what others say.
const FOLLOWING: [&str; 2] = ["check", "ignition-id"];

/// What differs from the generation before.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Changes {
    /// That generation.
    since: u64,
    /// Nodes, and the folders whose derivations changed for them.
    nodes: BTreeMap<String, Vec<String>>,
    /// Number of changed derivations that belong to no single node, by folder.
    shared: BTreeMap<String, usize>,
}

impl Changes {
    /// Compares the outputs with the current generation; none if nothing was built and nothing differs, or if there is no
    /// generation yet.
    pub(super) fn find(workspace: &Workspace, store: &Store, outcome: &Outcome) -> Result<Option<Self>> {
        let roots = workspace.roots(store);
        let Some(since) = roots.current()? else { return Ok(None) };
        let before = match roots.generation(since) {
            Ok(generation) => generation.names,
            // A build that only finds things does not need what `store verify` names.
            Err(_) if outcome.built.is_empty() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let nodes = workspace.graph.nodes();
        let now = outcome.done.iter().map(|(at, done)| (nodes[*at].name.as_str(), done.output.object));
        let now: BTreeMap<&str, ObjectId> = now.collect();
        let mut changes = Self { since, nodes: BTreeMap::new(), shared: BTreeMap::new() };
        let changed = now
            .iter()
            .filter(|(name, object)| before.get(**name).is_none_or(|before| before.object != **object));
        let gone = before.keys().filter(|name| !now.contains_key(name.as_str()));
        let names = changed.map(|(name, _)| *name).chain(gone.map(String::as_str));
        for (folder, leaf) in names.filter_map(|name| name.split_once('/')) {
            if FOLLOWING.contains(&folder) {
                continue;
            }
            let is_of = |node: &str| {
                leaf.strip_suffix(node).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
            };
            match workspace.cluster.nodes.iter().find(|node| is_of(&node.name)) {
                Some(node) => {
                    let folders = changes.nodes.entry(node.name.clone()).or_default();
                    if folders.iter().all(|known| known != folder) {
                        folders.push(folder.to_owned());
                    }
                }
                None => *changes.shared.entry(folder.to_owned()).or_default() += 1,
            }
        }
        let is_news = !outcome.built.is_empty() || !changes.nodes.is_empty() || !changes.shared.is_empty();
        Ok(is_news.then_some(changes))
    }
}

/// The lines at the end of a build.
pub(super) fn text(env: Env<'_>, report: &BuildReport, took: Duration, warnings: usize) -> String {
    let mut lines = vec![counts(report, took)];
    if let Some(changes) = &report.changes {
        lines.extend(changed(changes));
    }
    match warnings {
        0 => {}
        1 => lines.push(stderr_paint("1 warning", Colour::Yellow)),
        count => lines.push(stderr_paint(&format!("{count} warnings"), Colour::Yellow)),
    }
    if report.is_success() {
        let next = next(report).map(|(command, purpose)| (command_line(env, &command), purpose));
        let width = next.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        lines.push("next:".to_owned());
        lines.extend(next.map(|(command, purpose)| format!("  {command:<width$}  {purpose}")));
    }
    lines.join("\n")
}

/// The line at the end of a dry run.
pub(super) fn planned(report: &BuildReport) -> String {
    let would = match report.would_build.as_ref().map_or(0, Vec::len) {
        0 => "nothing to build".to_owned(),
        count => format!("{count} would be built"),
    };
    stderr_paint(&format!("{would}, {} already in the store", report.cached.len()), Colour::Green)
}

fn counts(report: &BuildReport, took: Duration) -> String {
    let built = report.built.as_ref().map_or(0, Vec::len);
    let counts = [
        (built.saturating_sub(report.executed.len()), "built"),
        (report.executed.len(), "built by a farm"),
        (report.substituted.len(), "from a cache"),
        (report.cached.len(), "already in the store"),
        (report.failed.len(), "failed"),
        (report.skipped.len(), "skipped"),
    ];
    let shown: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let colour = if report.is_success() { Colour::Green } else { Colour::Red };
    let generation = report.generation.map(|number| format!("; generation {number}")).unwrap_or_default();
    format!("{} in {:.1} s{generation}", stderr_paint(&shown.join(", "), colour), took.as_secs_f32())
}

fn changed(changes: &Changes) -> Vec<String> {
    let Changes { since, nodes, shared } = changes;
    if nodes.is_empty() && shared.is_empty() {
        return vec![format!("the same bytes as generation {since}")];
    }
    let mut rows: Vec<(&str, String)> =
        nodes.iter().map(|(node, folders)| (node.as_str(), folders.join(", "))).collect();
    if !shared.is_empty() {
        let shared: Vec<String> =
            shared.iter().map(|(folder, count)| format!("{count} of {folder}")).collect();
        rows.push(("shared", shared.join(", ")));
    }
    let width = rows.iter().map(|(who, _)| who.len()).max().unwrap_or(0);
    let rows = rows.iter().map(|(who, what)| format!("  {who:<width$}  {what}"));
    std::iter::once(format!("changed since generation {since}:")).chain(rows).collect()
}

/// Two commands that a user probably wants now, and what for.
fn next(report: &BuildReport) -> [(String, &'static str); 2] {
    let whole = report.targets.iter().any(|target| target.name == "cluster");
    match (whole, report.targets.first(), &report.changes) {
        (false, Some(target), _) => [
            (format!("show {}", target.name), "what is in it"),
            (format!("why {}", target.name), "what made it rebuild"),
        ],
        (_, _, Some(_)) => [
            ("diff".into(), "what changed, and why"),
            ("realize plan".into(), "what that means for the machines"),
        ],
        _ => [
            ("report --open".into(), "what was built, as a page"),
            ("realize plan".into(), "what would be made or booted"),
        ],
    }
}
