//! Parses patch files; finds everything that can be wrong before anything is built.

use super::{Action, Change, Operation, Patch, Pointer, Target};
use crate::base::hint::{Place, Problem, Problems, did_you_mean};
use crate::base::yaml::{self, Source, YamlData, YamlEntry, YamlNode};

const PATCH: [&str; 2] = ["target", "patch"];
const TARGET: [&str; 7] = ["kind", "name", "namespace", "group", "apiVersion", "file", "all"];
const OPERATION: [&str; 4] = ["op", "path", "from", "value"];
const OPERATIONS: [&str; 6] = ["test", "add", "remove", "replace", "move", "copy"];

/// All patches of a file, in order: each document is one patch or a list of them.
pub(crate) fn parse(source: Source<'_>, problems: &mut Problems) -> Vec<Patch> {
    let before = problems.0.len();
    let documents = yaml::documents(source, problems);
    let mut reader = Reader { file: source.name, problems };
    if documents.is_empty() && reader.problems.0.len() == before {
        let problem = Problem::new(Place::file(source.name), "there is no patch in this file");
        reader.problems.push(problem.hint(Some("a patch has `target` and `patch`".to_owned())));
    }
    let patches = documents.iter().flat_map(|document| match &document.data {
        YamlData::List(items) => items.as_slice(),
        _ => std::slice::from_ref(document),
    });
    patches.filter_map(|node| reader.patch(node)).collect()
}

