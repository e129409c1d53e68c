//! Every check, with its rule; warnings and rules that are left to the API server where there are any.

use super::count;
use crate::cli::check::Made;
use crate::cli::report::document::Report;
use crate::compare::page::{Markup, Tone, code, el, finder, note, prose, section as part, tag};

pub(super) fn section(found: &Report) -> Markup {
    if found.checks.is_empty() {
        return Markup::default();
    }
    let rows: Markup = found.checks.iter().map(one).collect();
    let lead =
        "What would break at boot, checked before it. `tinderbox check --list` says what each one prevents.";
    let list = el("ul", &[("class", "check-list")], rows);
    part("checks", "Checks", prose(lead), finder("check-list", "Search checks", list))
}

fn one(check: &Made) -> Markup {
    let tone = match check.status.as_str() {
        "passed" => Tone::Good,
        "failed" => Tone::Breaking,
        _ => Tone::Notable,
    };
    let warnings = check.warnings.iter().map(|warning| {
        let place = format!("{}:{}: {}", warning.file, warning.line, warning.field);
        el("li", &[], [code(&place), " ".into(), note(prose(&warning.message))])
    });
    let open = check.not_evaluated.iter().map(|open| {
        el(
            "li",
            &[],
            [
                code(&format!("{}: {}", open.file, open.field)),
                " ".into(),
                note(format!("left to the API server: {} ({})", open.rule, open.why)),
            ],
        )
    });
    let more: Markup = warnings.chain(open).collect();
    let number = check.warnings.len() + check.not_evaluated.len();
    let more = (number > 0).then(|| {
        let title = el("summary", &[], count(number, "warning"));
        el("details", &[], [title, el("ul", &[("class", "plain-list")], more)])
    });
    el(
        "li",
        &[("class", "item")],
        Markup::from([tag(&check.status, tone), code(&check.name), note(prose(&check.rule)), more.into()]),
    )
}
