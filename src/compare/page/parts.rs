//! The parts that pages are built from. Each has its look in `kit.css`.

use super::markup::{Markup, el};

/// How a tag looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Notable,
    Breaking,
}

impl Tone {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Good => "good",
            Self::Notable => "notable",
            Self::Breaking => "breaking",
        }
    }
}

pub(crate) fn code(text: &str) -> Markup {
    el("code", &[], text)
}

/// A sentence with `code` in backticks.
pub(crate) fn prose(text: &str) -> Markup {
    let pieces = text.split('`').enumerate();
    pieces.map(|(at, piece)| if at % 2 == 1 { code(piece) } else { Markup::from(piece) }).collect()
}

/// A word in a small frame.
pub(crate) fn tag(text: &str, tone: Tone) -> Markup {
    el("span", &[("class", format!("tag {}", tone.class()).trim_end())], text)
}

/// Smaller and fainter.
pub(crate) fn note(text: impl Into<Markup>) -> Markup {
    el("span", &[("class", "note")], text)
}

/// A link within the page. Folds open on the way to their content.
pub(crate) fn link(id: &str, inside: impl Into<Markup>) -> Markup {
    el("a", &[("href", &format!("#{id}"))], inside)
}

/// A listing of a file: lines as they are, scrolled sideways within their frame.
#[allow(dead_code, reason = "for pages that show files; the guide is being built on it")]
pub(crate) fn listing(text: &str) -> Markup {
    el("pre", &[("class", "listing"), ("tabindex", "0")], el("code", &[], text))
}

/// A point in time, given as RFC 3339, to the minute.
pub(crate) fn time(at: &str) -> Markup {
    el("time", &[("datetime", at)], to_the_minute(at))
}

/// The same, for something that ends then: with scripts, the page also says how far away it is when it is read.
pub(crate) fn deadline(at: &str) -> Markup {
    el("time", &[("datetime", at), ("data-deadline", "")], to_the_minute(at))
}

fn to_the_minute(at: &str) -> String {
    at.get(..16).map_or_else(|| at.to_owned(), |minute| format!("{} UTC", minute.replace('T', " ")))
}

/// A titled part of the page, with a sentence below its title if there is one.
pub(crate) fn section(id: &str, title: &str, lead: impl Into<Markup>, inside: impl Into<Markup>) -> Markup {
    let (title_id, lead) = (format!("{id}-title"), lead.into());
    let lead = (!lead.is_empty()).then(|| el("p", &[("class", "lead")], lead));
    let inside = [el("h2", &[("id", &title_id)], title), lead.into(), inside.into()];
    el("section", &[("id", id), ("aria-labelledby", &title_id)], inside)
}

/// A part that opens. With an id it can be linked to.
pub(crate) fn fold(
    id: Option<&str>,
    is_open: bool,
    summary: impl Into<Markup>,
    inside: impl Into<Markup>,
) -> Markup {
    let mut attributes = vec![("class", "fold")];
    attributes.extend(id.map(|id| ("id", id)));
    attributes.extend(is_open.then_some(("open", "")));
    let body = el("div", &[("class", "fold-body")], inside);
    el("details", &attributes, [el("summary", &[], summary), body])
}

/// A table. On a narrow screen its cells stand below one another, each with its head before it.
pub(crate) fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    let head: Markup = heads.iter().map(|head| el("th", &[("scope", "col")], *head)).collect();
    let row = |cells: Vec<Markup>| {
        let cell = |(at, cell): (usize, Markup)| match heads.get(at) {
            Some(head) if at > 0 && !head.is_empty() && !cell.is_empty() => {
                el("td", &[("data-head", head)], cell)
            }
            _ => el("td", &[], cell),
        };
        el("tr", &[], cells.into_iter().enumerate().map(cell).collect::<Markup>())
    };
    let rows: Markup = rows.into_iter().map(row).collect();
    let inside = [el("thead", &[], el("tr", &[], head)), el("tbody", &[], rows)];
    el("div", &[("class", "table")], el("table", &[], inside))
}

/// Terms and what is said about them; those without an answer are left out.
pub(crate) fn facts<'f>(rows: impl IntoIterator<Item = (&'f str, Markup)>) -> Markup {
    let known = rows.into_iter().filter(|(_, what)| !what.is_empty());
    let rows = known.flat_map(|(term, what)| [el("dt", &[], term), el("dd", &[], what)]);
    el("dl", &[("class", "about")], rows.collect::<Markup>())
}

/// A search box over what is inside of it: elements of class `item` stay if they contain every word of the query, and
/// those of class `group` if an item of theirs does. Without scripts there is no box.
pub(crate) fn finder(id: &str, label: &str, inside: impl Into<Markup>) -> Markup {
    let attributes = [
        ("type", "search"),
        ("id", &format!("{id}-search")),
        ("aria-label", label),
        ("placeholder", label),
        ("autocomplete", "off"),
        ("spellcheck", "false"),
    ];
    let found = el("span", &[("class", "found"), ("role", "status")], "");
    let buttons = [("open", "Open all"), ("close", "Close all")]
        .map(|(act, text)| el("button", &[("type", "button"), ("data-folds", act)], text));
    let bar = [el("input", &attributes, ""), found, buttons.into()];
    let bar = el("div", &[("class", "finder-bar"), ("role", "search"), ("hidden", "")], bar);
    let nothing = "Nothing contains all of these words.";
    let nothing = el("p", &[("class", "lead nothing"), ("hidden", "")], nothing);
    el("div", &[("class", "finder"), ("id", id)], [bar, nothing, inside.into()])
}

/// The list of sections beside the body.
pub(super) fn contents(sections: &[(&str, &str)]) -> Markup {
    if sections.is_empty() {
        return Markup::default();
    }
    let items: Markup = sections.iter().map(|(id, title)| el("li", &[], link(id, *title))).collect();
    el("nav", &[("class", "contents"), ("aria-label", "Contents")], el("ul", &[], items))
}

#[cfg(test)]
mod tests {
    use super::{Markup, Tone, code, facts, fold, prose, table, tag, time};

    #[test]
    fn backticks_become_code_and_markup_stays_text() {
        assert_eq!(prose("a `b<c>` d").as_str(), "a <code>b&lt;c&gt;</code> d");
    }

    #[test]
    fn cells_know_their_head() {
        let made = table(&["Name", "Size", ""], [vec![code("a"), "1".into(), "x".into()]]);
        assert!(
            made.as_str().contains("<td><code>a</code></td><td data-head=\"Size\">1</td><td>x</td>"),
            "{made:?}"
        );
    }

    #[test]
    fn a_time_is_read_to_the_minute() {
        assert_eq!(
            time("2026-12-02T05:26:44Z").as_str(),
            "<time datetime=\"2026-12-02T05:26:44Z\">2026-12-02 05:26 UTC</time>"
        );
        assert_eq!(time("soon").as_str(), "<time datetime=\"soon\">soon</time>");
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let made = facts([("a", "1".into()), ("b", Markup::default())]);
        assert_eq!(made.as_str(), "<dl class=\"about\"><dt>a</dt><dd>1</dd></dl>");
        assert_eq!(tag("new", Tone::Plain).as_str(), "<span class=\"tag\">new</span>");
    }

    #[test]
    fn a_fold_may_be_open() {
        let made = fold(Some("x"), true, "more", "inside");
        assert!(
            made.as_str().starts_with("<details class=\"fold\" id=\"x\" open=\"\"><summary>more</summary>")
        );
    }
}
