//! Markup whose text is only text: every value passes [`escape`] on its way in, and there is no way around it.

use std::fmt::Write as _;

/// Elements without an end tag.
const VOID: [&str; 4] = ["br", "hr", "input", "wbr"];

/// A piece of a page. `From<&str>` escapes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

impl Markup {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, more: impl Into<Self>) {
        self.0.push_str(&more.into().0);
    }

    /// Pieces with a text between them.
    pub(crate) fn join(pieces: impl IntoIterator<Item = Self>, between: &str) -> Self {
        let mut joined = Self::default();
        for (at, piece) in pieces.into_iter().enumerate() {
            if at > 0 {
                joined.push(between);
            }
            joined.push(piece);
        }
        joined
    }
}

/// An element. Names come from our code; the values of attributes are escaped.
pub(crate) fn el(
    name: &'static str,
    attributes: &[(&'static str, &str)],
    inside: impl Into<Markup>,
) -> Markup {
    let mut text = format!("<{name}");
    for (attribute, value) in attributes {
        let _ = write!(text, " {attribute}=\"{}\"", attribute_value(value));
    }
    text.push('>');
    if !VOID.contains(&name) {
        let _ = write!(text, "{}</{name}>", inside.into().0);
    }
    Markup(text)
}

impl From<&str> for Markup {
    fn from(text: &str) -> Self {
        Self(escape(text))
    }
}

impl From<&String> for Markup {
    fn from(text: &String) -> Self {
        Self(escape(text))
    }
}

impl From<String> for Markup {
    fn from(text: String) -> Self {
        Self(escape(&text))
    }
}

impl From<Option<Markup>> for Markup {
    fn from(piece: Option<Self>) -> Self {
        piece.unwrap_or_default()
    }
}

impl From<Vec<Markup>> for Markup {
    fn from(pieces: Vec<Self>) -> Self {
        pieces.into_iter().collect()
    }
}

impl<const N: usize> From<[Markup; N]> for Markup {
    fn from(pieces: [Self; N]) -> Self {
        pieces.into_iter().collect()
    }
}

impl FromIterator<Markup> for Markup {
    fn from_iter<I: IntoIterator<Item = Self>>(pieces: I) -> Self {
        Self(pieces.into_iter().map(|piece| piece.0).collect())
    }
}

/// Text as content of an element: characters that hide, or that turn the order of others, are shown by their number.
pub(crate) fn escape(text: &str) -> String {
    escaped(text, |number| format!("<span class=\"hidden-character\">{number}</span>"))
}

fn attribute_value(text: &str) -> String {
    escaped(text, |number| number)
}

fn escaped(text: &str, hidden: impl Fn(String) -> String) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if is_hidden(c) => safe.push_str(&hidden(format!("U+{:04X}", u32::from(c)))),
            c => safe.push(c),
        }
    }
    safe
}

/// The same list as `HIDDEN` of `kit.js`.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{Markup, el};

    #[test]
    fn text_and_attributes_stay_text() {
        let evil = "\"><script>&\u{202e}";
        let made = el("a", &[("href", evil)], evil);
        assert_eq!(
            made.as_str(),
            "<a href=\"&quot;&gt;&lt;script&gt;&amp;U+202E\">&quot;&gt;&lt;script&gt;&amp;\
             <span class=\"hidden-character\">U+202E</span></a>"
        );
    }

    #[test]
    fn pieces_are_joined_and_nothing_is_empty() {
        let joined = Markup::join([Markup::from("a"), el("br", &[], "")], " & ");
        assert_eq!(joined.as_str(), "a &amp; <br>");
        assert!(Markup::from(None).is_empty());
    }
}
