//! Makes untrusted text safe for a terminal: removes control sequences, so that a log cannot move the cursor, retitle
//! the window or answer in the user's name.
//!
//! Written by hand: terminal parsers let an unterminated sequence swallow the lines after it.

/// The position in a control sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Position {
    #[default]
    Text,
    /// After ESC, or within a short sequence.
    Escape,
    /// Within a sequence with parameters.
    Parameters,
    /// Within a string for the terminal (OSC and the like): BEL or ESC \ ends it, and here also the line.
    Message,
}

/// Removes control sequences from text that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct ControlFilter {
    at: Position,
    /// An incomplete UTF-8 character.
    rest: Vec<u8>,
}

impl ControlFilter {
    /// The next piece of text without control sequences.
    pub(crate) fn push(&mut self, piece: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(piece);
        let mut out = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|c| self.character(c, &mut out));
            let invalid = chunk.invalid();
            let last = std::ptr::eq(invalid.as_ptr_range().end, bytes.as_ptr_range().end);
            let unfinished = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if last && unfinished {
                self.rest = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.character(char::REPLACEMENT_CHARACTER, &mut out);
            }
        }
        out
    }

    fn character(&mut self, c: char, out: &mut String) {
        self.at = match (self.at, c) {
            // A newline ends any open sequence, so that nothing hides the following lines.
            (_, '\n') => {
                out.push('\n');
                Position::Text
            }
            (_, '\x1b') => Position::Escape,
            (Position::Text, '\u{9b}') | (Position::Escape, '[') => Position::Parameters,
            (Position::Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}')
            | (Position::Escape, 'P' | 'X' | ']' | '^' | '_') => Position::Message,
            (Position::Escape, ' '..='/') => Position::Escape,
            (Position::Escape, _)
            | (Position::Message, '\x07' | '\u{9c}')
            | (Position::Parameters, '@'..='~') => Position::Text,
            (Position::Parameters | Position::Message, _) => self.at,
            (Position::Text, c) => {
                if c == '\t' || !controls_terminal(c) {
                    out.push(c);
                }
                Position::Text
            }
        };
    }
}

/// The text as one line of at most `most` characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let plain = ControlFilter::default().push(text.trim().as_bytes());
    let mut rest = plain.trim_end().chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c });
    let mut line: String = rest.by_ref().take(most).collect();
    if rest.next().is_some() {
        line.push('…');
    }
    line
}

/// Whether a character controls the terminal, is invisible, or changes the text direction.
pub(crate) fn controls_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left_wherever_pieces_end() {
        for (text, expected) in [
            ("\x1b[0;32m  OK  \x1b[0m done\r\n", "  OK   done\n"),
            ("\x1b]0;title\x07a\x1b]52;c;aGk=\x1b\\b\x1bPq#0\x1b\\c", "abc"),
            ("\x1bcreset\x1b(Bx\x1b7y\x08\x07z", "resetxyz"),
            ("\u{9b}2Ja\u{9d}t\u{9c}b\u{85}c", "abc"),
            ("\x1b]0;never ends\nnext\n", "\nnext\n"),
            ("tab\tgrüße 漢字 \u{202e}x\u{2066}y", "tab\tgrüße 漢字 xy"),
            ("\x1b[31", ""),
        ] {
            for size in 1..=text.len() {
                let mut filter = ControlFilter::default();
                let found: String = text.as_bytes().chunks(size).map(|piece| filter.push(piece)).collect();
                assert_eq!(found, expected, "{text:?} {size}");
            }
        }
        assert_eq!(ControlFilter::default().push(b"a\xffb\xc3("), "a\u{fffd}b\u{fffd}(");
    }

    #[test]
    fn a_line_is_one_and_bounded() {
        assert_eq!(one_line(" a\nb\x1b[31m \n", 400), "a b");
        assert_eq!(one_line("täglich", 3), "täg…");
        assert_eq!(one_line("abc", 3), "abc");
    }
}