struct Reader<'a> {
    file: &'a str,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    fn patch(&mut self, node: &YamlNode) -> Option<Patch> {
        self.entries(node, "patch", &PATCH, "a patch has `target` and `patch`")?;
        let target =
            self.required(node, "target", "say which object it is for: `target: {kind: DNS, name: cluster}`");
        let change = self.required(node, "patch", "a list is a JSON patch, a map a merge patch");
        let target = target.and_then(|target| self.target(target));
        let change = change.and_then(|change| self.change(change));
        Some(Patch { line: node.line, target: target?, change: change? })
    }

    fn target(&mut self, node: &YamlNode) -> Option<Target> {
        let entries = self.entries(node, "target", &TARGET, "for example `{kind: DNS, name: cluster}`")?;
        let mut target = Target::default();
        for entry in entries {
            let slot = match entry.key.as_str() {
                "kind" => &mut target.kind,
                "name" => &mut target.name,
                "namespace" => &mut target.namespace,
                "group" => &mut target.group,
                "apiVersion" => &mut target.api_version,
                "file" => &mut target.file,
                "all" => {
                    target.all = entry.value.text() == Some("true");
                    if !target.all && entry.value.text() != Some("false") {
                        self.report(&entry.value, "target.all", "must be true or false", None);
                    }
                    continue;
                }
                _ => continue,
            };
            match entry.value.text().filter(|_| !entry.value.is_null()) {
                Some(text) => *slot = Some(text.to_owned()),
                None => self.report(&entry.value, &format!("target.{}", entry.key), "must be a text", None),
            }
        }
        let others = [&target.kind, &target.name, &target.namespace, &target.group, &target.api_version];
        let by_object = others.iter().any(|other| other.is_some());
        match (&target.file, by_object) {
            (Some(_), true) => {
                let hint = "name the object or the file, not both";
                self.report(node, "target", "it has both `file` and fields of an object", Some(hint));
                None
            }
            (None, false) => {
                let hint = "for example `{kind: DNS, name: cluster}`, or `{file: static-pods/etcd.yaml}`";
                self.report(node, "target", "it does not identify an object", Some(hint));
                None
            }
            _ => Some(target),
        }
    }

    fn change(&mut self, node: &YamlNode) -> Option<Change> {
        match &node.data {
            YamlData::List(items) if !items.is_empty() => {
                let operations: Vec<_> = items.iter().map(|item| self.operation(item)).collect();
                operations.into_iter().collect::<Option<_>>().map(Change::Operations)
            }
            YamlData::Map(entries) if !entries.is_empty() => {
                self.strategic(node);
                Some(Change::Merge(node.clone()))
            }
            _ => {
                let hint = "a list is a JSON patch, a map a merge patch";
                self.report(node, "patch", "there is nothing in it", Some(hint));
                None
            }
        }
    }

    /// Rejects the directives of Kubernetes' strategic merge, which would become fields of the object here.
    fn strategic(&mut self, node: &YamlNode) {
        let below: Vec<&YamlNode> = match &node.data {
            YamlData::Map(entries) => {
                for entry in entries.iter().filter(|entry| entry.key.starts_with('$')) {
                    let hint = "write a JSON patch: a list of `{op: …, path: …, value: …}`";
                    let message = "strategic merge patches are not supported";
                    self.report_at(entry.line, &entry.key, message, Some(hint.to_owned()));
                }
                entries.iter().map(|entry| &entry.value).collect()
            }
            YamlData::List(items) => items.iter().collect(),
            YamlData::Scalar { .. } => Vec::new(),
        };
        below.into_iter().for_each(|node| self.strategic(node));
    }

    fn operation(&mut self, node: &YamlNode) -> Option<Operation> {
        let hint = "for example `{op: replace, path: /spec/baseDomain, value: example.com}`";
        self.entries(node, "operation", &OPERATION, hint)?;
        let name = self.required(node, "op", hint)?;
        let path = self.required(node, "path", hint).and_then(|path| self.pointer(path, "path"));
        let mut value = || self.required(node, "value", hint).cloned();
        let action = match name.text().unwrap_or_default() {
            "test" => Action::Test(value()?),
            "add" => Action::Add(value()?),
            "replace" => Action::Replace(value()?),
            "remove" => Action::Remove,
            word @ ("move" | "copy") => {
                let from = self.required(node, "from", "say where it comes from: `from: /spec/x`")?;
                let from = self.pointer(from, "from")?;
                if word == "move" { Action::Move(from) } else { Action::Copy(from) }
            }
            word => {
                let hint = did_you_mean(word, OPERATIONS)
                    .unwrap_or_else(|| format!("known: {}", OPERATIONS.join(", ")));
                let message = format!("there is no operation `{word}`");
                self.report(name, "op", &message, Some(&hint));
                return None;
            }
        };
        let unused = match action {
            Action::Test(_) | Action::Add(_) | Action::Replace(_) => ["from"].as_slice(),
            Action::Remove => &["from", "value"],
            Action::Move(_) | Action::Copy(_) => &["value"],
        };
        for key in unused {
            if let Some(found) = node.get(key) {
                let message = format!("`{}` does not use it", name.text().unwrap_or_default());
                self.report(found, key, &message, Some("remove it"));
            }
        }
        Some(Operation { line: node.line, path: path?, action })
    }

    fn pointer(&mut self, node: &YamlNode, field: &str) -> Option<Pointer> {
        let found = node.text().and_then(Pointer::parse);
        if found.is_none() {
            let hint = "a JSON pointer: `/spec/containers/0/args`, with `~1` for a `/` in a key";
            self.report(node, field, "it is not a path", Some(hint));
        }
        found
    }

    /// The entries of a map, which may have only known keys.
    fn entries<'n>(
        &mut self,
        node: &'n YamlNode,
        what: &str,
        known: &[&str],
        hint: &str,
    ) -> Option<&'n [YamlEntry]> {
        let YamlData::Map(entries) = &node.data else {
            self.report(node, "", &format!("this is not a valid {what}"), Some(hint));
            return None;
        };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let hint = did_you_mean(&entry.key, known.iter().copied())
                .unwrap_or_else(|| format!("known: {}", known.join(", ")));
            self.report_at(entry.line, &entry.key, "unknown field", Some(hint));
        }
        Some(entries)
    }

    fn required<'n>(&mut self, node: &'n YamlNode, key: &str, hint: &str) -> Option<&'n YamlNode> {
        let found = node.get(key);
        if found.is_none() {
            self.report(node, key, "it is missing", Some(hint));
        }
        found
    }

    fn report(&mut self, node: &YamlNode, field: &str, message: &str, hint: Option<&str>) {
        self.report_at(node.line, field, message, hint.map(str::to_owned));
    }

    fn report_at(&mut self, line: usize, field: &str, message: &str, hint: Option<String>) {
        let place = Place { file: self.file.to_owned(), line: Some(line), field: field.to_owned() };
        self.problems.push(Problem::new(place, message).hint(hint));
    }
}
