//! Masks secrets in a stream, in pieces of bounded size: known ones in every encoding, others by their format.
//!
//! Invariant: every byte was inspected together with as much context on both sides as the longest secret is long.

use std::io::{self, Write};
use std::ops::Range;

use zeroize::Zeroizing;

use super::{Matcher, SHORTEST, forms, shapes};
use crate::base::secret::{MASK, Secret};

/// How much is inspected at once.
const PIECE: usize = 1 << 20;
/// How much is held back until more arrives: a private key including log prefixes.
const HOLD: usize = 64 << 10;

/// Masks known secrets, each with a public name, and whatever looks like a secret.
pub(crate) struct Redactor {
    matcher: Matcher,
    /// The index of each pattern's secret.
    owners: Vec<usize>,
    names: Vec<String>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.names.len()).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Takes the patterns of each secret; see [`super::patterns()`]. A secret without a name is shown as [`MASK`].
    pub(crate) fn new(mut secrets: Vec<(String, Vec<Secret>)>) -> Self {
        // A pattern that several secrets share gets the simplest name.
        secrets.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
        let (mut all, mut names) = (Vec::new(), Vec::new());
        for (name, patterns) in secrets {
            for pattern in patterns.iter().filter(|pattern| pattern.reveal().len() >= SHORTEST) {
                all.extend(forms(pattern.reveal()).into_iter().map(|(_, form)| (form, names.len())));
            }
            names.push(name);
        }
        all.sort_by(|one, other| one.0.reveal().cmp(other.0.reveal()).then(one.1.cmp(&other.1)));
        all.dedup_by(|one, other| one.0 == other.0);
        let (patterns, owners) = all.into_iter().unzip();
        Self { matcher: Matcher::new(patterns), owners, names }
    }

    /// The text with secrets masked.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut writer = self.writer(Vec::new());
        // Writing to memory cannot fail.
        let masked = writer.write_all(text.as_bytes()).and_then(|()| writer.finish()).unwrap_or_default();
        String::from_utf8_lossy(&masked).into_owned()
    }

    /// Whether a text contains a known secret, in any encoding.
    pub(crate) fn knows(&self, text: &str) -> bool {
        let mut found = false;
        self.matcher.find(text.as_bytes(), |_, _| found = true);
        found
    }

    /// A writer that masks secrets; call `finish` to flush it.
    pub(crate) fn writer<W: Write>(&self, to: W) -> RedactingWriter<'_, W> {
        RedactingWriter { redactor: self, to, held: Zeroizing::new(Vec::new()) }
    }

    /// The ranges to mask, sorted and disjoint.
    fn find(&self, bytes: &[u8]) -> Vec<(Range<usize>, &str)> {
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        self.matcher.find(bytes, |at, number| {
            let range = at..at + self.matcher.length(number);
            // A long word may contain many patterns; it is masked once.
            if found.last().is_none_or(|(last, _)| range.start < last.start || range.end > last.end) {
                found.push((whole_word(bytes, range), &self.names[self.owners[number]]));
            }
        });
        found.extend(shapes::find(bytes));
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut apart: Vec<(Range<usize>, &str)> = Vec::new();
        for (range, name) in found {
            match apart.last_mut() {
                Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
                _ => apart.push((range, name)),
            }
        }
        apart
    }
}

/// Extends a match to the whole base64 word around it: its edges belong to the secret too.
fn whole_word(bytes: &[u8], found: Range<usize>) -> Range<usize> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte);
    let before = bytes[..found.start].iter().rev().take_while(|byte| is_word(byte)).count();
    let after = bytes[found.end..].iter().take_while(|byte| is_word(byte)).count();
    found.start - before..found.end + after
}

pub(crate) struct RedactingWriter<'a, W: Write> {
    redactor: &'a Redactor,
    to: W,
    held: Zeroizing<Vec<u8>>,
}

