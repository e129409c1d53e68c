//! What programs accept and should not, and what they make and should not.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::{BuildError, Job, JobError};
use super::spec::Spec;
use crate::fs;
use crate::hint::Problems;
use crate::tree::Kind;
use crate::yaml::{self, Data, Node, Source};

/// Files that a recipe requires are there, and something is in them.
pub(super) fn inputs(job: &Job<'_>, spec: &Spec<'_>) -> Result<(), BuildError> {
    for (alias, files) in &spec.require {
        let input = job.input(alias)?;
        for file in files {
            let entry = input.leaves().find(|(path, ..)| path == file).map(|(_, _, entry)| &entry.kind);
            let problem = match entry {
                Some(Kind::File { size: 1.., .. }) => continue,
                Some(_) => {
                    format!("has an empty `{file}`: the program would take it, and make something useless")
                }
                None => format!("has no `{file}`: the program would go on without it"),
            };
            return Err(JobError::Input { alias: input.derivation.clone(), problem }.into());
        }
    }
    Ok(())
}

/// What is wrong with a file that a program made: a Secret that holds nothing.
pub(super) fn output(path: &str, place: &Path) -> Result<Option<String>, BuildError> {
    if !yaml::is_manifest(path) {
        return Ok(None);
    }
    let Ok(text) = String::from_utf8(fs::read(place)?) else { return Ok(None) };
    if !text.contains("Secret") {
        return Ok(None);
    }
    let documents = yaml::documents(Source { name: path, text: &text }, &mut Problems::default());
    let empty = documents
        .iter()
        .filter(|document| document.get("kind").and_then(Node::text) == Some("Secret"))
        .find_map(nothing);
    Ok(empty.map(|what| format!("made `{path}`, a Secret {what}")))
}

/// What a Secret lacks.
fn nothing(secret: &Node) -> Option<String> {
    let entries: Vec<(&str, &Node)> = ["data", "stringData"]
        .iter()
        .filter_map(|field| secret.get(field))
        .flat_map(|map| match &map.data {
            Data::Map(entries) => entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect(),
            _ => Vec::new(),
        })
        .collect();
    if entries.is_empty() {
        return Some("without data".into());
    }
    let empty = entries.iter().find(|(_, value)| value.text().is_none_or(|text| text.trim().is_empty()));
    empty.map(|(key, _)| format!("whose `{key}` is empty"))
}

/// Sorts lists of a YAML file by a key of their items. What is in order stays as it is, byte for byte.
pub(super) fn sort(place: &Path, lists: &BTreeMap<&str, &str>) -> Result<(), BuildError> {
    let text = fs::read_text(place)?;
    let name = place.display().to_string();
    let read = |text: &str| yaml::documents(Source { name: &name, text }, &mut Problems::default());
    let mut sorted = text.clone();
    let mut documents = read(&text);
    for at in 0..documents.len() {
        let mut document = documents[at].clone();
        let changed =
            lists.iter().fold(false, |changed, (list, key)| sort_in(&mut document, list, key) || changed);
        if changed {
            sorted = yaml::edit(&name, &sorted, &documents, at, &document);
            // Every edit moves what comes after it.
            documents = read(&sorted);
        }
    }
    if sorted != text {
        fs::replace(place, sorted.as_bytes(), 0o600)?;
    }
    Ok(())
}

/// Sorts one list, `spec.configuration.source`; says whether that changed anything.
fn sort_in(node: &mut Node, list: &str, key: &str) -> bool {
    let (first, rest) = list.split_once('.').map_or((list, None), |(first, rest)| (first, Some(rest)));
    let Data::Map(entries) = &mut node.data else { return false };
    let Some(entry) = entries.iter_mut().find(|entry| entry.key == first) else { return false };
    match (rest, &mut entry.value.data) {
        (Some(rest), _) => sort_in(&mut entry.value, rest, key),
        (None, Data::List(items)) => {
            let of = |item: &Node| item.get(key).and_then(Node::text).unwrap_or_default().to_owned();
            let before: Vec<String> = items.iter().map(of).collect();
            items.sort_by_key(of);
            before != items.iter().map(of).collect::<Vec<_>>()
        }
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("secret.yaml");
        fs::write_new(&place, text.as_bytes(), 0o600).unwrap();
        output("secret.yaml", &place).unwrap()
    }

    #[test]
    fn a_secret_that_holds_nothing_is_found() {
        let says = |problem: &str| Some(format!("made `secret.yaml`, a Secret {problem}"));
        assert_eq!(secret("kind: Secret\ndata:\n  tls.crt: YQ==\n"), None);
        assert_eq!(secret("kind: Secret\nstringData:\n  tls.crt: a\n"), None);
        assert_eq!(secret("kind: ConfigMap\ndata: {Secret: ''}\n"), None);
        assert_eq!(
            secret("kind: Secret\ndata:\n  tls.crt: YQ==\n  tls.key: \"\"\n"),
            says("whose `tls.key` is empty")
        );
        assert_eq!(secret("kind: Secret\ndata:\n  tls.key:\n"), says("whose `tls.key` is empty"));
        assert_eq!(secret("kind: Secret\ndata: {}\n"), says("without data"));
        assert_eq!(secret("a: b\n---\nkind: Secret\n"), says("without data"));
    }

    #[test]
    fn a_list_is_sorted_and_the_rest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("pool.yaml");
        let pool = |names: [&str; 2]| {
            format!(
                "kind: MachineConfigPool # a pool\nspec:\n  configuration:\n    source:\n    - kind: MachineConfig\n      name: {}\n    - kind: MachineConfig\n      name: {}\n",
                names[0], names[1]
            )
        };
        let lists =
            BTreeMap::from([("spec.configuration.source", "name"), ("status.configuration.source", "name")]);
        fs::write_new(&place, pool(["b", "a"]).as_bytes(), 0o600).unwrap();
        sort(&place, &lists).unwrap();
        assert_eq!(fs::read_text(&place).unwrap(), pool(["a", "b"]));
        sort(&place, &lists).unwrap();
        assert_eq!(fs::read_text(&place).unwrap(), pool(["a", "b"]));
    }
}
