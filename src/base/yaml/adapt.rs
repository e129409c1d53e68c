//! A text as the parser wants it, where Go is content with less: more spaces in front of a line, a space in front of a
//! comment, a separator between two JSON documents. Nothing else is ever inserted and nothing removed, so the data is
//! the same, and every place leads back to the original.
//!
//! The parser says where it stopped; the text is adapted there and read again. Invariant: all attempts together read at
//! most [`BUDGET`] bytes, whatever the text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::read::length;

/// Real manifests need a handful of attempts on some kilobytes each.
const BUDGET: usize = 64 << 20;
/// Spaces in front of a line at the first attempt; each further one doubles them.
const SPACES: usize = 64;
/// Whoever needs more does not mean it.
const MOST_SPACES: usize = 1024;

#[derive(Debug, Clone)]
pub(super) struct Adapted<'a> {
    original: &'a str,
    text: Cow<'a, str>,
    /// What was inserted, by its place in the original.
    inserted: BTreeMap<usize, Insert>,
    /// The same, in the order of the text.
    shifts: Vec<Shift>,
    budget: usize,
}

#[derive(Debug, Clone, Copy)]
enum Insert {
    Spaces(usize),
    Newline,
    Separator,
}

/// How far the text has moved from an insertion on.
#[derive(Debug, Clone, Copy)]
struct Shift {
    /// In the original.
    place: usize,
    /// Behind it, in the text.
    end: usize,
    /// Inserted up to here.
    bytes: usize,
    lines: usize,
}

const SEPARATOR: &str = "\n---\n";

impl<'a> Adapted<'a> {
    pub(super) fn new(original: &'a str) -> Self {
        let (inserted, shifts) = (BTreeMap::new(), Vec::new());
        Self { original, text: Cow::Borrowed(original), inserted, shifts, budget: BUDGET }
    }

    /// With a newline behind a last line that is nothing but spaces, as Go's reader adds one: without it, the parser
    /// takes the line for an empty line of a block scalar.
    pub(super) fn with_newline(original: &'a str) -> Self {
        let adapted = Self::new(original);
        let end = original.trim_end_matches(' ');
        if end.len() == original.len() || !end.ends_with('\n') {
            return adapted;
        }
        let mut next = adapted.clone();
        next.inserted.insert(original.len(), Insert::Newline);
        next.insert().unwrap_or(adapted)
    }

    /// What to parse.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The byte of the original that a byte of the text is.
    pub(super) fn original(&self, at: usize) -> usize {
        if self.shifts.is_empty() {
            return at;
        }
        let next = self.shifts.partition_point(|shift| shift.end <= at);
        let moved = next.checked_sub(1).map_or(0, |before| self.shifts[before].bytes);
        let most = self.shifts.get(next).map_or(self.original.len(), |shift| shift.place);
        (at - moved).min(most)
    }

    /// The line of the original that a line of the text is.
    pub(super) fn line(&self, line: usize, at: usize) -> usize {
        let next = self.shifts.partition_point(|shift| shift.end <= at);
        let line = line - next.checked_sub(1).map_or(0, |before| self.shifts[before].lines);
        if at < self.text.len() {
            return line;
        }
        // The parser takes the end of a text without a final newline for the start of another line.
        line.min(memchr::memchr2_iter(b'\n', b'\r', self.original.as_bytes()).count() + 1)
    }

