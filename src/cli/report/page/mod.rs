//! The report as a page: the verdict on one screen, then nodes, stages with their artifacts, certificates, trust and
//! checks. Complete without scripts; they search, and show what belongs together.

mod certificates;
mod checks;
mod nodes;
mod stages;
mod trust;
mod verdict;

use super::document::{Artifact, Origin, Report};
use crate::compare::page::{Markup, Page, Tone, code, link, tag};
use crate::compare::picture;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// The page. Equal documents give equal bytes, except for what `--json` says about today.
pub(super) fn page(found: &Report) -> String {
    let title = format!("{}, generation {}", found.cluster, found.generation);
    let (stages, style) = stages::section(found);
    let style = [picture::STYLE, STYLE, &style].concat();
    let sections = [
        ("verdict", "Verdict", verdict::section(found)),
        ("nodes", "Nodes", nodes::section(found)),
        ("stages", "Stages and artifacts", stages),
        ("certificates", "Certificates", certificates::section(found)),
        ("trust", "Trust", trust::section(found)),
        ("checks", "Checks", checks::section(found)),
    ];
    let (contents, parts): (Vec<_>, Vec<_>) = sections
        .into_iter()
        .filter(|(.., part)| !part.is_empty())
        .map(|(id, title, part)| ((id, title), part))
        .unzip();
    let body = parts.into();
    Page { kind: "report", title: &title, style: &style, script: SCRIPT, contents: &contents, body }
        .render(&())
}

/// The id of an artifact on the page.
fn anchor(name: &str) -> String {
    format!("artifact/{name}")
}

/// A link to an artifact of this build; for anything else its name.
fn artifact(found: &Report, name: &str) -> Markup {
    let is_here = found.artifacts.iter().any(|one| one.name == name);
    if is_here { link(&anchor(name), code(name)) } else { code(name) }
}

fn state(artifact: &Artifact) -> Option<Markup> {
    match artifact.state {
        Origin::Built => Some(tag("built", Tone::Notable)),
        Origin::Found => Some(tag("found in the store", Tone::Good)),
        Origin::Kept => None,
    }
}

/// `3 nodes`.
fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number if one.ends_with('y') && !one.ends_with("ey") => {
            format!("{number} {}ies", &one[..one.len() - 1])
        }
        number => format!("{number} {one}s"),
    }
}

/// `1 year`, `14 days`: a period in the unit that people would use.
fn period(days: i64) -> String {
    match days {
        days if days >= 700 => format!("{} years", (days + 3) / 365),
        365..=367 => "1 year".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, period};

    #[test]
    fn numbers_read_like_sentences() {
        assert_eq!([1, 2].map(|number| count(number, "authority")), ["1 authority", "2 authorities"]);
        assert_eq!([1, 2].map(|number| count(number, "key")), ["1 key", "2 keys"]);
        assert_eq!([1, 14, 365, 366, 3650].map(period), ["1 day", "14 days", "1 year", "1 year", "10 years"]);
    }
}
