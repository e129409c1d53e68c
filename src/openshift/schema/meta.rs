//! Validates every object's metadata: names, label and annotation keys, by Kubernetes' own grammar.

use super::{Fault, How};
use crate::base::yaml::{YamlData, YamlEntry, YamlNode};

/// The format of a name; depends on the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// `a-z`, `0-9`, `-` and dots between, at most 253 characters: most kinds.
    Subdomain,
    /// The same without dots, at most 63.
    Label,
    /// A label that starts with a letter: Services.
    Label1035,
    /// Any URL path segment: RBAC, whose names have colons.
    Segment,
}

/// Faults of `metadata`; the schema checks its types.
pub(crate) fn check(object: &YamlNode, name: Name, how: How) -> Vec<Fault> {
    let shown = |text: &str| if how.masked { "the value".to_owned() } else { format!("`{text}`") };
    let mut faults = Vec::new();
    let Some(metadata) = object.get("metadata") else { return faults };
    if let Some((line, text)) = scalar(metadata, "name")
        && let Some(problem) = name.problem(text)
    {
        faults.push(fault("metadata.name", line, format!("{} {problem}", shown(text))));
    }
    if let Some((line, text)) = scalar(metadata, "namespace")
        && let Some(problem) = Name::Label.problem(text)
    {
        faults.push(fault("metadata.namespace", line, format!("{} {problem}", shown(text))));
    }
    for YamlEntry { key, line, value, .. } in map(metadata, "labels") {
        let path = format!("metadata.labels[{key}]");
        if let Some(problem) = key_problem(key) {
            faults.push(fault(&path, *line, format!("the key {problem}")));
        }
        if let Some(text) = value.text()
            && !(text.is_empty() || is_qualified(text))
        {
            faults.push(fault(
                &path,
                *line,
                format!("{} is not a label value: at most 63 of letters, digits, `-`, `_`, `.`", shown(text)),
            ));
        }
    }
    for YamlEntry { key, line, .. } in map(metadata, "annotations") {
        // The grammar of labels, ignoring case.
        if let Some(problem) = key_problem(&key.to_lowercase()) {
            faults.push(fault(&format!("metadata.annotations[{key}]"), *line, format!("the key {problem}")));
        }
    }
    faults
}

impl Name {
    fn problem(self, text: &str) -> Option<&'static str> {
        let right = match self {
            Self::Subdomain => is_subdomain(text),
            Self::Label => is_label(text),
            Self::Label1035 => is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase()),
            Self::Segment => !text.is_empty() && !matches!(text, "." | "..") && !text.contains(['/', '%']),
        };
        (!right).then_some(match self {
            Self::Subdomain => "is not a valid name: lower-case letters, digits, `-` and dots, a letter or digit first and last, at most 253",
            Self::Label => "is not a valid name: lower-case letters, digits and `-`, a letter or digit first and last, at most 63",
            Self::Label1035 => "is not a valid name: lower-case letters, digits and `-`, a letter first, at most 63",
            Self::Segment => "is not a valid name: it may not be empty, `.` or `..`, or have `/` or `%`",
        })
    }
}

/// What is wrong with `prefix/name`, if anything.
fn key_problem(key: &str) -> Option<&'static str> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        return Some("has a prefix that is not a DNS name");
    }
    (!is_qualified(name))
        .then_some("must be at most 63 of letters, digits, `-`, `_`, `.`, after an optional `prefix/`")
}

/// A DNS-1123 subdomain.
pub(crate) fn is_subdomain(text: &str) -> bool {
    let part = |part: &str| is_dashed(part);
    !text.is_empty() && text.len() <= 253 && text.split('.').all(part)
}

/// A DNS-1123 label.
pub(crate) fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_dashed(text)
}

fn is_dashed(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(edge) && text.ends_with(edge) && text.chars().all(|c| edge(c) || c == '-')
}

fn is_qualified(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(edge)
        && text.ends_with(edge)
        && text.chars().all(|c| edge(c) || matches!(c, '-' | '_' | '.'))
}

fn scalar<'a>(metadata: &'a YamlNode, key: &str) -> Option<(usize, &'a str)> {
    let node = metadata.get(key)?;
    Some((node.line, node.text()?))
}

fn map<'a>(metadata: &'a YamlNode, key: &str) -> &'a [YamlEntry] {
    match metadata.get(key).map(|node| &node.data) {
        Some(YamlData::Map(entries)) => entries,
        _ => &[],
    }
}

fn fault(path: &str, line: usize, message: String) -> Fault {
    Fault { path: path.to_owned(), line, message, hint: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_grammar() {
        for (name, yes, no) in [
            (Name::Subdomain, vec!["cluster", "a.b-c", "0"], vec!["", "A", "a_b", "-a", "a.", "a..b", "a:b"]),
            (Name::Label, vec!["openshift-config"], vec!["a.b", "A", &"x".repeat(64)[..]]),
            (Name::Label1035, vec!["kubernetes"], vec!["1a", "a.b"]),
            (Name::Segment, vec!["system:node-bootstrapper", "A"], vec!["", "..", "a/b", "a%b"]),
        ] {
            yes.iter().for_each(|text| assert_eq!(name.problem(text), None, "{text:?}"));
            no.iter().for_each(|text| assert!(name.problem(text).is_some(), "{text:?}"));
        }
    }

    #[test]
    fn keys_and_values_have_a_grammar() {
        let text = "metadata:\n  name: a\n  labels:\n    openshift.io/run-level: '0'\n    _x: ok\n    A.io/x: ok\n    u: 'not ok'\n    z: ''\n  annotations:\n    A.io/X: 'anything goes'\n    a/b/c: ''\n";
        let mut problems = crate::base::hint::Problems::default();
        let node =
            crate::base::yaml::parse(crate::base::yaml::Source { name: "f", text }, &mut problems).unwrap();
        let found: Vec<(String, usize)> = check(&node, Name::Subdomain, How::default())
            .into_iter()
            .map(|fault| (fault.path, fault.line))
            .collect();
        let wanted = [
            ("metadata.labels[_x]", 5),
            ("metadata.labels[A.io/x]", 6),
            ("metadata.labels[u]", 7),
            ("metadata.annotations[a/b/c]", 11),
        ];
        assert_eq!(found, wanted.map(|(path, line)| (path.to_owned(), line)));
    }
}
