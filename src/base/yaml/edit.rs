//! Edits the text of a YAML file only where its data changed: comments are documentation.
//!
//! Compares old and new data from the root down. A scalar is replaced in place. In a block, entries and items are whole
//! lines: they are replaced, removed (together with the comment directly above) or added after their neighbours. Inside
//! brackets, a value that cannot be edited in place is rewritten as JSON. Invariant: the new text parses to exactly the
//! new data, because it is parsed again; if an edit fails, the whole document is rewritten, with a comment saying so.

use std::ops::Range;

use super::emit::scalar;
use super::read::{Source, YamlData, YamlEntry, YamlNode, documents};
use super::write::{block, flow, inline, json};
use crate::base::hint::Problems;

/// Tells the reader of a file why its comments are gone.
const ANEW: &str = "# Written anew by a patch: the comments are in the artifact before it.\n";

/// The text of a file after document `at` of `old` becomes `new`.
pub(crate) fn edit(name: &str, text: &str, old: &[YamlNode], at: usize, new: &YamlNode) -> String {
    let wanted: Vec<&YamlNode> = (0..old.len()).map(|n| if n == at { new } else { &old[n] }).collect();
    let says = |text: &str| {
        let mut problems = Problems::default();
        let found = documents(Source { name, text }, &mut problems);
        problems.0.is_empty()
            && found.len() == wanted.len()
            && found.iter().zip(&wanted).all(|(found, wanted)| found.means(wanted))
    };
    let mut editor = Editor { text, edits: Vec::new() };
    if editor.change(&old[at], new, false) {
        let edited = editor.apply();
        if says(&edited) {
            return edited;
        }
    }
    if name.ends_with(".json") && wanted.len() == 1 {
        return json(new, 0) + "\n";
    }
    let editor = Editor { text, edits: Vec::new() };
    let span = editor.line_start(old[at].span.start)..editor.line_end(old[at].span.end);
    let anew = [&text[..span.start], ANEW, &block(new, 0), &text[span.end..]].concat();
    if says(&anew) {
        return anew;
    }
    let all: Vec<String> = wanted.iter().map(|node| block(node, 0)).collect();
    format!("{ANEW}{}\n", all.join("\n---\n"))
}

/// The text with one scalar of the root mapping replaced, and every other byte as it was. None if there is no such
/// scalar, or if it cannot be replaced in place: an alias.
pub(crate) fn replace_scalar(name: &str, text: &str, key: &str, value: &str) -> Option<String> {
    let read = |text: &str| {
        let mut problems = Problems::default();
        let mut found = documents(Source { name, text }, &mut problems);
        (problems.0.is_empty() && found.len() == 1).then(|| found.remove(0))
    };
    let mut wanted = read(text)?;
    let YamlData::Map(entries) = &mut wanted.data else { return None };
    let old = &mut entries.iter_mut().find(|entry| entry.key == key)?.value;
    let written = text.get(old.span.clone()).filter(|written| !written.starts_with(['*', '&']))?;
    let quoted = match written.chars().next()? {
        quote @ ('"' | '\'') if !value.contains(['"', '\'', '\\']) => format!("{quote}{value}{quote}"),
        '"' | '\'' => scalar(value),
        _ => value.to_owned(),
    };
    let span = old.span.clone();
    match &mut old.data {
        YamlData::Scalar { text, plain } => (value.clone_into(text), *plain = false),
        _ => return None,
    };
    let with = |new: &str| [&text[..span.start], new, &text[span.end..]].concat();
    let mut edits = [with(&quoted), with(&scalar(value))].into_iter();
    edits.find(|edited| read(edited).is_some_and(|found| found.means(&wanted)))
}

struct Editor<'a> {
    text: &'a str,
    edits: Vec<(Range<usize>, String)>,
}

