//! Writes YAML in the form of the Go library that the real programs use, and compact JSON.
//!
//! The form matters: the name of a rendered config is a hash of this text. Keys sorted, lists not indented below their
//! key, text of several lines as a literal block, quotes only where the text would mean something else. Long lines are
//! not folded.

use super::read::resolve;
use super::value::Value;

/// One YAML document, with a newline at its end.
pub(super) fn yaml(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

/// One line of JSON.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.clone(),
        Value::Text(text) => quoted(text),
        Value::List(list) => format!("[{}]", list.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::Map(map) => {
            let entries: Vec<_> =
                map.iter().map(|(key, value)| format!("{}:{}", quoted(key), json(value))).collect();
            format!("{{{}}}", entries.join(","))
        }
    }
}

/// Writes a value from the start of a line at this indentation, to the end of its last line.
fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Map(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push_str(&pad);
                }
                out.push_str(&plain_or_quoted(key));
                out.push(':');
                match value {
                    Value::Map(inner) if !inner.is_empty() => {
                        out.push_str(&format!("\n{pad}  "));
                        block(value, indent + 2, out);
                    }
                    Value::List(inner) if !inner.is_empty() => {
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
        Value::List(list) if !list.is_empty() => {
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

/// Writes a scalar or something empty, and ends the line. `indent` is that of the line it stands on.
fn scalar(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Text(text) if text.contains('\n') && as_literal(text) => literal(text, indent, out),
        Value::Text(text) => out.push_str(&plain_or_quoted(text)),
        Value::Map(_) => out.push_str("{}"),
        other => out.push_str(&json(other)),
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

fn plain_or_quoted(text: &str) -> String {
    if text.chars().any(char::is_control) || resolve(text) != Value::Text(text.to_owned()) {
        return quoted(text);
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

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::super::read::documents;
    use super::*;

    fn round_trip(value: &Value) {
        let text = yaml(value);
        assert_eq!(documents(&text).unwrap(), std::slice::from_ref(value), "{text}");
        assert_eq!(documents(&json(value)).unwrap(), std::slice::from_ref(value), "{}", json(value));
    }

    #[test]
    fn the_form_is_pinned() {
        let value = Value::from([
            ("b", Value::from(vec![Value::from([("x", Value::from(420)), ("y", Value::from("420"))])])),
            ("a", Value::from([("unit", Value::from("[Unit]\nA=1\n")), ("none", Value::List(Vec::new()))])),
            ("c", Value::from("a: b")),
            ("d", Value::from("true")),
        ]);
        let form = "a:\n  none: []\n  unit: |\n    [Unit]\n    A=1\nb:\n- x: 420\n  y: \"420\"\nc: 'a: b'\nd: \"true\"\n";
        assert_eq!(yaml(&value), form);
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
            round_trip(&Value::from(text));
            round_trip(&Value::from([("k", Value::from(text))]));
            round_trip(&Value::from(vec![Value::from(text), Value::from(vec![Value::from(text)])]));
            round_trip(&Value::from([(text, Value::from([("k", Value::from(vec![Value::from(text)]))]))]));
        }
    }

    #[test]
    fn empty_things_round_trip() {
        round_trip(&Value::from([("m", Value::Map(Default::default())), ("n", Value::Null)]));
        round_trip(&Value::from(vec![
            Value::Map(Default::default()),
            Value::List(Vec::new()),
            Value::from(false),
        ]));
    }
}
