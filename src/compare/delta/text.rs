//! Texts by line, like `diff -u`, with three lines of context.
//!
//! Invariant: time and memory are bounded for all inputs. Equal parts are skipped in blocks; where texts differ, a
//! window of lines is compared, and the next window starts where both sides meet again. So a large text with a few
//! differences costs little more than reading it; of many differences the first are shown, and a note says that there
//! are more.

use imara_diff::{Algorithm, Diff, InternedInput};

use super::walk::Walk;
use super::{ChangeKind, Edit, Hunk, HunkLine, open};
use crate::base::redact;

/// Lines of context.
const AROUND: usize = 3;
/// Bytes per window; smaller texts are compared as a whole.
const WINDOW: usize = 4 << 20;
/// Maximum number of windows.
const WINDOWS: usize = 64;
/// Maximum number of lines to show, per text and per hunk.
const LINES: usize = 4000;
/// Longer lines are truncated.
const LINE: usize = 2000;
/// Maximum length of a private key.
const KEY: usize = 16 << 10;
const BLOCK: usize = 64 << 10;

/// Compares two different texts.
pub(super) fn compare(walk: &mut Walk<'_>, old: &str, new: &str, note: Option<&str>) {
    if walk.masked || has_secret(old) || has_secret(new) {
        return open::secret(walk, ChangeKind::Text);
    }
    let mut found = Hunks { note: note.map(str::to_owned), ..Hunks::default() };
    let mut at = (Mark::default(), Mark::default());
    for window in 0.. {
        at = skip(old, new, at);
        if at.0.byte == old.len() && at.1.byte == new.len() {
            break;
        }
        if window == WINDOWS {
            found.add_note("there are more differences than were compared");
            break;
        }
        match found.window(old, new, at) {
            Some(next) => at = next,
            None => {
                found.add_note("there are no common lines after that");
                break;
            }
        }
    }
    if !old.ends_with('\n') ^ !new.ends_with('\n') && !old.is_empty() && !new.is_empty() {
        found.add_note("one side does not end with a newline");
    }
    let edit = Edit::Lines { hunks: found.hunks, cut: found.cut };
    walk.record(ChangeKind::Text, edit, None, found.note.as_deref());
}

/// Whether a text contains a Secret or registry credentials. It need not be valid YAML or JSON.
pub(super) fn has_secret(text: &str) -> bool {
    let is_secret = |after: &str| {
        let value = after.trim_start_matches(['"', '\'', ' ', '\t']).strip_prefix(':').map(str::trim_start);
        let value = value.and_then(|value| value.trim_start_matches(['"', '\'']).strip_prefix("Secret"));
        value.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-'))
    };
    // Scripts and descriptions may talk about Secrets and logins; values make them secret.
    let has = |key: &str| text.contains(key);
    (has("\"auths\"") && (has("\"auth\"") || has("\"password\"") || has("oken\"")))
        || ((has("data") || has("stringData"))
            && text.match_indices("kind").any(|(at, kind)| is_secret(&text[at + kind.len()..])))
}

/// A position at the start of a line.
#[derive(Debug, Default, Clone, Copy)]
struct Mark {
    byte: usize,
    /// From 0.
    line: usize,
}

/// Skips equal text to the start of the first different line, minus some context.
fn skip(old: &str, new: &str, (mut one, mut two): (Mark, Mark)) -> (Mark, Mark) {
    let (left, right) = (&old.as_bytes()[one.byte..], &new.as_bytes()[two.byte..]);
    let blocks = left.chunks(BLOCK).zip(right.chunks(BLOCK));
    let mut equal: usize = blocks.take_while(|(left, right)| left == right).map(|(left, _)| left.len()).sum();
    equal += left[equal..].iter().zip(&right[equal..]).take_while(|(left, right)| left == right).count();
    if equal < left.len() || equal < right.len() {
        let lines = left[..equal].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        equal = (0..AROUND).fold(lines, |end, _| {
            left[..end.saturating_sub(1)].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
        });
    }
    let lines = old[one.byte..one.byte + equal].matches('\n').count();
    for mark in [&mut one, &mut two] {
        mark.byte += equal;
        mark.line += lines;
    }
    (one, two)
}

#[derive(Default)]
struct Hunks {
    hunks: Vec<Hunk>,
    lines: usize,
    cut: usize,
    note: Option<String>,
}

/// The lines of a window, and whether it reaches the end.
fn lines(text: &str, from: usize) -> (Vec<&str>, bool) {
    let (mut size, mut all) = (0, true);
    let mut found = Vec::new();
    for line in text[from..].split_inclusive('\n') {
        if size > WINDOW {
            all = false;
            break;
        }
        size += line.len();
        found.push(line);
    }
    (found, all)
}

type Span = (std::ops::Range<usize>, std::ops::Range<usize>);

impl Hunks {
    fn add_note(&mut self, words: &str) {
        match &mut self.note {
            Some(note) => {
                note.push_str("; ");
                note.push_str(words);
            }
            None => self.note = Some(words.to_owned()),
        }
    }