impl Editor<'_> {
    /// Records the edits that turn `old` into `new`; false if that is impossible inside `old`.
    fn change(&mut self, old: &YamlNode, new: &YamlNode, in_brackets: bool) -> bool {
        if old.means(new) {
            return true;
        }
        let written = self.text.get(old.span.clone()).unwrap_or_default();
        let brackets = in_brackets || written.starts_with(['{', '[']);
        match (&old.data, &new.data) {
            (YamlData::Map(was), YamlData::Map(now)) if !brackets && !now.is_empty() => self.map(was, now),
            (YamlData::List(was), YamlData::List(now)) if !brackets && !now.is_empty() => self.list(was, now),
            _ if brackets => {
                let edits = self.edits.len();
                if !self.inside_brackets(old, new) {
                    self.edits.truncate(edits);
                    self.edits.push((old.span.clone(), flow(new)));
                }
                !written.is_empty()
            }
            (YamlData::Scalar { .. }, YamlData::Scalar { text, plain }) => {
                let one_line = !written.is_empty() && !written.starts_with(['|', '>']);
                let several = !plain && text.trim_end_matches('\n').contains('\n');
                self.edits.push((old.span.clone(), inline(text, *plain)));
                one_line && !several
            }
            _ => false,
        }
    }

    /// Edits inside brackets that move nothing else.
    fn inside_brackets(&mut self, old: &YamlNode, new: &YamlNode) -> bool {
        match (&old.data, &new.data) {
            (YamlData::Map(was), YamlData::Map(now)) if was.len() == now.len() && !was.is_empty() => was
                .iter()
                .all(|entry| new.get(&entry.key).is_some_and(|new| self.change(&entry.value, new, true))),
            (YamlData::List(was), YamlData::List(now)) if was.len() == now.len() && !was.is_empty() => {
                was.iter().zip(now).all(|(old, new)| self.change(old, new, true))
            }
            _ => false,
        }
    }

    fn map(&mut self, was: &[YamlEntry], now: &[YamlEntry]) -> bool {
        let find = |entries: &[YamlEntry], key: &str| entries.iter().position(|entry| entry.key == key);
        if !was.iter().any(|entry| find(now, &entry.key).is_some()) {
            return false;
        }
        for entry in was {
            let end = self.end(entry);
            match find(now, &entry.key).map(|at| &now[at]) {
                None => match self.lines(entry.at, end) {
                    Some(lines) => self.edits.push((lines, String::new())),
                    None => return false,
                },
                Some(new) => {
                    let edits = self.edits.len();
                    if !self.change(&entry.value, &new.value, false) {
                        self.edits.truncate(edits);
                        let text = self.entry(new, self.column(entry.at));
                        self.edits.push((entry.at..self.line_end(end), text));
                    }
                }
            }
        }
        let Some(last) = was.last() else { return false };
        let column = self.column(last.at);
        for new in now.iter().filter(|new| find(was, &new.key).is_none()) {
            let text = self.entry(new, column);
            self.insert(self.end(last), &text, column);
        }
        true
    }

    fn list(&mut self, was: &[YamlNode], now: &[YamlNode]) -> bool {
        let same = |pairs: &mut dyn Iterator<Item = (&YamlNode, &YamlNode)>| {
            pairs.take_while(|(old, new)| old.means(new)).count()
        };
        let head = same(&mut was.iter().zip(now));
        let tail = same(&mut was[head..].iter().rev().zip(now[head..].iter().rev()));
        let (old, new) = (&was[head..was.len() - tail], &now[head..now.len() - tail]);
        let both = old.len().min(new.len());
        for (old, new) in old.iter().zip(new) {
            let edits = self.edits.len();
            if !self.change(old, new, false) {
                self.edits.truncate(edits);
                if old.span.is_empty() {
                    return false;
                }
                let text = self.item(new, self.column(old.span.start));
                self.edits.push((old.span.start..self.line_end(old.span.end), text));
            }
        }
        for item in &old[both..] {
            match self.dash(item).and_then(|dash| self.lines(dash, item.span.end)) {
                Some(lines) => self.edits.push((lines, String::new())),
                None => return false,
            }
        }
        let Some(dash) = was.first().and_then(|first| self.dash(first)) else { return both == new.len() };
        let column = self.column(dash);
        for item in &new[both..] {
            let text = format!("- {}", self.item(item, column + 2));
            match was.get((head + both).wrapping_sub(1)) {
                Some(before) => self.insert(before.span.end, &text, column),
                None => {
                    let at = self.comment_above(dash);
                    self.edits.push((at..at, format!("{:column$}{text}\n", "")));
                }
            }
        }
        true
    }

    /// `key: value` for a block whose keys start in this column.
    fn entry(&self, entry: &YamlEntry, column: usize) -> String {
        let one = YamlNode { line: 0, span: 0..0, data: YamlData::Map(vec![entry.clone()]) };
        block(&one, column)
    }

    /// A value as written after a dash.
    fn item(&self, node: &YamlNode, column: usize) -> String {
        let one = YamlNode { line: 0, span: 0..0, data: YamlData::List(vec![node.clone()]) };
        block(&one, column.saturating_sub(2)).trim_start_matches("- ").to_owned()
    }

    /// Records new lines after the line that contains `end`.
    fn insert(&mut self, end: usize, text: &str, column: usize) {
        let at = (self.line_end(end) + 1).min(self.text.len());
        let newline = if self.text[..at].ends_with('\n') { "" } else { "\n" };
        self.edits.push((at..at, format!("{newline}{:column$}{text}\n", "")));
    }

    /// The whole lines of a node that starts at `start`, with the comment above; none if another node starts on its
    /// line.
    fn lines(&self, start: usize, end: usize) -> Option<Range<usize>> {
        let begins = self.text[self.line_start(start)..start].trim().is_empty();
        begins.then(|| self.comment_above(start)..(self.line_end(end) + 1).min(self.text.len()))
    }

    /// Start of the comment lines directly above a line with the same indentation, or of the line itself.
    fn comment_above(&self, start: usize) -> usize {
        let (mut top, column) = (self.line_start(start), self.column(start));
        while top > 0 {
            let above = self.line_start(top - 1);
            let line = &self.text[above..top];
            if !line.trim_start().starts_with('#') || line.len() - line.trim_start().len() != column {
                break;
            }
            top = above;
        }
        top
    }

    /// The dash of an item, if it starts its line.
    fn dash(&self, item: &YamlNode) -> Option<usize> {
        let start = self.line_start(item.span.start);
        let before = &self.text[start..item.span.start];
        let dash = before.trim_end();
        (dash.trim_start() == "-").then(|| start + dash.len() - 1)
    }

    /// Where an entry ends: without a value, at the end of its key's line.
    fn end(&self, entry: &YamlEntry) -> usize {
        if entry.value.span.is_empty() { self.line_end(entry.at) } else { entry.value.span.end }
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |length| at + length)
    }

    fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }

    /// The text with all edits applied; where two start at the same offset, insertions come first.
    fn apply(mut self) -> String {
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let (mut text, mut done) = (String::new(), 0);
        for (range, new) in self.edits {
            text.push_str(self.text.get(done..range.start).unwrap_or_default());
            text.push_str(&new);
            done = done.max(range.end);
        }
        text.push_str(&self.text[done..]);
        text
    }
}
