//! What a change does to the sites of a fleet, for people: rows, Markdown, and a page with every site.

mod html;

pub use html::fleet_html;

use super::markdown::{details, escape, list};
use super::rows::{Detail, Mark, Row, rows};
use super::{effect, narrow};
use crate::compare::fleet::{FleetDiff, PoolRollout, SharedChange, SiteOutcome, Wave};
use crate::openshift::knowledge::Effect;

/// How many sites a group names.
const NAMED: usize = 5;
/// How many changes are shown with their differences unless all are asked for.
const CHANGES: usize = 20;
/// Rows are truncated to this many characters.
const WIDTH: usize = 200;

/// The sites first, then change by change.
pub(crate) fn fleet_rows(found: &FleetDiff, detail: Detail) -> Vec<Row> {
    let mut all = head(found);
    for (at, change) in found.changes.iter().enumerate() {
        if at == CHANGES && detail != Detail::Everything {
            let more = found.changes.len() - at;
            all.push(row(Mark::Plain, ""));
            all.push(row(
                Mark::Dim,
                format!("and {} (--full, or --only PATTERN)", counted(more, "more change")),
            ));
            break;
        }
        all.push(row(Mark::Plain, ""));
        all.extend(of_change(at, change, detail));
    }
    all
}

/// The same as Markdown for a pull request.
pub(crate) fn fleet_markdown(found: &FleetDiff) -> String {
    let mut text = list(&head(found));
    for (at, change) in found.changes.iter().enumerate().take(CHANGES) {
        text.push_str(&format!("\n## {}\n\n", escape(&title(at, change))));
        about(change).iter().for_each(|row| text.push_str(&format!("- {}\n", escape(row.text.trim()))));
        text.push_str(&list(&rows(&change.diff, Detail::Nothing)[1..]));
        text.push_str(&details(&change.diff));
    }
    if found.changes.len() > CHANGES {
        let more = counted(found.changes.len() - CHANGES, "more change");
        text.push_str(&format!("\nand {more}\n"));
    }
    text
}

fn row(mark: Mark, text: impl Into<String>) -> Row {
    Row { mark, text: narrow(text.into(), WIDTH) }
}

/// What happens, on one page.
fn head(found: &FleetDiff) -> Vec<Row> {
    let mut all =
        vec![row(Mark::Title, format!("{} → {}", found.old, found.new)), row(Mark::Plain, counts(found))];
    if !found.waves.is_empty() {
        all.push(row(Mark::Title, "waves"));
    }
    for (at, one) in found.waves.iter().enumerate() {
        all.push(row(Mark::Plain, format!("  {}. {}", at + 1, wave(one))));
    }
    for (state, word, mark) in [
        (SiteOutcome::New, "never built", Mark::Added),
        (SiteOutcome::Removed, "no longer in the fleet", Mark::Removed),
    ] {
        let names: Vec<&str> =
            found.sites.iter().filter(|row| row.state == state).map(|row| row.site.as_str()).collect();
        if !names.is_empty() {
            all.push(row(mark, format!("{word}: {}", few(&names))));
        }
    }
    all
}

fn counts(found: &FleetDiff) -> String {
    let counts = &found.counts;
    let ways = counted(found.changes.len(), "way");
    let parts = [
        (counts.changed, format!("{} in {ways}", if counts.changed == 1 { "changes" } else { "change" })),
        (counts.same, "the same".to_owned()),
        (counts.new, "never built".to_owned()),
        (counts.failed, "failed".to_owned()),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    format!("{}: {}", counted(counts.sites, "site"), parts.join(", "))
}

/// A wave in words.
fn wave(wave: &Wave) -> String {
    let name = if wave.name.is_empty() { "of no group" } else { &wave.name };
    let sites = counted(wave.sites, "site");
    match (wave.nodes, wave.rounds) {
        (0, _) => format!("{name}: {sites}, no node reboots"),
        (nodes, 0 | 1) => format!("{name}: {sites}, {} to reboot or re-install", counted(nodes, "node")),
        (nodes, rounds) => format!(
            "{name}: {sites}, {} to reboot or re-install, up to {rounds} one after another at a site",
            counted(nodes, "node")
        ),
    }
}

fn title(at: usize, change: &SharedChange) -> String {
    let names: Vec<&str> = change.sites.iter().map(String::as_str).collect();
    format!("change {}: {} ({})", at + 1, counted(names.len(), "site"), few(&names))
}

/// What happens to the nodes of every site of a change.
fn about(change: &SharedChange) -> Vec<Row> {
    let mut all: Vec<Row> = change
        .rollout
        .iter()
        .map(|one| {
            let mark = if one.effect >= Effect::Reboot { Mark::Changed } else { Mark::Plain };
            row(mark, format!("  {}", pool(one)))
        })
        .collect();
    if !change.own.is_empty() {
        all.push(row(Mark::Plain, format!("  each site has values of its own: {}", change.own.join(", "))));
    }
    if change.sites.len() > 1 {
        all.push(row(Mark::Dim, format!("  as at {}:", change.example)));
    }
    if !change.detailed {
        all.push(row(
            Mark::Dim,
            format!("  without details: there are too many changes; --only {} shows them", change.example),
        ));
    }
    all
}

/// A pool's part of the rollout.
fn pool(one: &PoolRollout) -> String {
    let PoolRollout { pool, effect: does, nodes, at_a_time, rounds } = one;
    let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let how = match (*does, names.len()) {
        (Effect::Reinstall, _) => ", by hand".to_owned(),
        (Effect::Reboot, 2..) => format!(", {at_a_time} at a time: {rounds} one after another"),
        _ => String::new(),
    };
    format!("{pool}: {} ({}){how}", effect(Some(*does)), few(&names))
}

fn of_change(at: usize, change: &SharedChange, detail: Detail) -> Vec<Row> {
    let mut all = vec![row(Mark::Title, title(at, change))];
    all.extend(about(change));
    let inside = rows(&change.diff, detail).into_iter().skip(1);
    all.extend(inside.map(|Row { mark, text }| Row { mark, text: indented(text) }));
    all
}

fn indented(text: String) -> String {
    if text.is_empty() { text } else { format!("  {text}") }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The first names, and how many more there are.
fn few(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
}
