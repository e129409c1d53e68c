//! Renders a document as a page: one self-contained file, with the document embedded as JSON.
//!
//! Artifact content stays data: the JSON cannot end its element, the page creates text nodes from it and parses none of
//! it, and the content security policy only allows our script and our style.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::rows::{Detail, Mark, Row, rows};
use crate::compare::diff::Diff;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// The common part of every page.
const SHELL: &str = concat!(
    include_str!("page/page.js"),
    include_str!("page/tree.js"),
    include_str!("page/filters.js"),
    include_str!("page/values.js")
);
const DIFF: &str = concat!(
    include_str!("page/diff.js"),
    include_str!("page/summary.js"),
    include_str!("page/details.js"),
    "shell();\nstartDiff();\n"
);

const REPORT: &str = concat!(include_str!("page/report.js"), "shell();\nstartReport();\n");

/// A comparison as a page.
pub(crate) fn html(diff: &Diff) -> String {
    let title = format!("{} → {}", diff.old, diff.new);
    let script = [SHELL, DIFF].concat();
    page(
        &Page { kind: "diff", title: &title, script: &script, fallback: &plain(&rows(diff, Detail::Folded)) },
        diff,
    )
}

/// A build as a page: its document, and its rows for readers without scripts.
pub(crate) fn build(title: &str, document: &impl Serialize, fallback: &[Row]) -> String {
    let script = [SHELL, REPORT].concat();
    page(&Page { kind: "report", title, script: &script, fallback: &plain(fallback) }, document)
}

/// The variable part of a page.
struct Page<'p> {
    /// In one word.
    kind: &'p str,
    title: &'p str,
    script: &'p str,
    /// Markup for readers without scripts.
    fallback: &'p str,
}

/// Fills the page in one pass, so that inserted text is not expanded again.
fn page(page: &Page<'_>, document: &impl Serialize) -> String {
    let document = serde_json::to_string(document).map(|json| inert(&json)).unwrap_or_default();
    let (style_hash, script_hash, title) = (hash(STYLE), hash(page.script), escape(page.title));
    let value = |name: &str| match name {
        "style_hash" => style_hash.as_str(),
        "script_hash" => script_hash.as_str(),
        "version" => env!("CARGO_PKG_VERSION"),
        "title" => title.as_str(),
        "page" => page.kind,
        "style" => STYLE,
        "script" => page.script,
        "fallback" => page.fallback,
        "data" => document.as_str(),
        _ => "",
    };
    let mut filled = String::with_capacity(PAGE.len() + STYLE.len() + page.script.len() + document.len());
    let mut rest = PAGE;
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

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Rows for readers without scripts: the page first, then foldable details, artifact by artifact.
fn plain(rows: &[Row]) -> String {
    let mut parts = rows.split(|row| row.text.is_empty());
    let text = |rows: &[Row]| -> String {
        let line = |row: &Row| match row.mark {
            Mark::Title => format!("<b>{}</b>\n", escape(&row.text)),
            _ => format!("{}\n", escape(&row.text)),
        };
        rows.iter().map(line).collect()
    };
    let mut page =
        format!("<section><pre class=\"plain\">{}</pre></section>", text(parts.next().unwrap_or(&[])));
    for part in parts {
        if let [name, inside @ ..] = part {
            page.push_str(&format!(
                "<details><summary>{}</summary><pre class=\"plain\">{}</pre></details>",
                escape(&name.text),
                text(inside)
            ));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{escape, hash, inert};

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
        assert_eq!(escape("<a b=\"&\">"), "&lt;a b=&quot;&amp;&quot;&gt;");
    }
}
