//! Outcomes as text for people.

use super::output::{Colour, line, size, stdout_paint};
use crate::base::hint::Place;
use crate::cli::ops::affects::Affected;
use crate::cli::ops::check::Checked;
use crate::cli::ops::explain::{Explained, Explanation, NamedFile, Origin};
use crate::cli::ops::why::{Cause, CauseKind, Status, Why};
use crate::engine::store::{GcPlan, Verification};

pub(super) fn affected(found: &Affected) {
    for (field, places) in &found.fields {
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        line(format!("{} ({})", stdout_paint(field, Colour::Cyan), places.join("; ")));
    }
    line(format!("{} derivations name it:", found.direct.len()));
    found.direct.iter().for_each(|name| line(format!("  {name}")));
    line(format!(
        "{} more need those, and are rebuilt if what they need really changes:",
        found.cascade.len()
    ));
    found.cascade.iter().for_each(|name| line(format!("  {name}")));
    if !found.absent.is_empty() {
        line(format!("{} are absent because of it:", found.absent.len()));
        found.absent.iter().for_each(|(name, why)| line(format!("  {name}: {why}")));
    }
}

/// Rules that checks left to the API server.
pub(super) fn not_evaluated(checked: &Checked) {
    for check in checked.checks.iter().filter(|check| !check.not_evaluated.is_empty()) {
        let count = check.not_evaluated.len();
        let rules = if count == 1 { "rule" } else { "rules" };
        line(stdout_paint(
            &format!("{}: {count} {rules} not evaluated; the API server will", check.name),
            Colour::Yellow,
        ));
        for open in &check.not_evaluated {
            line(format!("  {}: {}: {} ({})", open.file, open.field, open.rule, open.why));
        }
    }
}

pub(super) fn why(why: &Why) {
    line(match why.status {
        Status::New => format!("{} was not built before", why.target),
        Status::Changed => format!("{} is not as it was at the last build", why.target),
        Status::UpToDate => format!("{} is up to date; its last change was this", why.target),
        Status::Unchanged => format!("{} is up to date, and never was anything else", why.target),
    });
    if !why.causes.is_empty() {
        line(stdout_paint("root cause", Colour::Cyan));
        // One line of a file may decide several fields that several derivations name: that is one cause.
        let mut shown: Vec<&Cause> = Vec::new();
        for cause in &why.causes {
            let same =
                |one: &&Cause| (&one.places, &one.from, &one.to) == (&cause.places, &cause.from, &cause.to);
            if !shown.iter().any(same) {
                shown.push(cause);
            }
        }
        shown.into_iter().map(cause).for_each(line);
    }
    if !why.cascade.is_empty() {
        line(stdout_paint("cascade", Colour::Cyan));
        why.cascade.iter().for_each(|way| line(format!("  {}", way.join(" → "))));
    }
    if !why.follows.is_empty() && why.status == Status::Changed {
        line(stdout_paint("what follows", Colour::Cyan));
        why.follows.iter().for_each(|name| line(format!("  {name}")));
    }
}

fn cause(cause: &Cause) -> String {
    let kind = match cause.kind {
        CauseKind::Seed => "seed",
        CauseKind::Config => "config field",
        CauseKind::File => "file",
        CauseKind::Parameter => "parameter",
        CauseKind::Inputs => "input",
        CauseKind::Builder => "builder",
        CauseKind::Forgotten => return format!("  unknown: {}", cause.what),
    };
    let places: Vec<String> = cause.places.iter().map(ToString::to_string).collect();
    let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join("; ")) };
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "(nothing)".into());
    format!("  {kind} {}{places}: {} → {}", cause.what, side(&cause.from), side(&cause.to))
}

pub(super) fn explanation(found: &Explanation) {
    for one in &found.matches {
        let Explained { name, value, line: at, comment, template, origins, reader, files } = one;
        match value.lines().count() {
            0 | 1 => line(format!("{}={value}", stdout_paint(name, Colour::Green))),
            _ => line(format!("{}\n{value}", stdout_paint(name, Colour::Green))),
        }
        line(if comment.is_empty() { "  (no comment)".to_owned() } else { wrap(comment) });
        fact("where", format!("{}:{}, line {at}", found.target, found.file));
        if let Some(place) = template {
            fact("template", place.to_string());
        }
        if origins.is_empty() {
            fact("origin", "the template has it as it is".to_owned());
        }
        origins.iter().map(origin).for_each(|text| fact("origin", text));
        fact("read by", reader.clone());
        files.iter().map(named_file).for_each(|text| fact("names", text));
    }
    fact("goes into", found.goes_into.join(", "));
}

fn fact(name: &str, text: String) {
    line(format!("  {}{text}", stdout_paint(&format!("{name:<10}"), Colour::Cyan)));
}

pub(super) fn origin(origin: &Origin) -> String {
    let places: Vec<String> = origin.places.iter().map(Place::to_string).collect();
    match places.is_empty() {
        true => format!("`{}` = {}", origin.name, origin.from),
        false => format!("`{}` = {} ← {}", origin.name, origin.from, places.join("; ")),
    }
}

fn named_file(file: &NamedFile) -> String {
    let NamedFile { path, on_node, derivation } = file;
    let on_node = match on_node {
        Some(same) if same == path => String::new(),
        Some(other) => format!(", on the node {other}"),
        None => ", which is not mounted from the node".to_owned(),
    };
    let made = derivation.as_ref().map(|name| format!(" ← {name}")).unwrap_or_default();
    format!("{path}{on_node}{made}")
}

/// A text in lines of at most a hundred characters, set in by two.
fn wrap(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(last) if last.len() + 1 + word.len() <= 100 => *last = format!("{last} {word}"),
            _ => lines.push(format!("  {word}")),
        }
    }
    lines.join("\n")
}

pub(super) fn findings(found: &Verification) {
    for finding in &found.findings {
        line(format!("{} {}: {}", stdout_paint("bad", Colour::Red), finding.path.display(), finding.detail));
    }
    let bad = match found.findings.len() {
        0 => "all sound".to_owned(),
        1 => "1 bad path".to_owned(),
        bad => format!("{bad} bad paths"),
    };
    line(format!("{} objects, {} files, {}: {bad}", found.objects, found.files, size(found.bytes)));
}

pub(super) fn gc(plan: &GcPlan, dry_run: bool) {
    for (directory, number) in &plan.generations {
        line(format!("generation {number} of {}", directory.display()));
    }
    for doomed in &plan.objects {
        line(format!("{}\t{}", size(doomed.size), doomed.name));
    }
    if plan.blobs > 0 {
        line(format!("{} downloaded blobs", plan.blobs));
    }
    let verb = if dry_run { "would free" } else { "freed" };
    line(format!("{verb} {} in {} objects; {} stay", size(plan.freed), plan.objects.len(), plan.kept));
}
