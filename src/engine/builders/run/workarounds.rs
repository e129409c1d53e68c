//! Workarounds for programs that accept missing input, or write lists in random order.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::Path;

use super::super::{BuildError, Job, JobError};
use super::spec::Spec;
use crate::base::fs::{self, At as _};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::engine::tree::EntryKind;

/// Checks that required files exist and are not empty.
pub(super) fn inputs(job: &Job<'_>, spec: &Spec<'_>) -> Result<(), BuildError> {
    for (alias, files) in &spec.require {
        let input = job.input(alias)?;
        for file in files {
            let entry = input.leaves().find(|(path, ..)| path == file).map(|(_, _, entry)| &entry.kind);
            let problem = match entry {
                Some(EntryKind::File { size: 1.., .. }) => continue,
                Some(_) => {
                    format!("has an empty `{file}`: the program would accept it and write useless output")
                }
                None => format!("has no `{file}`: the program would continue without it"),
            };
            return Err(JobError::Input { alias: input.derivation.clone(), problem }.into());
        }
    }
    Ok(())
}

/// Sorts lists of a YAML file by a key of their items. A sorted list keeps its bytes.
pub(super) fn sort(dir: &fs::Dir, file: &OsStr, lists: &BTreeMap<&str, &str>) -> Result<(), BuildError> {
    let name = file.to_string_lossy().into_owned();
    let mut text = String::new();
    dir.file(file)?.read_to_string(&mut text).at("read", Path::new(file))?;
    let read = |text: &str| yaml::documents(Source { name: &name, text }, &mut Problems::default());
    let mut sorted = text.clone();
    let mut documents = read(&text);
    for at in 0..documents.len() {
        let mut document = documents[at].clone();
        let changed =
            lists.iter().fold(false, |changed, (list, key)| sort_in(&mut document, list, key) || changed);
        if changed {
            sorted = yaml::edit(&name, &sorted, &documents, at, &document);
            // Every edit moves the text after it.
            documents = read(&sorted);
        }
    }
    if sorted != text {
        dir.write(file, sorted.as_bytes(), 0o600)?;
    }
    Ok(())
}

/// Sorts one list, such as `spec.configuration.source`; returns whether it changed.
fn sort_in(node: &mut YamlNode, list: &str, key: &str) -> bool {
    let (first, rest) = list.split_once('.').map_or((list, None), |(first, rest)| (first, Some(rest)));
    let YamlData::Map(entries) = &mut node.data else { return false };
    let Some(entry) = entries.iter_mut().find(|entry| entry.key == first) else { return false };
    match (rest, &mut entry.value.data) {
        (Some(rest), _) => sort_in(&mut entry.value, rest, key),
        (None, YamlData::List(items)) => {
            let of = |item: &YamlNode| item.get(key).and_then(YamlNode::text).unwrap_or_default().to_owned();
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

    #[test]
    fn a_list_is_sorted_and_the_rest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("pool.yaml");
        let pool = |names: [&str; 2]| {
            format!(
                "kind: Pool # a pool\nspec:\n  configuration:\n    source:\n    - kind: Part\n      name: {}\n    - kind: Part\n      name: {}\n",
                names[0], names[1]
            )
        };
        let lists =
            BTreeMap::from([("spec.configuration.source", "name"), ("status.configuration.source", "name")]);
        fs::write_new(&place, pool(["b", "a"]).as_bytes(), 0o600).unwrap();
        let sort = || sort(&fs::Dir::open(dir.path()).unwrap(), OsStr::new("pool.yaml"), &lists).unwrap();
        sort();
        assert_eq!(fs::read_text(&place).unwrap(), pool(["a", "b"]));
        sort();
        assert_eq!(fs::read_text(&place).unwrap(), pool(["a", "b"]));
    }
}
