//! The verdict, on one screen: what was built and why, what the checks say, what ends when, and what to do next.

use super::{count, period};
use crate::cli::report::changes::{Changes, Reaching};
use crate::cli::report::deadlines::{Deadline, DeadlineKind};
use crate::cli::report::document::{Origin, Report};
use crate::compare::cause::Cause;
use crate::compare::page::{Markup, Tone, code, deadline, el, link, note, tag, time};
use crate::compare::report::{cause_kind, effect};

pub(super) fn section(found: &Report) -> Markup {
    let cards = [built(found), ends(found), checked(found), next(found)];
    let inside = [headline(found), about(found), el("div", &[("class", "cards")], cards)];
    el("section", &[("id", "verdict"), ("aria-label", "Verdict")], inside)
}

/// Whether it can boot. With scripts, the page knows when that time is past.
fn headline(found: &Report) -> Markup {
    let line = |class: &str, text: Markup| el("p", &[("class", &format!("headline {class}"))], text);
    match &found.expiry.boots_until {
        Some(until) => Markup::from([
            line("fresh", Markup::from(["Ready to boot, before ".into(), deadline(until)])),
            line(
                "stale",
                Markup::from([
                    "Too old to boot since ".into(),
                    time(until),
                    ": run ".into(),
                    code("tinderbox renew"),
                ]),
            ),
        ]),
        None => line("fresh", "Built".into()),
    }
}

/// The release and the machines, on one line.
fn about(found: &Report) -> Markup {
    let release = found.release.as_ref().map(|release| {
        let reference = release.reference.as_ref().filter(|reference| reference.len() < 60);
        let reference = reference.map(|reference| Markup::from([" (".into(), code(reference), ")".into()]));
        Markup::from([el("b", &[], format!("OpenShift {}", release.version)), reference.into()])
    });
    let number =
        |role: &str| found.nodes.iter().filter(|node| node.machine.role.as_deref() == Some(role)).count();
    let roles = [("master", "master"), ("worker", "worker"), ("bootstrap", "bootstrap node")];
    let roles = roles.map(|(role, name)| (number(role), name)).into_iter().filter(|(number, _)| *number > 0);
    let mut roles = roles.map(|(number, name)| count(number, name)).collect::<Vec<_>>().join(", ");
    if roles.is_empty() {
        roles = count(found.nodes.len(), "node");
    }
    let built = Markup::from(["built ".into(), time(&found.time)]);
    let parts = [release, found.domain.as_ref().map(Markup::from), Some(roles.into()), Some(built)];
    let parts: Vec<Markup> = parts.into_iter().flatten().collect();
    el("p", &[("class", "facts")], Markup::join(parts, " · "))
}

fn card(title: &str, inside: Markup) -> Markup {
    el("div", &[("class", "card")], [el("h2", &[], title), inside])
}

/// What was built, and why.
fn built(found: &Report) -> Markup {
    let of = |state: Origin| found.artifacts.iter().filter(|one| one.state == state).count();
    let work: u64 = found
        .artifacts
        .iter()
        .filter(|one| one.state == Origin::Built)
        .filter_map(|one| one.milliseconds)
        .sum();
    let numbers = [
        (of(Origin::Built), "built"),
        (of(Origin::Kept), "as before"),
        (of(Origin::Found), "found in the store"),
    ];
    let numbers = numbers.iter().filter(|(number, _)| *number > 0);
    let numbers: Vec<String> = numbers.map(|(number, what)| format!("{number} {what}")).collect();
    let seconds = format!("{}.{} s of work", work / 1000, work % 1000 / 100);
    let big = el(
        "p",
        &[("class", "big")],
        [
            link("stages", count(found.artifacts.len(), "artifact")),
            note(format!(" {}; {seconds}", numbers.join(", "))),
        ],
    );
    let why = match &found.changes {
        None => {
            el("p", &[], "This is the first generation that is kept: there is nothing to compare it with.")
        }
        Some(changes) => because(changes),
    };
    card("What was built, and why", Markup::from([big, why]))
}

