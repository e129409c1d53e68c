//! Renders a comparison as a page: its document, embedded as JSON, which the page's script shows as a tree.

use super::rows::{Detail, Mark, Row, rows};
use crate::compare::diff::Diff;
use crate::compare::drift::Drift;
use crate::compare::page::{Markup, Page, code, el, section, table};

/// What pages with a tree of artifacts share.
const TREE: &str =
    concat!(include_str!("page/tree.js"), include_str!("page/filters.js"), include_str!("page/values.js"));
const DIFF: &str = concat!(
    include_str!("page/diff.js"),
    include_str!("page/summary.js"),
    include_str!("page/details.js"),
    "startDiff();\n"
);
const STYLE: &str = include_str!("page/diff.css");

/// A comparison as a page.
pub(crate) fn html(diff: &Diff) -> String {
    page("diff", diff, Markup::default())
}

/// What drifted as a page, with what is expected and what was not compared below.
pub(crate) fn drift_html(drift: &Drift) -> String {
    let cell = |text: &str| Markup::from(text);
    let expected = drift
        .expected
        .iter()
        .map(|one| vec![code(&one.object), code(&one.fields.join(", ")), cell(&one.reason)]);
    let open = drift
        .not_compared
        .iter()
        .map(|one| vec![code(&one.kind), code(&one.names.join(", ")), cell(&one.why)]);
    let mut below = Markup::default();
    if !drift.not_compared.is_empty() {
        let rows = table(&["Kind", "Names", "Why"], open);
        below.push(section("not-compared", "Not compared", "", rows));
    }
    if !drift.expected.is_empty() {
        let lead = "What the cluster's own parts are supposed to change.";
        let rows = table(&["Object", "Fields", "Who and why"], expected);
        below.push(section("expected", "Expected differences", lead, rows));
    }
    page("drift", &drift.diff, below)
}

fn page(kind: &str, diff: &Diff, below: Markup) -> String {
    let title = format!("{} → {}", diff.old, diff.new);
    let script = [TREE, DIFF].concat();
    let mut body = plain(&rows(diff, Detail::Folded));
    body.push(below);
    Page { kind, title: &title, style: STYLE, script: &script, contents: &[], body }.render(diff)
}

/// Rows as they are.
pub(super) fn text(rows: &[Row]) -> Markup {
    let line = |row: &Row| match row.mark {
        Mark::Title => Markup::from([el("b", &[], &row.text), "\n".into()]),
        _ => Markup::from([Markup::from(&row.text), "\n".into()]),
    };
    el("pre", &[("class", "plain")], rows.iter().map(line).collect::<Markup>())
}

/// Rows for readers without scripts: the page first, then foldable details, artifact by artifact.
fn plain(rows: &[Row]) -> Markup {
    let mut parts = rows.split(|row| row.text.is_empty());
    let mut page = el("section", &[], text(parts.next().unwrap_or(&[])));
    for part in parts {
        if let [name, inside @ ..] = part {
            page.push(el("details", &[], [el("summary", &[], &name.text), text(inside)]));
        }
    }
    el("noscript", &[], page)
}