    /// The text with what the parser missed at this byte; none if Go refuses it as well.
    ///
    /// The parser's words are part of the agreement: tests have a text for each, and fail if a new version words them
    /// differently.
    pub(super) fn accept(&self, error: &str, at: usize) -> Option<Self> {
        let place = self.original(at);
        let mut next = self.clone();
        match error {
            "invalid indentation in quoted scalar" => next.indent_quoted(place)?,
            // Inside brackets or quotes: a block ends where lines are indented less.
            "invalid indentation"
            | "invalid indentation in flow construct"
            | "tab cannot be used as indentation" => next.indent(self.line_start(place))?,
            "tabs disallowed within this context (block indentation)" => {
                let start = self.line_start(place);
                let (before, line) = (self.original[..start].trim_end(), self.original[start..].trim_start());
                let in_brackets = before.ends_with(['{', '[', ',']) || line.starts_with(['}', ']']);
                in_brackets.then(|| next.indent(start))??;
            }
            "':' must be followed by a valid YAML whitespace" => {
                let colon = self.original[..place].trim_end_matches([' ', '\t']).len();
                next.inserted.insert(colon, Insert::Spaces(1));
            }
            "comments must be separated from other tokens by whitespace" => {
                let hash = self.original[place..].starts_with('#');
                hash.then(|| next.inserted.insert(place, Insert::Spaces(1)))?;
            }
            "did not find expected <document start>" => {
                let both = [self.original.trim_start(), &self.original[place..]];
                let json = both.iter().all(|text| text.starts_with('{'));
                json.then(|| next.inserted.insert(place, Insert::Separator))?;
            }
            _ => return None,
        }
        next.insert()
    }

    /// All lines of a quoted text but its first.
    fn indent_quoted(&mut self, start: usize) -> Option<()> {
        let quoted = &self.original[start..start + length(&self.original[start..])];
        let lines = quoted.match_indices('\n').map(|(at, _)| (start + at + 1, &quoted[at + 1..]));
        for (place, rest) in lines {
            if rest.starts_with("---") || rest.starts_with("...") {
                return None; // Go ends the document here
            }
            if !rest.lines().next().unwrap_or_default().trim().is_empty() {
                self.indent(place)?;
            }
        }
        Some(())
    }

    fn indent(&mut self, place: usize) -> Option<()> {
        let spaces = match self.inserted.get(&place) {
            Some(Insert::Spaces(before)) => before * 2,
            _ => SPACES,
        };
        self.inserted.insert(place, Insert::Spaces(spaces));
        (spaces <= MOST_SPACES).then_some(())
    }

    fn line_start(&self, place: usize) -> usize {
        self.original[..place].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Makes the text anew, if the budget allows it to be read.
    fn insert(mut self) -> Option<Self> {
        let more = self.inserted.values().map(|insert| insert.len()).sum::<usize>();
        self.budget = self.budget.checked_sub(self.original.len() + more)?;
        let mut text = String::with_capacity(self.original.len() + more);
        self.shifts.clear();
        let (mut done, mut bytes, mut lines) = (0, 0, 0);
        for (place, insert) in &self.inserted {
            text.push_str(&self.original[done..*place]);
            match insert {
                Insert::Spaces(spaces) => text.extend(std::iter::repeat_n(' ', *spaces)),
                Insert::Newline => text.push('\n'),
                Insert::Separator => text.push_str(SEPARATOR),
            }
            done = *place;
            bytes += insert.len();
            lines += if let Insert::Separator = insert { 2 } else { 0 };
            self.shifts.push(Shift { place: *place, end: text.len(), bytes, lines });
        }
        text.push_str(&self.original[done..]);
        self.text = Cow::Owned(text);
        Some(self)
    }
}

impl Insert {
    fn len(self) -> usize {
        match self {
            Self::Spaces(spaces) => spaces,
            Self::Newline => 1,
            Self::Separator => SEPARATOR.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the parser says, and however often.
    #[test]
    fn attempts_end() {
        let text = "a:\n  b: [\n".to_owned() + &"x,\n".repeat(100_000);
        let mut adapted = Adapted::new(&text);
        let mut read = 0;
        for line in 2.. {
            let at = adapted.text().match_indices('\n').nth(line).map_or(0, |(at, _)| at + 1);
            let Some(next) = adapted.accept("invalid indentation", at) else { break };
            adapted = next;
            read += adapted.text().len();
        }
        assert!(read > BUDGET / 2 && read <= BUDGET, "{read}");
        let mut adapted = Adapted::new("a: [\n]\n");
        let mut attempts = 0;
        while let Some(next) = adapted.accept("invalid indentation", adapted.text().len() - 2) {
            (adapted, attempts) = (next, attempts + 1);
        }
        assert_eq!(attempts, 5);
        let quoted = "'".to_owned() + &"x\n".repeat(1 << 20) + "'";
        assert!(Adapted::new(&quoted).accept("invalid indentation in quoted scalar", 0).is_none());
    }
}
