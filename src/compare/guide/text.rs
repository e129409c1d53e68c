//! Chapters and entries as lines for a terminal.

use super::{GuideChapter, GuideEntry};
use crate::base::hint::Place;

/// A line, before it is wrapped and coloured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) kind: LineKind,
    /// How far it is indented.
    pub(crate) indent: usize,
    /// For a fact, its name.
    pub(crate) term: &'static str,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Title,
    Heading,
    Entry,
    Fact,
    Prose,
    /// Printed as it is, never wrapped.
    Content,
}

fn line(kind: LineKind, indent: usize, text: impl Into<String>) -> Line {
    Line { kind, indent, term: "", text: text.into() }
}

fn fact(term: &'static str, text: impl Into<String>) -> Line {
    Line { kind: LineKind::Fact, indent: 2, term, text: text.into() }
}

/// A chapter: its story, then its entries without their contents.
pub(crate) fn chapter(chapter: &GuideChapter) -> Vec<Line> {
    let title = format!("{}. {}", chapter.number, chapter.title);
    let mut lines = vec![line(LineKind::Title, 0, title)];
    for paragraph in &chapter.text {
        lines.push(line(LineKind::Prose, 0, ""));
        lines.push(line(LineKind::Prose, 0, paragraph));
    }
    for (at, step) in chapter.steps.iter().enumerate() {
        lines.push(line(LineKind::Prose, 0, ""));
        lines.push(line(LineKind::Prose, 2, format!("{}. {step}", at + 1)));
    }
    if !chapter.deadlines.is_empty() {
        lines.push(line(LineKind::Prose, 0, ""));
    }
    for one in &chapter.deadlines {
        lines.push(line(LineKind::Prose, 2, format!("{}  {}: {}", one.at, one.what, one.then)));
    }
    for group in &chapter.groups {
        lines.push(line(LineKind::Heading, 0, ""));
        lines.push(line(LineKind::Heading, 0, &group.title));
        lines.extend(group.entries.iter().flat_map(facts));
    }
    lines
}

/// Single entries, whole.
pub(crate) fn entries(found: &[&GuideEntry]) -> Vec<Line> {
    let mut lines = Vec::new();
    for entry in found {
        lines.extend(facts(entry));
        for part in &entry.parts {
            let meaning = part.meaning.as_deref().unwrap_or(&part.part.comment);
            match part.part.items() {
                Some(items) => {
                    lines.push(fact("part", &part.part.name));
                    lines.extend(items.into_iter().map(|item| line(LineKind::Content, 17, item)));
                }
                None => {
                    let first = part.part.value.lines().next().unwrap_or_default();
                    lines.push(fact("part", format!("{} = {first}", part.part.name)));
                }
            }
            if !meaning.is_empty() {
                lines.push(line(LineKind::Prose, 15, meaning));
            }
        }
        for file in &entry.files {
            let note = file.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
            lines.push(fact("content", format!("{}{note}", file.path)));
            let content = file.content.as_deref().unwrap_or_default();
            lines.extend(content.lines().map(|text| line(LineKind::Content, 4, text)));
        }
    }
    lines
}

fn facts(entry: &GuideEntry) -> Vec<Line> {
    let mut lines = vec![line(LineKind::Prose, 0, ""), line(LineKind::Entry, 0, &entry.title)];
    for about in &entry.about {
        if entry.about.len() > 1 {
            lines.push(fact("object", &about.subject));
        }
        lines.push(fact("for", &about.purpose.purpose));
        lines.push(fact("read by", &about.purpose.reader));
        lines.push(fact("without it", &about.purpose.without));
    }
    if !entry.places.is_empty() {
        lines.push(fact("on", places(entry)));
    }
    for origin in &entry.origins {
        let at: Vec<String> = origin.places.iter().map(Place::to_string).collect();
        let at = if at.is_empty() { String::new() } else { format!(" ← {}", at.join("; ")) };
        lines.push(fact("decided by", format!("{}{at}", origin.from)));
    }
    for shown in &entry.shown {
        let text = format!("{} to {}, as {}", shown.presenter, shown.verifier, shown.role);
        lines.push(fact("shown by", format!("{text}; if refused: {}", shown.breaks)));
    }
    lines.extend(entry.checks.iter().map(|check| fact("checked", format!("{}: {}", check.name, check.rule))));
    lines.push(fact("see", &entry.command));
    lines
}

/// `master-0, master-1: /etc/hostname`; nodes with the same path together.
pub(super) fn places(entry: &GuideEntry) -> String {
    let mut by_path: Vec<(&str, Vec<&str>)> = Vec::new();
    for place in &entry.places {
        match by_path.iter_mut().find(|(path, _)| *path == place.path) {
            Some((_, nodes)) => nodes.push(&place.node),
            None => by_path.push((&place.path, vec![&place.node])),
        }
    }
    let all = by_path.into_iter().map(|(path, nodes)| match path == entry.title {
        true => nodes.join(", "),
        false => format!("{}: {path}", nodes.join(", ")),
    });
    all.collect::<Vec<_>>().join("; ")
}
