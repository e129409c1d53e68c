//! A comparison as rows for a terminal: one page first, details below.

use super::{cause, edit, effect, flag, location, narrow, schema, short, together};
use crate::compare::delta::Edit;
use crate::compare::diff::{Artifact, ArtifactState, Diff, Difference, ImageChange, NodeImpact, Severity};
use crate::openshift::knowledge::Effect;

/// How many entries of a kind the page lists; the details have all.
const LISTED: usize = 5;
/// How many rows of an artifact are shown while it is folded.
const FOLDED: usize = 40;
/// Rows are truncated to this many characters; the JSON document has everything.
const WIDTH: usize = 200;

/// How much to show below the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    Nothing,
    /// One row per artifact, with counts.
    Counts,
    /// Every artifact, but not all of a long one, and of a download only that it differs.
    Folded,
    Everything,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub mark: Mark,
    /// Without colours and newline.
    pub text: String,
}

/// The role of a row, for colouring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Title,
    /// What contains a difference.
    Place,
    Plain,
    Added,
    Removed,
    Changed,
    Breaking,
    Dim,
}

/// The page, and the details below it.
pub(crate) fn rows(diff: &Diff, detail: Detail) -> Vec<Row> {
    let mut page = Page::default();
    page.row(Mark::Title, format!("{} → {}", diff.old, diff.new));
    page.counts(diff);
    page.nodes(diff);
    page.changes(diff);
    page.causes(diff);
    match detail {
        Detail::Nothing => {}
        Detail::Counts => page.stat(diff),
        Detail::Folded | Detail::Everything => {
            diff.artifacts.iter().for_each(|artifact| page.artifact(artifact, detail));
        }
    }
    page.0
}

#[derive(Default)]
struct Page(Vec<Row>);

impl Page {
    fn row(&mut self, mark: Mark, text: impl Into<String>) {
        self.0.push(Row { mark, text: narrow(text.into(), WIDTH) });
    }

    fn list(&mut self, title: &str, rows: Vec<(Mark, String)>) {
        if rows.is_empty() {
            return;
        }
        self.row(Mark::Title, title);
        let more = rows.len().saturating_sub(LISTED);
        rows.into_iter().take(LISTED).for_each(|(mark, text)| self.row(mark, format!("  {text}")));
        if more > 0 {
            self.row(Mark::Dim, format!("  and {more} more"));
        }
    }

    fn counts(&mut self, diff: &Diff) {
        let counts = &diff.summary.counts;
        let words = [
            (counts.changed, "changed"),
            (counts.added, "added"),
            (counts.removed, "removed"),
            (counts.renamed, "renamed"),
            (counts.same, "the same"),
        ];
        let words: Vec<String> = words
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        self.row(
            Mark::Plain,
            format!("artifacts: {}", if words.is_empty() { "none".to_owned() } else { words.join(", ") }),
        );
    }

