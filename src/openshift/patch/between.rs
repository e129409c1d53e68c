//! The edits between two versions of a document, and a patch file that repeats them on a third.

use std::fmt::Write as _;

use super::{Action, Change, Identity, Operation, Pointer};
use crate::base::yaml::{YamlData, YamlNode, flow, scalar};

/// One edit: a value that was added, removed or replaced.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub path: Pointer,
    pub old: Option<YamlNode>,
    pub new: Option<YamlNode>,
}

/// The edits that turn `old` into `new`, the deepest that say it. Items that were appended to a list are added one by one;
/// a list that changed otherwise is replaced, unless its items correspond.
pub(crate) fn between(old: &YamlNode, new: &YamlNode) -> Vec<Edit> {
    let mut edits = Vec::new();
    collect(&Pointer(Vec::new()), old, new, &mut edits);
    edits
}

fn collect(path: &Pointer, old: &YamlNode, new: &YamlNode, edits: &mut Vec<Edit>) {
    if old.means(new) {
        return;
    }
    let edit = |path: Pointer, old: Option<&YamlNode>, new: Option<&YamlNode>| Edit {
        path,
        old: old.cloned(),
        new: new.cloned(),
    };
    match (&old.data, &new.data) {
        (YamlData::Map(was), YamlData::Map(now)) => {
            for entry in was {
                match new.get(&entry.key) {
                    None => edits.push(edit(path.below(&entry.key), Some(&entry.value), None)),
                    Some(value) => collect(&path.below(&entry.key), &entry.value, value, edits),
                }
            }
            for entry in now.iter().filter(|entry| old.get(&entry.key).is_none()) {
                edits.push(edit(path.below(&entry.key), None, Some(&entry.value)));
            }
        }
        (YamlData::List(was), YamlData::List(now)) if was.len() == now.len() => {
            for (at, (old, new)) in was.iter().zip(now).enumerate() {
                collect(&path.below(&at.to_string()), old, new, edits);
            }
        }
        (YamlData::List(was), YamlData::List(now))
            if was.len() < now.len() && was.iter().zip(now).all(|(old, new)| old.means(new)) =>
        {
            edits.extend(now[was.len()..].iter().map(|item| edit(path.below("-"), None, Some(item))));
        }
        _ => edits.push(edit(path.clone(), Some(old), Some(new))),
    }
}

/// A change that repeats these edits, and fails where the document does not have what was edited.
pub(crate) fn change(edits: &[Edit]) -> Change {
    let operation = |path: &Pointer, action| Operation { line: 1, path: path.clone(), action };
    let mut operations = Vec::new();
    for Edit { path, old, new } in edits {
        operations.extend(old.iter().map(|old| operation(path, Action::Test(old.clone()))));
        operations.push(operation(
            path,
            match (old, new) {
                (None, Some(new)) => Action::Add(new.clone()),
                (_, Some(new)) => Action::Replace(new.clone()),
                (_, None) => Action::Remove,
            },
        ));
    }
    Change::Operations(operations)
}

/// The same as a patch file.
pub(crate) fn file(summary: &str, object: &Identity, edits: &[Edit]) -> String {
    let mut text =
        format!("# {summary}\ntarget:\n  kind: {}\n  name: {}\n", scalar(&object.kind), scalar(&object.name));
    if !object.namespace.is_empty() {
        let _ = writeln!(text, "  namespace: {}", scalar(&object.namespace));
    }
    let _ = writeln!(text, "  group: {}\npatch:", scalar(object.group()));
    for Edit { path, old, new } in edits {
        let path = scalar(&path.to_string());
        if let Some(old) = old {
            let _ = writeln!(text, "- {{op: test, path: {path}, value: {}}}", flow(old));
        }
        let _ = match (old, new) {
            (None, Some(new)) => writeln!(text, "- {{op: add, path: {path}, value: {}}}", flow(new)),
            (_, Some(new)) => writeln!(text, "- {{op: replace, path: {path}, value: {}}}", flow(new)),
            (_, None) => writeln!(text, "- {{op: remove, path: {path}}}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::yaml::{Source, documents};
    use crate::openshift::patch::{apply, parse};

    fn read(text: &str) -> YamlNode {
        documents(Source { name: "x", text }, &mut Problems::default()).remove(0)
    }

    /// The patch as it is written turns the old document into the new one, and says where.
    #[test]
    fn a_written_patch_repeats_the_edits() {
        for (old, new, paths) in [
            ("{a: 1, b: {c: x}}", "{a: 2, b: {c: x}}", "/a"),
            ("{a: 1}", "{a: 1, 'b/c': {d: null}}", "/b~1c"),
            ("{a: 1, b: 2}", "{a: 1}", "/b"),
            ("{a: [1, 2]}", "{a: [1, 2, 3, {x: y}]}", "/a/- /a/-"),
            ("{a: [1, 2]}", "{a: [1, 3]}", "/a/1"),
            ("{a: [1, 2, 3]}", "{a: [2, 3]}", "/a"),
            ("{a: {x: 1}}", "{a: \"text: with {braces}\\nand lines\"}", "/a"),
            ("{a: '1'}", "{a: 1}", "/a"),
        ] {
            let (old, new) = (read(old), read(new));
            let edits = between(&old, &new);
            let found: Vec<String> = edits.iter().map(|edit| edit.path.to_string()).collect();
            assert_eq!(found.join(" "), paths);
            assert!(apply(&change(&edits), &old, false).unwrap().means(&new));
            let object = Identity {
                api_version: "v1".into(),
                kind: "K".into(),
                name: "1".into(),
                ..Identity::default()
            };
            let text = file("x", &object, &edits);
            let mut problems = Problems::default();
            let patches = parse(Source { name: "p.yaml", text: &text }, &mut problems);
            assert!(problems.0.is_empty(), "{text}{problems}");
            assert!(apply(&patches[0].change, &old, false).unwrap().means(&new), "{text}");
            assert!(patches[0].target.matches("f", &object), "{text}");
        }
    }

    #[test]
    fn a_document_that_has_something_else_is_refused() {
        let edits = between(&read("{a: 1}"), &read("{a: 2}"));
        assert!(apply(&change(&edits), &read("{a: 3}"), false).is_err());
    }
}
