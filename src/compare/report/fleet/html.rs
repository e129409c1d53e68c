//! The page of `fleet diff`: every site in a table to search, filter and sort, then what changes, group by group.

use serde::Serialize;

use super::{about, counts, few, pool, title, wave};
use crate::compare::fleet::{FleetDiff, SharedChange, SiteOutcome, SiteRow};
use crate::compare::page::{Markup, Page, Tone, el, fold, link, note, section, table, tag};
use crate::compare::report::effect;
use crate::compare::report::html::text;
use crate::compare::report::rows::{Detail, Row, rows};
use crate::openshift::knowledge::Effect;

const STYLE: &str = include_str!("fleet.css");
const SCRIPT: &str = include_str!("fleet.js");

/// What the script shows: one row per site, and the names that rows refer to.
#[derive(Serialize)]
struct Document<'a> {
    rows: Vec<PageRow<'a>>,
    /// Titles of changes by their number.
    changes: Vec<String>,
    waves: Vec<&'a str>,
    /// Effects, the mildest first: a row sorts by them.
    effects: Vec<&'static str>,
}

#[derive(Serialize)]
struct PageRow<'a> {
    site: &'a str,
    groups: String,
    state: &'static str,
    change: Option<usize>,
    wave: Option<usize>,
    effect: &'static str,
    nodes: usize,
}

const EFFECTS: [Effect; 6] =
    [Effect::FirstBoot, Effect::Written, Effect::Reload, Effect::Restart, Effect::Reboot, Effect::Reinstall];

/// The page.
pub fn fleet_html(found: &FleetDiff) -> String {
    let document = Document {
        rows: found.sites.iter().map(page_row).collect(),
        changes: found.changes.iter().enumerate().map(|(at, change)| title(at, change)).collect(),
        waves: found.waves.iter().map(|wave| wave.name.as_str()).collect(),
        effects: EFFECTS.map(|one| effect(Some(one))).into(),
    };
    let page_title = format!("{} → {}", found.old, found.new);
    let mut contents = vec![("summary", "Summary"), ("sites", "Sites")];
    let mut body = section("summary", "Summary", counts(found).as_str(), summary(found));
    body.push(section("sites", "Sites", "", [el("div", &[("id", "rows")], ""), plain(found)]));
    if !found.changes.is_empty() {
        contents.push(("changes", "Changes"));
        let folds: Markup = found.changes.iter().enumerate().map(|(at, one)| change(at, one)).collect();
        let lead = "Sites with the same change are one group, whatever their own values.";
        body.push(section("changes", "Changes", lead, folds));
    }
    if !found.errors.is_empty() {
        contents.push(("errors", "Errors"));
        let errors = found.errors.iter().map(|one| {
            let names: Vec<&str> = one.sites.iter().map(String::as_str).collect();
            vec![Markup::from(&one.error), few(&names).into(), one.hint.clone().unwrap_or_default().into()]
        });
        body.push(section("errors", "Errors", "", table(&["Error", "Sites", "Hint"], errors)));
    }
    let script = [SCRIPT, "startFleet();\n"].concat();
    Page { kind: "fleet diff", title: &page_title, style: STYLE, script: &script, contents: &contents, body }
        .render(&document)
}

fn page_row(row: &SiteRow) -> PageRow<'_> {
    let SiteRow { site, groups, state, change, wave, effect: does, nodes, rounds: _ } = row;
    let effect = match (state, does) {
        (SiteOutcome::Changed, Some(does)) => effect(Some(*does)),
        (SiteOutcome::Changed, None) => "nothing",
        _ => "",
    };
    PageRow {
        site,
        groups: groups.join(" "),
        state: state_word(*state),
        change: *change,
        wave: *wave,
        effect,
        nodes: *nodes,
    }
}

fn state_word(state: SiteOutcome) -> &'static str {
    match state {
        SiteOutcome::Changed => "changed",
        SiteOutcome::Same => "the same",
        SiteOutcome::New => "never built",
        SiteOutcome::Removed => "removed",
        SiteOutcome::Failed => "failed",
    }
}

fn summary(found: &FleetDiff) -> Markup {
    let changes = found.changes.iter().enumerate().map(|(at, change)| {
        let names: Vec<&str> = change.sites.iter().map(String::as_str).collect();
        let pools: Vec<Markup> = change.rollout.iter().map(|one| pool(one).into()).collect();
        let causes: Vec<Markup> = change.diff.causes.iter().map(|cause| cause.what.as_str().into()).collect();
        vec![
            link(&format!("change-{}", at + 1), format!("change {}", at + 1)),
            names.len().to_string().into(),
            few(&names).into(),
            Markup::join(pools, "; "),
            Markup::join(causes.into_iter().take(super::NAMED), ", "),
        ]
    });
    let waves =
        found.waves.iter().enumerate().map(|(at, one)| vec![(at + 1).to_string().into(), wave(one).into()]);
    let mut made = Markup::default();
    if !found.changes.is_empty() {
        made.push(table(&["Change", "Sites", "Which", "Running nodes", "Because of"], changes));
        made.push(el("h3", &[], "Waves"));
        made.push(note("The groups of fleet.yaml, in the order in which they stand there."));
        made.push(table(&["Wave", ""], waves));
    }
    made
}

/// A change, with its differences artifact by artifact.
fn change(at: usize, change: &SharedChange) -> Markup {
    let all = rows(&change.diff, Detail::Folded);
    let mut parts = all.split(|row| row.text.is_empty());
    let head: Vec<Row> =
        about(change).into_iter().chain(parts.next().unwrap_or_default().iter().skip(1).cloned()).collect();
    let mut inside = text(&head);
    for part in parts {
        if let [name, rest @ ..] = part {
            inside.push(fold(None, false, name.text.as_str(), text(rest)));
        }
    }
    let strongest = change.rollout.first().map(|one| one.effect);
    let tone = match strongest {
        Some(Effect::Reinstall) => Tone::Breaking,
        Some(Effect::Reboot) => Tone::Notable,
        _ => Tone::Plain,
    };
    let word = strongest.map_or("no running node", |one| effect(Some(one)));
    let summary = [title(at, change).into(), tag(word, tone)];
    fold(Some(&format!("change-{}", at + 1)), at == 0, summary, inside)
}

/// Every site, for readers without scripts.
fn plain(found: &FleetDiff) -> Markup {
    let rows = found.sites.iter().map(|row| {
        let change = row.change.map(|at| format!("change {}", at + 1)).unwrap_or_default();
        let shown = page_row(row);
        vec![shown.site.into(), shown.groups.into(), shown.state.into(), change.into(), shown.effect.into()]
    });
    el("noscript", &[], table(&["Site", "Groups", "State", "Change", "Running nodes"], rows))
}
