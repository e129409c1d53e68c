//! Writes YAML in the style of the Go library that the real programs use.
//!
//! The style matters: the name of a rendered config is a hash of this text. Keys are sorted, lists are not indented
//! below their key, multi-line texts are literal blocks, and quotes appear only where the text would be misread. Long
//! lines are not folded. [`crate::base::yaml`] has a style of its own, which is part of ids.

use serde_json::Value;

use crate::base::json::sorted;
use crate::base::yaml::{YamlData, YamlNode};
use crate::openshift::schema;

/// One YAML document, with a newline at its end.
pub(super) fn write(value: &Value) -> String {
    let mut text = String::new();
    block(&sorted(value), 0, &mut text);
    text
}

/// Writes a value from the start of a line at this indentation, to the end of its last line.
fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push_str(&pad);
                }
                out.push_str(&plain_or_quoted(key));
                out.push(':');
                match value {
                    Value::Object(inner) if !inner.is_empty() => {
                        out.push_str(&format!("\n{pad}  "));
                        block(value, indent + 2, out);
                    }
                    Value::Array(inner) if !inner.is_empty() => {
                        out.push_str(&format!("\n{pad}"));
                        block(value, indent, out);
                    }
                    _ => {
                        out.push(' ');
                        scalar(value, indent, out);
                    }
                }
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (at, value) in list.iter().enumerate() {
                if at > 0 {
                    out.push_str(&pad);
                }
                out.push_str("- ");
                block(value, indent + 2, out);
            }
        }
        _ => scalar(value, indent.saturating_sub(2), out),
    }
}

/// Writes a scalar or an empty collection, and ends the line. `indent` is that of the current line.
fn scalar(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) if text.contains('\n') && as_literal(text) => literal(text, indent, out),
        Value::String(text) => out.push_str(&plain_or_quoted(text)),
        Value::Object(_) => out.push_str("{}"),
        other => out.push_str(&other.to_string()),
    }
    out.push('\n');
}

fn as_literal(text: &str) -> bool {
    let printable = |c: char| c == '\n' || !c.is_control();
    text.chars().all(printable) && !text.contains(" \n") && !text.ends_with(' ')
}

fn literal(text: &str, indent: usize, out: &mut String) {
    out.push('|');
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    if text.ends_with("\n\n") || text == "\n" {
        out.push('+');
    } else if !text.ends_with('\n') {
        out.push('-');
    }
    let pad = " ".repeat(indent + 2);
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.push_str(&pad);
            out.push_str(line);
        }
    }
}

/// Whether the unquoted text would be parsed as text.
fn is_text(text: &str) -> bool {
    let data = YamlData::Scalar { text: text.to_owned(), plain: true };
    schema::json(&YamlNode { line: 1, span: 0..0, data }).is_string()
}

fn plain_or_quoted(text: &str) -> String {
    if text.chars().any(char::is_control) || !is_text(text) {
        return Value::from(text).to_string();
    }
    let indicator = text.starts_with(|c: char| "-?:,[]{}#&*!|>'\"%@`".contains(c))
        && !(text.starts_with(['-', '?', ':']) && text.chars().nth(1).is_some_and(|next| next != ' '));
    let document = text.starts_with("---") || text.starts_with("...");
    let inside = text.contains(": ") || text.contains(" #") || text.ends_with(':');
    if indicator || document || inside || text != text.trim_matches(' ') {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::manifests::documents;
    use super::*;

    fn round_trip(value: &Value) {
        let text = write(value);
        assert_eq!(documents("a test", &text).unwrap(), std::slice::from_ref(value), "{text}");
    }

    #[test]
    fn the_form_is_pinned() {
        let value = json!({
            "b": [{"x": 420, "y": "420"}],
            "a": {"unit": "[Unit]\nA=1\n", "none": []},
            "c": "a: b",
            "d": "true",
        });
        let form = "a:\n  none: []\n  unit: |\n    [Unit]\n    A=1\nb:\n- x: 420\n  \"y\": \"420\"\nc: 'a: b'\nd: \"true\"\n";
        assert_eq!(write(&value), form);
        round_trip(&value);
    }

    #[test]
    fn awkward_text_round_trips() {
        for text in [
            "",
            " ",
            "~",
            "null",
            "-",
            "- a",
            "-a",
            "#",
            "a #b",
            "a:",
            ":a",
            "'",
            "\"",
            "\\",
            "\t",
            "a\tb\n",
            "\n",
            "\n\n",
            "a\n\n",
            "a\nb",
            " a\n b\n",
            "a \nb",
            "é\n",
            "0644",
            "1.5",
            "1e3",
            "0x1f",
            ".inf",
            "yes",
            "---",
            "%a",
            "@a",
            "{a}",
            "[a]",
            "a\r\n",
            "\u{7f}",
            "{{.X}}",
            "data:,a%20b",
            "|",
            "> x",
            "!x",
            "&x",
            "*x",
            "? x",
            "2001-01-01",
            "1:20",
        ] {
            round_trip(&json!({"k": text}));
            round_trip(&json!([text, [text]]));
            round_trip(&json!({text: {"k": [text]}}));
        }
    }

    #[test]
    fn empty_things_round_trip() {
        round_trip(&json!({"m": {}, "n": null}));
        round_trip(&json!([{}, [], false]));
    }
}
