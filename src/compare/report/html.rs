//! Renders a comparison as a page: its document, embedded as JSON, which the page's script shows as a tree.

use super::rows::{Detail, Mark, Row, rows};
use crate::compare::diff::Diff;
use crate::compare::page::{Markup, Page, el};

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
    let title = format!("{} → {}", diff.old, diff.new);
    let script = [TREE, DIFF].concat();
    let body = plain(&rows(diff, Detail::Folded));
    Page { kind: "diff", title: &title, style: STYLE, script: &script, contents: &[], body }.render(diff)
}

/// Rows for readers without scripts: the page first, then foldable details, artifact by artifact.
fn plain(rows: &[Row]) -> Markup {
    let mut parts = rows.split(|row| row.text.is_empty());
    let text = |rows: &[Row]| -> Markup {
        let line = |row: &Row| match row.mark {
            Mark::Title => Markup::from([el("b", &[], &row.text), "\n".into()]),
            _ => Markup::from([Markup::from(&row.text), "\n".into()]),
        };
        el("pre", &[("class", "plain")], rows.iter().map(line).collect::<Markup>())
    };
    let mut page = el("section", &[], text(parts.next().unwrap_or(&[])));
    for part in parts {
        if let [name, inside @ ..] = part {
            page.push(el("details", &[], [el("summary", &[], &name.text), text(inside)]));
        }
    }
    el("noscript", &[], page)
}
