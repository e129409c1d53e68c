//! A comparison as rows for a terminal: one page first, details below.

use super::{cause, edit, effect, flag, location, schema, short, together};
use crate::compare::delta::Edit;
use crate::compare::diff::{Artifact, ArtifactState, Diff, Difference, ImageChange, NodeImpact, Severity};

/// How many entries of a kind the page lists; the details have all.
const LISTED: usize = 12;

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

/// The whole comparison; without `details`, only the page.
pub(crate) fn rows(diff: &Diff, details: bool) -> Vec<Row> {
    let mut page = Page::default();
    page.row(Mark::Title, format!("{} → {}", diff.old, diff.new));
    page.counts(diff);
    page.nodes(diff);
    page.changes(diff);
    page.causes(diff);
    if details {
        diff.artifacts.iter().for_each(|artifact| page.artifact(artifact));
    }
    page.0
}

#[derive(Default)]
struct Page(Vec<Row>);

impl Page {
    fn row(&mut self, mark: Mark, text: impl Into<String>) {
        self.0.push(Row { mark, text: text.into() });
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
            let few: Vec<&str> = because.iter().take(3).map(String::as_str).collect();
            let more = because.len().saturating_sub(few.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            rows.push((Mark::Changed, format!("{names}: {} ({}{more})", effect(*does), few.join(", "))));
            if !units.is_empty() {
                rows.push((Mark::Plain, format!("  units: {}", units.join(", "))));
            }
        }
        self.list("running nodes", rows);
    }

    fn changes(&mut self, diff: &Diff) {
        let summary = &diff.summary;
        self.list("images", summary.images.iter().map(image).collect());
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

    fn causes(&mut self, diff: &Diff) {
        let numbered = diff.causes.iter().enumerate();
        let rows = numbered.map(|(at, one)| (Mark::Plain, format!("[{}] {}", at + 1, cause(one))));
        self.list("causes", rows.collect());
    }

    fn artifact(&mut self, artifact: &Artifact) {
        let (sign, mark) = match artifact.state {
            ArtifactState::Added => ('+', Mark::Added),
            ArtifactState::Removed => ('-', Mark::Removed),
            ArtifactState::Renamed | ArtifactState::Changed => ('~', Mark::Changed),
        };
        let causes: String = artifact.causes.iter().map(|at| format!("[{}]", at + 1)).collect();
        let name = match (&artifact.before, artifact.name.as_str()) {
            (Some(before), name) => format!("{before} → {name}"),
            (None, "") => "files".to_owned(),
            (None, name) => name.to_owned(),
        };
        self.row(Mark::Plain, "");
        self.row(mark, format!("{sign} {name} {causes}").trim_end().to_owned());
        let mut last = Vec::new();
        for difference in &artifact.differences {
            let (inside, field) = location(&difference.change);
            if inside != last {
                self.row(Mark::Place, format!("    {}", inside.join(" › ")));
                last = inside;
            }
            self.difference(difference, &field);
        }
        for same in &artifact.same {
            let files = if same.files == 1 { "1 file".to_owned() } else { format!("{} files", same.files) };
            self.row(Mark::Dim, format!("    {files} as in {}", same.artifact));
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
