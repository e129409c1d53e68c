//! The page kit: everything that a page of ours is made of, so that `diff`, `report` and `guide` look and behave alike.
//!
//! | file | responsibility |
//! |---|---|
//! | `markup` | [`Markup`]: elements and escaped text; nothing that an artifact contains becomes markup |
//! | `parts` | sections, folds, tables, facts, tags, times, listings, a search box |
//! | `page.html` | the frame: header, contents, body, footer, dialog of keys |
//! | `kit.css` | colours for light and dark, type, parts; narrow screens and paper |
//! | `kit.js` | theme, keys, folds, search; `<time>` says how far away it is |
//!
//! A page is one file that asks nothing of any network. It is complete without scripts: they search, fold and tell
//! how long something still lasts. The content security policy allows our own script and style by their hash, so there
//! are no `style` attributes and no inline handlers. Equal input gives equal bytes: nothing here knows today's date.

mod markup;
mod parts;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

pub(crate) use markup::{Markup, el, escape};
#[allow(unused_imports, reason = "for pages that show files; the guide is being built on it")]
pub(crate) use parts::{
    Tone, code, deadline, facts, finder, fold, link, listing, note, prose, section, table, tag, time,
};

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("kit.css");
const SCRIPT: &str = include_str!("kit.js");

/// What one page adds to the kit.
pub(crate) struct Page<'p> {
    /// One word, printed next to the program's name.
    pub(crate) kind: &'p str,
    pub(crate) title: &'p str,
    /// Its own style, after the kit's.
    pub(crate) style: &'p str,
    /// Its own script, after the kit's. `data` is the document there.
    pub(crate) script: &'p str,
    /// The ids and titles of its sections, listed beside the body; none for a page without such a list.
    pub(crate) contents: &'p [(&'p str, &'p str)],
    pub(crate) body: Markup,
}

impl Page<'_> {
    /// The page as one file, with a document for its script.
    pub(crate) fn render(&self, document: &impl Serialize) -> String {
        let document = serde_json::to_string(document).map(|json| inert(&json)).unwrap_or_default();
        let (style, script) = ([STYLE, self.style].concat(), [SCRIPT, self.script, "start();\n"].concat());
        let (style_hash, script_hash) = (hash(&style), hash(&script));
        let (title, contents) = (escape(self.title), parts::contents(self.contents));
        fill(|name| match name {
            "style_hash" => &style_hash,
            "script_hash" => &script_hash,
            "version" => env!("CARGO_PKG_VERSION"),
            "title" => &title,
            "kind" => self.kind,
            "style" => &style,
            "script" => &script,
            "contents" => contents.as_str(),
            "body" => self.body.as_str(),
            "data" => &document,
            _ => "",
        })
    }
}

/// Fills the frame in one pass, so that inserted text is not expanded again.
fn fill<'v>(value: impl Fn(&str) -> &'v str) -> String {
    let (mut filled, mut rest) = (String::new(), FRAME);
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        filled.push_str(before);
        filled.push_str(value(name));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// The source expression that makes a content security policy allow exactly this text.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Equivalent JSON that no HTML or script parser can misread.
fn inert(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::{Markup, Page, hash, inert};

    #[test]
    fn data_cannot_end_its_element_and_says_the_same() {
        let text = "</script><script>alert(1)</script><!-- & \u{2028}\u{2029} \u{1f525}";
        let json = serde_json::to_string(&text).expect("JSON");
        let safe = inert(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).expect("JSON"), text);
    }

    #[test]
    fn a_policy_names_text_by_its_hash() {
        assert_eq!(hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }

    #[test]
    fn inserted_text_is_not_expanded_again() {
        let body = Markup::from("{{data}} <b>");
        let page = Page { kind: "test", title: "{{body}}", style: "", script: "", contents: &[], body };
        let text = page.render(&"the data");
        assert!(text.contains("<title>{{body}}</title>"), "{text}");
        assert!(text.contains("{{data}} &lt;b&gt;"), "{text}");
        assert_eq!(text.matches("the data").count(), 1);
    }
}