/// The causes of a change, with the lines that set them, and what running nodes would do.
fn because(changes: &Changes) -> Markup {
    let Changes { since, added, removed, changed, causes, nodes } = changes;
    let numbers = [(changed, "changed"), (added, "new"), (removed, "gone")];
    let numbers: Vec<String> = numbers
        .iter()
        .filter(|(number, _)| **number > 0)
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    let since = match numbers.is_empty() {
        true => format!("The same as generation {since} in every artifact."),
        false => format!("Since generation {since}: {}.", numbers.join(", ")),
    };
    let line = |Reaching { cause, artifacts }: &Reaching| {
        let reach = note(format!(" reaches {}", count(artifacts.len(), "artifact")));
        el("li", &[], Markup::from([told_cause(cause), reach]))
    };
    let shown = 4;
    let more = causes.len().saturating_sub(shown);
    let more = (more > 0).then(|| el("li", &[], note(format!("and {more} more: run `tinderbox diff`"))));
    let causes: Markup = causes.iter().take(shown).map(line).chain(more).collect();
    let causes = (!causes.is_empty()).then(|| el("ul", &[("class", "plain-list")], causes));
    let nodes = nodes.iter().map(|node| {
        let tone = if node.effect.is_some() { Tone::Notable } else { Tone::Plain };
        el("li", &[], [code(&node.node), " ".into(), tag(effect(node.effect), tone)])
    });
    let nodes: Markup = nodes.collect();
    let nodes = (!nodes.is_empty()).then(|| {
        let title = el("p", &[("class", "note")], "On nodes that run already:");
        Markup::from([title, el("ul", &[("class", "inline-list")], nodes)])
    });
    Markup::from([el("p", &[], since), causes.into(), nodes.into()])
}

/// A cause: what, from what to what, and the line that says so.
fn told_cause(one: &Cause) -> Markup {
    let short = |text: &String| {
        let line = text.replace('\n', "⏎");
        match line.char_indices().nth(60) {
            Some((end, _)) => code(&format!("{}…", &line[..end])),
            None => code(&line),
        }
    };
    let side = |side: &Option<String>| side.as_ref().map_or_else(|| note("nothing"), short);
    let values = (one.from.is_some() || one.to.is_some())
        .then(|| Markup::from([": ".into(), side(&one.from), " → ".into(), side(&one.to)]));
    let places: Vec<String> = one
        .places
        .iter()
        .map(|place| place.line.map_or_else(|| place.file.clone(), |line| format!("{}:{line}", place.file)))
        .collect();
    let places = (!places.is_empty()).then(|| Markup::from([" in ".into(), code(&places.join(", "))]));
    Markup::from([format!("{} ", cause_kind(one.kind)).into(), code(&one.what), values.into(), places.into()])
}

/// The deadlines, in order.
fn ends(found: &Report) -> Markup {
    let mut told_once: Vec<DeadlineKind> = Vec::new();
    let rows = found.deadlines.iter().map(|one| {
        let (title, then) = told(one);
        // The consequence is the same every time.
        let then = (!told_once.contains(&one.kind)).then(|| note(then));
        told_once.push(one.kind);
        let class = if one.kind == DeadlineKind::Boot { "first" } else { "" };
        let inside = [el("div", &[], deadline(&one.at)), el("b", &[], title), then.into(), names(&one.names)];
        el("li", &[("class", class)], inside)
    });
    card("What expires when", el("ol", &[("class", "timeline")], rows.collect::<Markup>()))
}

/// A few names at once, more behind a word.
fn names(all: &[String]) -> Markup {
    let leaf = |name: &String| name.rsplit('/').next().unwrap_or(name).to_owned();
    let text = all.iter().map(leaf).collect::<Vec<_>>().join(", ");
    match all.len() {
        0 => Markup::default(),
        1..=3 => el("div", &[], code(&text)),
        _ => el("details", &[], [el("summary", &[], "which"), el("p", &[("class", "note")], text)]),
    }
}