    /// Compares one window; returns the position where both sides meet again, if they do.
    fn window(&mut self, old: &str, new: &str, at: (Mark, Mark)) -> Option<(Mark, Mark)> {
        let ((one, one_all), (two, two_all)) = (lines(old, at.0.byte), lines(new, at.1.byte));
        let mut spans = differences(&one, &two);
        let all = one_all && two_all;
        let last = spans.last().cloned().unwrap_or_default();
        let open = |(one_end, two_end): (usize, usize)| {
            (!one_all && one_end == one.len()) || (!two_all && two_end == two.len())
        };
        let mut meet = (last.0.end, last.1.end);
        let mut lost = false;
        if !all && open(meet) {
            // The last difference may be incomplete; the next window starts with it, unless this one did too.
            meet = (last.0.start, last.1.start);
            lost = spans.len() == 1;
            if !lost {
                spans.pop();
            }
        }
        for group in groups(&spans) {
            self.hunk(&one, &two, at, group, (old, new));
        }
        if lost {
            return None;
        }
        if all {
            meet = (one.len(), two.len());
        }
        let next = |mark: Mark, lines: &[&str], end: usize| Mark {
            byte: mark.byte + lines[..end].iter().map(|line| line.len()).sum::<usize>(),
            line: mark.line + end,
        };
        Some((next(at.0, &one, meet.0), next(at.1, &two, meet.1)))
    }

    /// One hunk of nearby differences.
    fn hunk(&mut self, one: &[&str], two: &[&str], at: (Mark, Mark), spans: &[Span], texts: (&str, &str)) {
        let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return };
        if self.lines >= LINES {
            self.cut += 1;
            return;
        }
        let ahead = AROUND.min(first.0.start).min(first.1.start);
        let (from, start) = (first.0.start - ahead, first.1.start - ahead);
        let inside = |text: &str, mark: Mark, lines: &[&str], to: usize| {
            let byte = mark.byte + lines[..to].iter().map(|line| line.len()).sum::<usize>();
            in_key(text, byte)
        };
        let mut inside = (inside(texts.0, at.0, one, from), inside(texts.1, at.1, two, start));
        let mut hunk =
            Hunk { old_start: at.0.line + from + 1, new_start: at.1.line + start + 1, lines: Vec::new() };
        let mut here = from;
        for span in spans {
            for text in &one[here..span.0.start] {
                let line = line(' ', text, &mut inside.0);
                inside.1 = inside.0;
                hunk.lines.push(line);
            }
            hunk.lines.extend(one[span.0.clone()].iter().map(|text| line('-', text, &mut inside.0)));
            hunk.lines.extend(two[span.1.clone()].iter().map(|text| line('+', text, &mut inside.1)));
            here = span.0.end;
        }
        let end = (last.0.end + AROUND).min(one.len());
        hunk.lines.extend(one[here..end].iter().map(|text| line(' ', text, &mut inside.0)));
        if hunk.lines.len() > LINES {
            shorten(&mut hunk.lines);
            self.add_note("long runs of lines are truncated");
        }
        self.lines += hunk.lines.len();
        self.hunks.push(hunk);
    }
}

/// Keeps the first lines of each sign.
fn shorten(lines: &mut Vec<HunkLine>) {
    let mut seen = [0; 3];
    lines.retain(|line| {
        let seen = &mut seen[match line.sign {
            '-' => 0,
            '+' => 1,
            _ => 2,
        }];
        *seen += 1;
        *seen <= LINES / 4
    });
}

fn differences(old: &[&str], new: &[&str]) -> Vec<Span> {
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let range = |range: std::ops::Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| (range(hunk.before), range(hunk.after))).collect()
}

/// Groups differences whose context overlaps.
fn groups(spans: &[Span]) -> impl Iterator<Item = &[Span]> {
    spans.chunk_by(|one, two| two.0.start - one.0.end <= 2 * AROUND)
}

/// Whether a position is inside a private key.
fn in_key(text: &str, byte: usize) -> bool {
    let mut start = byte.saturating_sub(KEY);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let head = &text[start..byte];
    head.rfind("-----BEGIN ").is_some_and(|begin| {
        !head[begin..].contains("-----END ")
            && head[begin..].lines().next().unwrap_or_default().contains("PRIVATE KEY")
    })
}

fn line(sign: char, text: &str, inside: &mut bool) -> HunkLine {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut shown = redact::line(text, inside);
    if shown.len() > LINE {
        let hash = blake3::hash(shown.as_bytes()).to_hex();
        let end = (0..=LINE / 2).rev().find(|end| shown.is_char_boundary(*end)).unwrap_or(0);
        shown.truncate(end);
        shown.push_str(&format!("… ({} bytes, BLAKE3 {})", text.len(), &hash[..16]));
    }
    HunkLine { sign, text: shown }
}
