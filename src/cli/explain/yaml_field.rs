//! Fields of a YAML document by path: `spec.hostNetwork`, `spec.containers.etcd.image`, `spec.serviceNetwork[0]`.
//!
//! A list element is named by its index or, as in config fields, by its `name`. A key may contain dots.

use super::Hit;
use crate::base::yaml::{YamlData, YamlNode};

/// The reader of an object that no table knows.
pub(super) const ANYBODY: &str = "whoever reads";

/// The document's `kind`.
pub(super) fn kind(document: &YamlNode) -> &str {
    document.get("kind").and_then(YamlNode::text).unwrap_or_default()
}

/// A readable name of a document: `Pod kube-system/etcd`.
pub(super) fn object(document: &YamlNode) -> String {
    let meta = |key: &str| document.get("metadata").and_then(|meta| meta.get(key)).and_then(YamlNode::text);
    let name = meta("name").unwrap_or_default();
    match meta("namespace") {
        Some(namespace) => format!("{} {namespace}/{name}", kind(document)),
        None => format!("{} {name}", kind(document)),
    }
}

/// The field of a document, if it exists.
pub(super) fn find(document: &YamlNode, text: &str, path: &str) -> Option<Hit> {
    let (node, line) = walk(document, document.line, path).ok()?;
    let last = last_line(node).max(line);
    let value = match node.text() {
        Some(text) => text.to_owned(),
        None => block(text, line, last),
    };
    let reader = match kind(document) {
        "Pod" => format!("the kubelet, which runs {}", object(document)),
        _ => format!("{ANYBODY} {}", object(document)),
    };
    Some(Hit { name: path.to_owned(), value, lines: (line, last), reader, files: Vec::new() })
}

/// Suggestions: the fields that exist where the path ends.
pub(super) fn candidates(document: &YamlNode, path: &str) -> Vec<String> {
    let Err((node, at)) = walk(document, document.line, path) else { return Vec::new() };
    let begin = &path[..at];
    let names: Vec<&str> = match &node.data {
        YamlData::Map(entries) => entries.iter().map(|entry| entry.key.as_str()).collect(),
        YamlData::List(items) => items.iter().filter_map(|item| item.get("name")?.text()).collect(),
        YamlData::Scalar { .. } => Vec::new(),
    };
    names.into_iter().map(|name| format!("{begin}{name}")).collect()
}

/// The node and its line; or how far the path exists: a node, and how much of the path was used.
fn walk<'n>(
    node: &'n YamlNode,
    line: usize,
    path: &str,
) -> Result<(&'n YamlNode, usize), (&'n YamlNode, usize)> {
    let rest = path.trim_start_matches(['.', '[']);
    if rest.is_empty() {
        return Ok((node, line));
    }
    let used = path.len() - rest.len();
    let step = |name: &str| {
        let after = rest.strip_prefix(name)?;
        after
            .is_empty()
            .then_some(after)
            .or_else(|| after.starts_with(['.', '[', ']']).then(|| after.trim_start_matches(']')))
    };
    let next = match &node.data {
        YamlData::Map(entries) => entries
            .iter()
            .filter_map(|entry| Some((step(&entry.key)?, &entry.value, entry.line)))
            .min_by_key(|(after, ..)| after.len()),
        YamlData::List(items) => items.iter().enumerate().find_map(|(at, item)| {
            let name = item.get("name").and_then(YamlNode::text);
            let after = step(&at.to_string()).or_else(|| step(name?))?;
            Some((after, item, item.line))
        }),
        YamlData::Scalar { .. } => None,
    };
    let Some((after, node, line)) = next else { return Err((node, used)) };
    walk(node, line, after).map_err(|(node, at)| (node, path.len() - after.len() + at))
}

fn last_line(node: &YamlNode) -> usize {
    let below = match &node.data {
        // The line of a block scalar is that of its start.
        YamlData::Scalar { text, .. } => node.line + text.trim_end().matches('\n').count(),
        YamlData::List(items) => items.iter().map(last_line).max().unwrap_or(node.line),
        YamlData::Map(entries) => {
            entries.iter().map(|entry| last_line(&entry.value)).max().unwrap_or(node.line)
        }
    };
    below.max(node.line)
}

/// Lines of a text, without their common indentation.
fn block(text: &str, first: usize, last: usize) -> String {
    let lines: Vec<&str> = text.lines().skip(first - 1).take(last - first + 1).collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    lines.iter().map(|line| line.get(least..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::yaml::{self, Source};

    const TEXT: &str = "\
kind: Pod
metadata:
  name: x
  annotations:
    openshift.io/node-selector: all
spec:
  containers:
  - name: etcd
    args: [a, b]
  hostNetwork: true
";

    fn root() -> YamlNode {
        yaml::parse(Source { name: "x.yaml", text: TEXT }, &mut Problems::default()).unwrap()
    }

    #[test]
    fn fields_are_found_by_path() {
        let look = |path: &str| find(&root(), TEXT, path).map(|hit| (hit.value, hit.lines));
        assert_eq!(look("spec.hostNetwork"), Some(("true".into(), (10, 10))));
        assert_eq!(look("spec.containers.etcd.args[1]"), Some(("b".into(), (9, 9))));
        assert_eq!(look("spec.containers[0].name"), Some(("etcd".into(), (8, 8))));
        assert_eq!(look("metadata.annotations.openshift.io/node-selector"), Some(("all".into(), (5, 5))));
        assert_eq!(
            look("spec.containers"),
            Some(("containers:\n- name: etcd\n  args: [a, b]".into(), (7, 9)))
        );
        assert_eq!(look("spec.containers.etcd.arg"), None);
        assert_eq!(look("spec.containers.4"), None);
    }

    #[test]
    fn a_path_that_leads_nowhere_says_how_far_it_leads() {
        assert_eq!(candidates(&root(), "spec.hostNetwrk"), ["spec.containers", "spec.hostNetwork"]);
        assert_eq!(
            candidates(&root(), "spec.containers.etcd.arg"),
            ["spec.containers.etcd.name", "spec.containers.etcd.args"]
        );
    }
}
