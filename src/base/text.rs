//! Text in lines of a limited width, broken between words and never inside one.
//!
//! A colour sequence (`ESC [ … m`) takes no room. A word that is longer than a line has a line of its own.

use std::borrow::Cow;

/// The number of columns that a text takes, a column for each character.
pub(crate) fn width(text: &str) -> usize {
    columns(text).count()
}

/// Lines of at most `room` columns, at least one. A text that fits stays as it is, repeated blanks included.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    if width(text) <= room {
        return vec![text.to_owned()];
    }
    let indent = &text[..text.len() - text.trim_start().len()];
    fill(indent, text.trim_start(), "", room)
}

/// Every line of a text in at most `room` columns. What is carried over stands below the text of its line: behind the
/// label if the line begins with one (`  read by   the kubelet …`), else two columns further in than the line.
pub(crate) fn fold(text: &str, room: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| fold_line(line, room)).collect();
    lines.join("\n")
}

fn fold_line(line: &str, room: usize) -> String {
    if width(line) <= room {
        return line.to_owned();
    }
    let (start, hanging) = match label(line).filter(|label| *label <= room / 2) {
        Some(label) => (label, label),
        None => {
            let indent = columns(line).take_while(|(_, c)| *c == ' ').count();
            (indent, indent + 2)
        }
    };
    let start = columns(line).nth(start).map_or(line.len(), |(at, _)| at);
    let (head, rest) = line.split_at(start);
    fill(head, rest, &" ".repeat(hanging), room).join("\n")
}

/// The columns of a label with the blanks behind it: at least two.
fn label(line: &str) -> Option<usize> {
    let shown: String = columns(line).map(|(_, c)| c).collect();
    let word = shown.find(|c| c != ' ')?;
    let gap = word + shown[word..].find("  ")?;
    let text = gap + shown[gap..].find(|c| c != ' ')?;
    Some(shown[..text].chars().count())
}

/// Words in lines: the first begins with `head`, the others with `hanging`.
fn fill(head: &str, text: &str, hanging: &str, room: usize) -> Vec<String> {
    let (mut lines, mut line, mut is_empty) = (Vec::new(), head.to_owned(), true);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !is_empty && width(&line) + 1 + width(word) > room {
            lines.push(std::mem::replace(&mut line, hanging.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

/// The text on one line, for values inside a message: line breaks become `\\n` and `\\r`.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    match text.contains(['\n', '\r']) {
        true => text.replace('\n', "\\n").replace('\r', "\\r").into(),
        false => text.into(),
    }
}

/// A message whose lines after the first are indented by two blanks at least: text that somebody else chose cannot look
/// like a message of its own. Empty lines before it stay.
pub(crate) fn indented(message: &str) -> Cow<'_, str> {
    let body = message.trim_start_matches('\n');
    if !body.trim_end_matches('\n').contains('\n') {
        return message.into();
    }
    let mut text = message[..message.len() - body.len()].to_owned();
    for (at, line) in body.split('\n').enumerate() {
        if at > 0 {
            text.push('\n');
        }
        if at > 0 && !line.is_empty() && !line.starts_with("  ") {
            text.push_str("  ");
        }
        text.push_str(line);
    }
    text.into()
}

/// The characters that take a column, with where they are.
fn columns(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut in_sequence = false;
    text.char_indices().filter(move |(_, c)| {
        let is_shown = !in_sequence && *c != '\u{1b}';
        in_sequence = if in_sequence { *c != 'm' } else { *c == '\u{1b}' };
        is_shown
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{fold, indented, one_line, width, wrap};

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a-very-long-word b", 5), ["a-very-long-word", "b"]);
        assert_eq!(wrap("  one two", 6), ["  one", "two"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("a  b", 5), ["a  b"]);
    }

    #[test]
    fn text_stays_below_its_text() {
        assert_eq!(fold("  for   one two three", 16), "  for   one two\n        three");
        // A label that would take more than half of a line is a word like others.
        assert_eq!(fold("  for   one two three", 14), "  for one two\n    three");
        assert_eq!(
            fold("error: one two\n  hint: three four", 12),
            "error: one\n  two\n  hint:\n    three\n    four"
        );
        assert_eq!(fold("fits", 4), "fits");
        assert_eq!(fold("name  a-very-long-word", 12), "name  a-very-long-word");
    }

    #[test]
    fn foreign_lines_are_below_their_message() {
        assert_eq!(one_line("plain ü"), "plain ü");
        assert_eq!(one_line("a\nhint: b\r\n"), "a\\nhint: b\\r\\n");
        for (message, shown) in [
            ("error: a", "error: a"),
            ("\ntitle:\n", "\ntitle:\n"),
            ("error: `x\nhint: run y`", "error: `x\n  hint: run y`"),
            ("a:\n  b\n    c\n d\n\te\n", "a:\n  b\n    c\n   d\n  \te\n"),
            ("\n\na\n\nb", "\n\na\n\n  b"),
        ] {
            assert_eq!(indented(message), shown);
        }
    }

    #[test]
    fn colours_take_no_room() {
        let label = "  \u{1b}[36mfor   \u{1b}[0mone two three";
        assert_eq!(width(label), 21);
        assert_eq!(fold(label, 16), "  \u{1b}[36mfor   \u{1b}[0mone two\n        three");
    }

    proptest! {
        /// No word is broken, lost or moved, and a line that is too long holds one word.
        #[test]
        fn words_stay_whole(text in "( {0,4})[a-z]{1,8}( {1,3}[a-z]{1,30}){0,12}", room in 10usize..60) {
            let folded = fold(&text, room);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&text), words(&folded));
            for line in folded.lines().skip(1).filter(|line| width(line) > room) {
                prop_assert_eq!(words(line).len(), 1, "{:?}", folded);
            }
        }
    }
}