/// A deadline and its consequence.
fn told(one: &Deadline) -> (String, &'static str) {
    let lasted = one.days.map(|days| format!(" after {}", period(days))).unwrap_or_default();
    let number = one.names.len();
    match one.kind {
        DeadlineKind::Boot => (
            "Boot before this".to_owned(),
            "A boot takes up to two hours, and then the first certificate expires.",
        ),
        DeadlineKind::Joining => (
            format!(
                "{} for joining expire{}{lasted}",
                count(number, "credential"),
                if number == 1 { "s" } else { "" }
            ),
            "Nodes that have joined do not need them.",
        ),
        DeadlineKind::HandOver => (
            format!("Hand-over of {} ends", count(number, "authority")),
            "If operators see them only later, they make their own, which our clients do not trust.",
        ),
        DeadlineKind::Certificates => (
            format!("{} expire{}{lasted}", count(number, "certificate"), if number == 1 { "s" } else { "" }),
            "A running cluster has certificates of its own by then; admin's kubeconfig is among these.",
        ),
        DeadlineKind::Authorities => (
            format!("{} expire{}{lasted}", count(number, "authority"), if number == 1 { "s" } else { "" }),
            "Everything they signed expires with them.",
        ),
    }
}

fn checked(found: &Report) -> Markup {
    let number = |status: &str| found.checks.iter().filter(|check| check.status == status).count();
    let warnings: usize = found.checks.iter().map(|check| check.warnings.len()).sum();
    let tags = [
        (number("passed"), "passed", Tone::Good),
        (number("failed"), "failed", Tone::Breaking),
        (number("disabled"), "disabled", Tone::Notable),
        (warnings, if warnings == 1 { "warning" } else { "warnings" }, Tone::Notable),
    ];
    let tags = tags.into_iter().filter(|(number, ..)| *number > 0);
    let tags = tags.map(|(number, what, tone)| tag(&format!("{number} {what}"), tone));
    let big = Markup::from([
        link("checks", count(found.checks.len(), "check")),
        " ".into(),
        Markup::join(tags, " "),
    ]);
    let reasons =
        found.checks.iter().filter(|check| check.status == "disabled" || !check.warnings.is_empty());
    let reasons = reasons.map(|check| {
        let why = match check.warnings.first() {
            Some(first) if first.derivation.starts_with("release/") => {
                format!(
                    "{} in the release's own CRDs, which you cannot change",
                    count(check.warnings.len(), "field")
                )
            }
            Some(first) => format!("{}:{}: {}", first.file, first.line, first.message),
            None => format!("disabled in cluster.yaml: {}", check.rule),
        };
        el("li", &[], [code(&check.name), " ".into(), note(why)])
    });
    let reasons: Markup = reasons.take(4).collect();
    let reasons = (!reasons.is_empty()).then(|| el("ul", &[("class", "plain-list")], reasons));
    let trust = found.trust.as_ref().map(|trust| {
        let (number, what) = match trust.failing {
            0 => (
                format!("All {} verifications", trust.verifications),
                " of certificates and tokens hold, before and after the pivot.",
            ),
            failing => (
                format!("{failing} of {} verifications", trust.verifications),
                " of certificates and tokens fail.",
            ),
        };
        el("p", &[], [link("trust", number), what.into()])
    });
    card("Checks", Markup::from([el("p", &[("class", "big")], big), reasons.into(), trust.into()]))
}

fn next(found: &Report) -> Markup {
    let mut steps = vec![];
    if found.changes.is_some() {
        steps.push(("tinderbox diff", "every difference, and why"));
    }
    steps.extend([
        ("tinderbox realize plan", "what would be made or booted"),
        ("tinderbox realize apply", "bring the cluster up"),
        ("tinderbox renew", "move all dates, when the time has come"),
    ]);
    let steps =
        steps.into_iter().map(|(command, purpose)| el("li", &[], [code(command), " ".into(), note(purpose)]));
    card("Next", el("ul", &[("class", "plain-list")], steps.collect::<Markup>()))
}