impl<W: Write> RedactingWriter<'_, W> {
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.pass(true)?;
        Ok(self.to)
    }

    fn pass(&mut self, last: bool) -> io::Result<()> {
        let found = self.redactor.find(&self.held);
        let mut cut = match last {
            true => self.held.len(),
            false => {
                let enough = self.held.len().saturating_sub(HOLD);
                memchr::memrchr(b'\n', &self.held[..enough]).map_or(enough, |at| at + 1)
            }
        };
        // A match across the cut waits for its end, unless it fills the whole piece.
        if let Some((range, _)) = found.iter().find(|(range, _)| range.start < cut && cut < range.end) {
            cut = if range.start > 0 { range.start } else { range.end };
        }
        let mut from = 0;
        for (range, name) in found.into_iter().take_while(|(range, _)| range.end <= cut) {
            self.to.write_all(&self.held[from..range.start])?;
            match name {
                "" => self.to.write_all(MASK.as_bytes())?,
                name => write!(self.to, "[masked: {name}]")?,
            }
            from = range.end;
        }
        self.to.write_all(&self.held[from..cut])?;
        self.held.drain(..cut);
        Ok(())
    }
}

impl<W: Write> Write for RedactingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE);
        self.held.extend_from_slice(&bytes[..taken]);
        if self.held.len() >= PIECE + HOLD {
            self.pass(false)?;
        }
        Ok(taken)
    }

    /// Keeps the held-back bytes: only the end of the stream completes a match.
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "T0pSecr3tPassw0rdOfM1ne";

    fn redactor() -> Redactor {
        Redactor::new(vec![("key/mine".into(), vec![Secret::from(SECRET.to_owned())])])
    }

    #[test]
    fn known_secrets_and_shapes_are_masked_and_the_rest_stays() {
        let text = format!(
            "a {SECRET}\nb 5430705365637233745061737377307264\nAuthorization: Bearer x1y2z3a4\nrest\n"
        );
        assert_eq!(
            redactor().text(&text),
            "a [masked: key/mine]\nb 5430705365637233745061737377307264\nAuthorization: [masked: authorization]\nrest\n"
        );
        let hex = data_encoding::HEXLOWER.encode(SECRET.as_bytes());
        assert_eq!(redactor().text(&hex), "[masked: key/mine]");
    }

    #[test]
    fn a_secret_is_masked_in_every_form_and_the_rest_stays() {
        let patterns = super::super::patterns_and_whole(
            "pullSecret",
            br#"{"auths":{"example.com":{"auth":"dXNlcjpUMHBTZWNyM3RQdw=="}}}"#,
        );
        let said = "E1116 auth dXNlcjpUMHBTZWNyM3RQdw== of example.com is user:T0pSecr3tPw; ZFhObGNqcFVNSEJUWldOeU0zUlFkdz09";
        let masked = Redactor::new(vec![(String::new(), patterns)]).text(said);
        assert_eq!(masked, "E1116 auth (secret) of example.com is user:(secret); (secret)");
    }

    #[test]
    fn a_key_over_the_end_of_a_piece_is_masked() {
        for before in [PIECE - HOLD - 100, PIECE - 1000, PIECE, PIECE + HOLD - 40] {
            let line = "0123456789 abcdef\n";
            let filler = line.repeat(before / line.len());
            let key: String = (0..40).map(|at| format!("Nov 16 node sh[1]: MIIE{at:060}\n")).collect();
            let text = format!(
                "{filler}-----BEGIN RSA PRIVATE KEY-----\n{key}-----END RSA PRIVATE KEY-----\n{filler}"
            );
            let expected = format!("{filler}[masked: private key]\n{filler}");
            assert!(redactor().text(&text) == expected, "{before}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_bounded_and_masked() {
        let text = format!("{}{SECRET} {}", "x ".repeat(PIECE), "y ".repeat(PIECE));
        let masked = redactor().text(&text);
        assert!(!masked.contains(SECRET) && masked.contains("x [masked: key/mine] y"));
        assert!(redactor().text(&"A".repeat(3 * PIECE)).len() == 3 * PIECE);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3))]
        /// The output does not depend on where pieces end.
        #[test]
        fn pieces_do_not_matter(before in 0..PIECE, piece in 100..2 * PIECE) {
            let text = format!("{}{SECRET}{}", ".".repeat(before), ".".repeat(PIECE));
            let redactor = redactor();
            let mut writer = redactor.writer(Vec::new());
            text.as_bytes().chunks(piece).for_each(|piece| writer.write_all(piece).unwrap());
            let masked = writer.finish().unwrap();
            let expected = format!("{}[masked: key/mine]{}", ".".repeat(before), ".".repeat(PIECE));
            prop_assert!(masked == expected.into_bytes());
        }
    }
}
