//! Patterns: Go's RE2 syntax on the `regex` crate. Compiled on first use, since few are ever used.
//!
//! Both are RE2 dialects with differences: Go's `\d`, `\w`, `\s` and `\b` are ASCII only, and a bracket inside a class
//! is literal, where ours would open a nested class or a set operation.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: OnceLock::new() }
    }

    /// Whether the pattern matches anywhere in a text; none if it cannot be compiled here.
    pub(super) fn matches(&self, text: &str) -> Option<bool> {
        let compile = || RegexBuilder::new(&translate(&self.text)).size_limit(64 << 20).build().ok();
        self.compiled.get_or_init(compile).as_ref().map(|regex| regex.is_match(text))
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// The same pattern in our dialect.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '[' => class(&mut chars, &mut out),
            '\\' => match chars.next() {
                Some(letter @ ('b' | 'B')) => out.push_str(&format!(r"(?-u:\{letter})")),
                Some(letter) => match ascii(letter) {
                    Some(set) => out.push_str(&format!("[{set}]")),
                    None => escaped(letter, &mut out),
                },
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    out
}

/// The rest of a class after its opening bracket: single characters, ranges, and named sets.
fn class(chars: &mut Chars<'_>, out: &mut String) {
    out.push('[');
    if chars.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut first = true;
    // A closing bracket in first position is literal.
    while let Some(c) = chars.next_if(|c| first || *c != ']') {
        first = false;
        if c == '[' && chars.peek() == Some(&':') {
            out.push('[');
            for c in chars.by_ref() {
                out.push(c);
                if c == ']' {
                    break;
                }
            }
            continue;
        }
        if !member(c, chars, out) {
            continue;
        }
        let mut ahead = chars.clone();
        if ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']') {
            chars.next();
            out.push('-');
            if let Some(end) = chars.next() {
                member(end, chars, out);
            }
        }
    }
    out.extend(chars.next());
}

/// One member of a class; returns whether it is a single character, which may start a range.
fn member(c: char, chars: &mut Chars<'_>, out: &mut String) -> bool {
    match (c, c == '\\') {
        (_, true) => match chars.next() {
            Some(letter) => match ascii(letter) {
                Some(set) if letter.is_ascii_uppercase() => out.push_str(&format!("[{set}]")),
                Some(set) => out.push_str(set),
                // `\p{L}` continues, and is not a character.
                None => {
                    escaped(letter, out);
                    return !matches!(letter, 'p' | 'P') || chars.peek() != Some(&'{');
                }
            },
            None => out.push('\\'),
        },
        ('[' | ']' | '^' | '-' | '&' | '~', false) => {
            out.extend(['\\', c]);
            return true;
        }
        (other, false) => {
            out.push(other);
            return true;
        }
    }
    false
}

/// Go allows escaping any punctuation; ours rejects `\_`.
fn escaped(letter: char, out: &mut String) {
    match letter {
        '_' => out.push('_'),
        other => out.extend(['\\', other]),
    }
}

/// The ASCII classes of digits, words and space.
fn ascii(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "0-9",
        'D' => "^0-9",
        'w' => "0-9A-Za-z_",
        'W' => "^0-9A-Za-z_",
        's' => r"\t\n\f\r ",
        'S' => r"^\t\n\f\r ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        for (pattern, yes, no) in [
            ("^https://", "https://x", "http://x"),
            ("a+", "xxaxx", "xxx"),
            (r"^\d+$", "12", "١٢"),
            (r"^\w+$", "aé_".get(..1).unwrap(), "é"),
            (r"^[\w.\-\(\)]*[\w\-\(\)]$", "a.b(c)", "a.b."),
            (r"^[^\s]+$", "ab", "a b"),
            ("^[[]$", "[", "]"),
            ("^[]a]+$", "]a", "["),
            ("^[^]a]$", "b", "]"),
            ("^[[:alpha:]-]+$", "a-b", "1"),
            ("^[a&&b]+$", "a&b", "c"),
            ("^[+--z]+$", "+,-z", "a"),
            ("^[--a]+$", "-A", "b"),
            (r"^[\d-z]+$", "1-z", "a"),
            (r"^[\p{L}-]+$", "é-", "1"),
            (r"^[^\D]+$", "12", "a"),
            (r"^[\]a]+$", "]a", "b"),
            ("^[0-9A-Za-z_.=+-@]+$", "a@b", "a b"),
            (r"^[a-zA-Z0-9\_-]+$", "a_b-", "a b"),
            ("^[a-z-_ ]+$", "a-_ b", "A"),
            (r"^\p{L}+$", "é", "1"),
            (r"^.*\.example$", "x.example", "x.example\n"),
            (r"^[^: ]*$", "ab", "a:b"),
            (r"^[^[:punct:]\s]$", "a", "!"),
        ] {
            let pattern = Pattern::new(pattern);
            assert_eq!(pattern.matches(yes), Some(true), "{} on {yes:?}", pattern.text);
            assert_eq!(pattern.matches(no), Some(false), "{} on {no:?}", pattern.text);
        }
        assert_eq!(Pattern::new("(?=x)").matches("x"), None);
        assert_eq!(Pattern::new("(").matches("x"), None);
    }
}