    fn nodes(&mut self, diff: &Diff) {
        // Nodes with the same effect and cause share a line; the strongest effects come first.
        let mut groups: Vec<Vec<&NodeImpact>> = Vec::new();
        for node in &diff.summary.nodes {
            let same = |one: &NodeImpact| {
                (one.effect, &one.because, &one.units) == (node.effect, &node.because, &node.units)
            };
            match groups.iter_mut().find(|group| same(group[0])) {
                Some(group) => group.push(node),
                None => groups.push(vec![node]),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group[0].effect));
        let mut rows = Vec::new();
        for group in groups {
            let NodeImpact { effect: does, because, units, .. } = group[0];
            let names = together(group.iter().map(|node| node.node.as_str()));
            if *does == Some(Effect::FirstBoot) {
                let files = counted(because.len(), "file");
                rows.push((Mark::Plain, format!("{names}: nothing ({files} for a new installation only)")));
                continue;
            }
            let some: Vec<&str> = because.iter().take(3).map(String::as_str).collect();
            let more = because.len().saturating_sub(some.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            rows.push((Mark::Changed, format!("{names}: {} ({}{more})", effect(*does), some.join(", "))));
            if !units.is_empty() && does.is_some() {
                let units: Vec<&str> = units.iter().map(String::as_str).collect();
                rows.push((Mark::Plain, format!("  units: {}", few(&units))));
            }
        }
        self.list("running nodes", rows);
    }

    fn changes(&mut self, diff: &Diff) {
        let summary = &diff.summary;
        self.images(&summary.images);
        let of = |sign: char| match sign {
            '+' => Mark::Added,
            '-' => Mark::Removed,
            _ => Mark::Changed,
        };
        let flags = summary.flags.iter().map(|one| {
            let (sign, text) = flag(one);
            (of(sign), format!("{sign} {}: {text}", one.program))
        });
        self.list("flags", flags.collect());
        let gates = summary.gates.iter().map(|gate| match (&gate.old, &gate.new) {
            (None, Some(new)) => (Mark::Added, format!("+ {} {new}", gate.gate)),
            (Some(old), None) => (Mark::Removed, format!("- {} {old}", gate.gate)),
            (old, new) => {
                let text = |side: &Option<String>| side.clone().unwrap_or_default();
                (Mark::Changed, format!("~ {} {} → {}", gate.gate, text(old), text(new)))
            }
        });
        self.list("feature gates", gates.collect());
        let (used, unused): (Vec<_>, Vec<_>) =
            summary.schemas.iter().partition(|one| !one.used_by.is_empty());
        self.list(
            "API fields that our own objects use",
            used.into_iter().map(|one| (Mark::Breaking, schema(one))).collect(),
        );
        self.list(
            "API fields that refuse more",
            unused.into_iter().map(|one| (Mark::Changed, schema(one))).collect(),
        );
        let certificates = summary.certificates.iter().map(|one| {
            let key = if one.rekeyed { "a new key" } else { "the same key" };
            let name = if one.artifact.is_empty() { "files" } else { &one.artifact };
            let words: Vec<&str> =
                std::iter::once(key).chain(one.fields.iter().map(String::as_str)).collect();
            (Mark::Changed, format!("{name}: {}", words.join(", ")))
        });
        self.list("certificates", certificates.collect());
    }

    /// Images one by one, or, if a release moves them all, their names.
    fn images(&mut self, images: &[ImageChange]) {
        if images.len() <= LISTED {
            return self.list("images", images.iter().map(image).collect());
        }
        let of = |wanted: fn(&ImageChange) -> bool| -> Vec<&str> {
            images.iter().filter(|one| wanted(one)).map(|one| one.component.as_str()).collect()
        };
        let moved = of(|one| one.old.is_some() && one.new.is_some());
        let (come, gone) = (of(|one| one.old.is_none()), of(|one| one.new.is_none()));
        let kinds = [(Mark::Changed, '~', moved), (Mark::Added, '+', come), (Mark::Removed, '-', gone)];
        let kinds = kinds.into_iter().filter(|(_, _, names)| !names.is_empty());
        let rows =
            kinds.map(|(mark, sign, names)| (mark, format!("{sign} {}: {}", names.len(), few(&names))));
        self.list("images", rows.collect());
    }

    /// One row per artifact: how much was added, removed and changed, and why.
    fn stat(&mut self, diff: &Diff) {
        let width = diff.artifacts.iter().map(|one| one.name.chars().count()).max().unwrap_or_default();
        self.row(Mark::Title, "differences by artifact");
        for artifact in &diff.artifacts {
            let (sign, mark) = sign(artifact.state);
            let count = |is: fn(&Edit) -> bool| {
                artifact.differences.iter().filter(|one| is(&one.change.edit)).count()
            };
            let added = count(|edit| matches!(edit, Edit::Added { .. }));
            let removed = count(|edit| matches!(edit, Edit::Removed { .. }));
            let changed = artifact.differences.len() - added - removed;
            let counts = [(added, '+'), (removed, '-'), (changed, '~')];
            let counts = counts.iter().filter(|(count, _)| *count > 0);
            let counts: Vec<String> = counts.map(|(count, sign)| format!("{sign}{count}")).collect();
            let counts = if counts.is_empty() { "as in its inputs".to_owned() } else { counts.join(" ") };
            let name = if artifact.name.is_empty() { "files" } else { &artifact.name };
            self.row(
                mark,
                format!("  {sign} {name:<width$}  {counts:<16}  {}", causes_of(artifact)).trim_end(),
            );
        }
    }

    fn causes(&mut self, diff: &Diff) {
        let numbered = diff.causes.iter().enumerate();
        let rows = numbered.map(|(at, one)| (Mark::Plain, format!("[{}] {}", at + 1, cause(one))));
        self.list("causes", rows.collect());
    }

    fn artifact(&mut self, artifact: &Artifact, detail: Detail) {
        let (sign, mark) = sign(artifact.state);
        let causes = causes_of(artifact);
        let name = match (&artifact.before, artifact.name.as_str()) {
            (Some(before), name) => format!("{before} → {name}"),
            (None, "") => "files".to_owned(),
            (None, name) => name.to_owned(),
        };
        self.row(Mark::Plain, "");
        self.row(mark, format!("{sign} {name} {causes}").trim_end().to_owned());
        let folded = detail == Detail::Folded;
        if folded && artifact.download && !artifact.differences.is_empty() {
            let differences = counted(artifact.differences.len(), "more difference");
            return self
                .row(Mark::Dim, format!("    {differences} in what this cluster does not use (--full)"));
        }
        let (mut last, start) = (Vec::new(), self.0.len());
        for (at, difference) in artifact.differences.iter().enumerate() {
            if folded && self.0.len() - start >= FOLDED {
                let more = counted(artifact.differences.len() - at, "more difference");
                self.row(Mark::Dim, format!("    and {more} (--only {name} or --full shows them)"));
                break;
            }
            let (inside, field) = location(&difference.change);
            if inside != last {
                self.row(Mark::Place, format!("    {}", trail(&inside)));
                last = inside;
            }
            self.difference(difference, &field);
        }
        for same in &artifact.same {
            let place = if same.artifact == artifact.name {
                "above".to_owned()
            } else {
                format!("in {}", same.artifact)
            };
            self.row(Mark::Dim, format!("    {} as {place}", counted(same.files, "file")));
        }
    }

    fn difference(&mut self, difference: &Difference, field: &str) {
        let change = &difference.change;
        let (sign, mark) = match &change.edit {
            Edit::Added { .. } => ('+', Mark::Added),
            Edit::Removed { .. } => ('-', Mark::Removed),
            _ => ('~', Mark::Changed),
        };
        let mark = if difference.severity == Severity::Breaking { Mark::Breaking } else { mark };
        let what = if field.is_empty() { String::new() } else { format!("{field}: ") };
        self.row(mark, format!("      {sign} {what}{}", edit(&change.edit)));
        if let Some(note) = &change.note {
            self.row(Mark::Dim, format!("        ({note})"));
        }
        if let Edit::Lines { hunks, cut } = &change.edit {
            for hunk in hunks {
                self.row(Mark::Dim, format!("        @@ line {} → {} @@", hunk.old_start, hunk.new_start));
                for line in &hunk.lines {
                    let mark = match line.sign {
                        '+' => Mark::Added,
                        '-' => Mark::Removed,
                        _ => Mark::Plain,
                    };
                    self.row(mark, format!("        {}{}", line.sign, line.text));
                }
            }
            if *cut > 0 {
                self.row(Mark::Dim, format!("        and {cut} more places"));
            }
        }
    }
}

fn sign(state: ArtifactState) -> (char, Mark) {
    match state {
        ArtifactState::Added => ('+', Mark::Added),
        ArtifactState::Removed => ('-', Mark::Removed),
        ArtifactState::Renamed | ArtifactState::Changed => ('~', Mark::Changed),
    }
}

fn causes_of(artifact: &Artifact) -> String {
    artifact.causes.iter().map(|at| format!("[{}]", at + 1)).collect()
}

/// Where a difference is, outermost first. What does not fit is left out from the front: the end names the file.
fn trail(inside: &[String]) -> String {
    let whole = inside.join(" › ");
    let shorter = (1..inside.len()).map(|from| format!("… › {}", inside[from..].join(" › ")));
    let fits = |text: &String| text.chars().count() + 4 <= WIDTH;
    std::iter::once(whole.clone()).chain(shorter).find(fits).unwrap_or(whole)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The first names of a list, and how many more there are.
fn few(names: &[&str]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names[..names.len().min(LISTED)].join(", "))
}

fn image(one: &ImageChange) -> (Mark, String) {
    let ImageChange { component, old, new } = one;
    match (old, new) {
        (None, Some(new)) => (Mark::Added, format!("+ {component} {}", short(new))),
        (Some(old), None) => (Mark::Removed, format!("- {component} {}", short(old))),
        (old, new) => {
            let text = |side: &Option<String>| side.as_deref().map(short).unwrap_or_default().to_owned();
            (Mark::Changed, format!("~ {component} {} → {}", text(old), text(new)))
        }
    }
}
