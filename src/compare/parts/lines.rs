//! Formats that are read line by line. Comments above a line belong to it.

use super::Part;
use crate::openshift::pod::comment_above;

/// Directives of a unit or keyfile: `Section.Directive`. A directive may be continued on the next line.
pub(super) fn unit(text: &str) -> Vec<Part> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut section, mut parts, mut at) = (String::new(), Vec::new(), 0);
    while at < lines.len() {
        let line = lines[at].trim();
        let first = at;
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        } else if let (false, Some((key, _))) = (line.starts_with(['#', ';']), line.split_once('=')) {
            while lines[at].trim_end().ends_with('\\') && at + 1 < lines.len() {
                at += 1;
            }
            let whole = lines[first..=at].join("\n");
            let value = whole.split_once('=').map_or("", |(_, value)| value).trim();
            parts.push(Part {
                name: format!("{section}.{}", key.trim()),
                value: value.to_owned(),
                lines: (first + 1, at + 1),
                comment: comment_above(&lines, first + 1),
                is_list: false,
            });
        }
        at += 1;
    }
    parts
}

/// Blocks (`listen api`) of an HAProxy configuration, and their lines (`listen api bind`).
pub(super) fn haproxy(text: &str) -> Vec<Part> {
    let lines: Vec<&str> = text.lines().collect();
    let mut parts: Vec<Part> = Vec::new();
    let mut block: Option<usize> = None;
    for (at, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first().filter(|word| !word.starts_with('#')) else { continue };
        let comment = comment_above(&lines, at + 1);
        if line.starts_with(char::is_whitespace) {
            let Some(open) = block else { continue };
            parts[open].value.push_str(&format!("{line}\n"));
            parts[open].lines.1 = at + 1;
            let head = parts[open].name.clone();
            let named = if ["server", "timeout"].contains(first) { words.len().min(2) } else { 1 };
            parts.push(Part {
                name: format!("{head} {}", words[..named].join(" ")),
                value: words[named..].join(" "),
                lines: (at + 1, at + 1),
                comment,
                is_list: false,
            });
        } else {
            block = Some(parts.len());
            let name = words.join(" ");
            parts.push(Part { name, value: String::new(), lines: (at + 1, at + 1), comment, is_list: false });
        }
    }
    parts
}

/// Functions of a shell script, and what stands outside of them before the first one: its head.
pub(super) fn script(text: &str) -> Vec<Part> {
    let lines: Vec<&str> = text.lines().collect();
    let head: Vec<&str> =
        lines.iter().skip(1).map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let mut parts = Vec::new();
    if !head.is_empty() {
        let last = head.len() + 1;
        let value = head.join("\n");
        parts.push(Part {
            name: "script".to_owned(),
            value,
            lines: (2, last),
            comment: String::new(),
            is_list: false,
        });
    }
    let mut at = 0;
    while at < lines.len() {
        if let Some(name) = lines[at].strip_suffix("() {") {
            let length = lines[at..].iter().position(|line| *line == "}").unwrap_or(0);
            parts.push(Part {
                name: name.to_owned(),
                value: lines[at..=at + length].join("\n"),
                lines: (at + 1, at + length + 1),
                comment: comment_above(&lines, at + 1),
                is_list: false,
            });
            at += length;
        }
        at += 1;
    }
    parts
}

/// Elements of an XML document that is written one element a line, by path: `domain/devices/disk`.
pub(super) fn xml(text: &str) -> Vec<Part> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut path, mut open): (Vec<&str>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut parts, mut comment): (Vec<Part>, String) = (Vec::new(), String::new());
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("<!--") {
            comment = rest.trim_end_matches("-->").trim().to_owned();
        } else if line.starts_with("</") {
            path.pop();
            if let Some(part) = open.pop().and_then(|part| parts.get_mut(part)) {
                part.lines.1 = at + 1;
                part.value = lines[part.lines.0 - 1..=at].join("\n");
            }
        } else if let Some(rest) = line.strip_prefix('<') {
            let name = rest.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next().unwrap_or("");
            path.push(name);
            let part = Part {
                name: path.join("/"),
                value: line.to_owned(),
                lines: (at + 1, at + 1),
                comment: std::mem::take(&mut comment),
                is_list: false,
            };
            if line.ends_with("/>") || line.contains("</") {
                path.pop();
            } else {
                open.push(parts.len());
            }
            parts.push(part);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parts: &[Part]) -> Vec<&str> {
        parts.iter().map(|part| part.name.as_str()).collect()
    }

    #[test]
    fn a_directive_has_its_section_its_comment_and_all_its_lines() {
        let parts = unit("[Unit]\nDescription=x\n[Service]\n# why\nExecStart=/bin/a \\\n  -b=1\n");
        assert_eq!(names(&parts), ["Unit.Description", "Service.ExecStart"]);
        assert_eq!((parts[1].lines, parts[1].comment.as_str()), ((5, 6), "why"));
        assert_eq!(parts[1].value, "/bin/a \\\n  -b=1");
    }

    #[test]
    fn a_block_holds_its_lines() {
        let parts = haproxy("# all\nglobal\n  maxconn 8\n\n# The API.\nlisten api\n  server a 1:2 check\n");
        assert_eq!(names(&parts), ["global", "global maxconn", "listen api", "listen api server a"]);
        assert_eq!((parts[2].comment.as_str(), parts[2].lines), ("The API.", (6, 7)));
    }

    #[test]
    fn elements_have_paths_and_functions_their_bodies() {
        let parts = xml("<a>\n  <!-- why -->\n  <b x=\"1\"/>\n  <c>\n    <d>t</d>\n  </c>\n</a>\n");
        assert_eq!(names(&parts), ["a", "a/b", "a/c", "a/c/d"]);
        assert_eq!((parts[1].comment.as_str(), parts[2].lines), ("why", (4, 6)));
        let parts = script("#!/bin/sh\n# What it does.\nset -e\n# Why.\nf() {\n  g\n}\nf\n");
        assert_eq!(names(&parts), ["script", "f"]);
        assert_eq!((parts[1].comment.as_str(), parts[1].lines), ("Why.", (5, 7)));
    }
}
