//! The user's own manifests and patches: files of the cluster directory that become derivations, as if each had a
//! recipe.
//!
//! ```text
//! manifests/*.yaml     → user/manifests, among the manifests of `assembled`
//! patches/10-dns.yaml  → patch/10-dns, on `assembled`; patches/20-x.yaml on its output; the recipes of stage 59 read
//!                        the last one
//! ```
//!
//! Manifests are public like every file of a recipe, except for those that contain a `Secret`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::directory::{PRIVATE, is_folder};
use super::{ClusterDir, Result};
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems};
use crate::base::secret::Secret;
use crate::base::value::Value;
use crate::base::yaml::{self, Source, YamlNode};
use crate::engine::fields::{Field, Origins};
use crate::engine::recipe::{Sources, is_name};
use crate::openshift::patch::{self, Identity};

/// Converts both folders: recipes with their files, and the field `user`: the secret manifests, and the kinds of all
/// objects.
pub(super) fn add(directory: &ClusterDir, sources: &mut Sources, problems: &mut Problems) -> Result<Field> {
    let manifests = read(directory, "manifests", problems)?;
    let patches = read(directory, "patches", problems)?;
    add_patches(patches, sources, problems);
    Ok(add_manifests(manifests, sources, problems))
}

/// The objects of the user's manifests that a program's output names, each with its file and line: the program saw them
/// under other file names.
pub(super) fn named_in(directory: &ClusterDir, output: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (shown, text) in read(directory, "manifests", &mut Problems::default())?.into_values() {
        for document in yaml::documents(Source { name: &shown, text: &text }, &mut Problems::default()) {
            let object = Identity::of(&document);
            if object.missing().is_none() && output.lines().any(|line| names(line, &object)) {
                found.push(format!("{shown}:{}: {object}", document.line));
            }
        }
    }
    Ok(found)
}

/// The user's MachineConfigs that write a file or unit, each with its file and line.
pub(super) fn machine_configs_with(directory: &ClusterDir, entry: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (shown, text) in read(directory, "manifests", &mut Problems::default())?.into_values() {
        for document in yaml::documents(Source { name: &shown, text: &text }, &mut Problems::default()) {
            let object = Identity::of(&document);
            if object.kind == "MachineConfig"
                && let Some(line) = line_of_entry(&document, entry)
            {
                found.push(format!("{object} ({shown}:{line})"));
            }
        }
    }
    Ok(found)
}

/// The line of a file's path or a unit's name in a MachineConfig. A drop-in is named `UNIT/NAME`.
fn line_of_entry(document: &YamlNode, entry: &str) -> Option<usize> {
    let config = document.get("spec")?.get("config")?;
    let named = |list: Option<&YamlNode>, key: &str, wanted: &str| {
        let all = list.map(YamlNode::items).unwrap_or_default().to_vec();
        all.into_iter().find(|one| one.get(key).and_then(YamlNode::text) == Some(wanted))
    };
    let storage = config.get("storage");
    let lists = ["files", "links", "directories"].into_iter();
    let stored = lists.filter_map(|list| named(storage?.get(list), "path", entry)).next();
    let units = config.get("systemd").and_then(|systemd| systemd.get("units"));
    let unit = || match entry.split_once('/') {
        Some((unit, drop_in)) => named(named(units, "name", unit)?.get("dropins"), "name", drop_in),
        None => named(units, "name", entry),
    };
    stored.or_else(unit).map(|found| found.line)
}

/// Whether a line of output is about an object. A name of one word may be about anything, unless the kind is there too.
fn names(line: &str, object: &Identity) -> bool {
    let (name, is_part) = (object.name.as_str(), |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let alone = line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        // A file is called after the kind and the name of its object.
        let in_file = before.ends_with('-') && after.starts_with(".yaml");
        let ends = after.trim_start_matches('.').is_empty() || !after.starts_with(is_part);
        in_file || (!before.ends_with(is_part) && ends)
    });
    alone && (name.contains('-') || line.to_lowercase().contains(&object.kind.to_lowercase()))
}

/// Files by name: the name shown to the user, and the text.
type Files = BTreeMap<String, (String, String)>;

/// The YAML and JSON files of a folder. Ignores hidden files, editors' leftovers and notes; reports what looks like a
/// mistake.
fn read(directory: &ClusterDir, folder: &str, problems: &mut Problems) -> Result<Files> {
    let (mut files, mut left) = (Files::new(), fs::WHOLE);
    for (shown, root) in directory.folders(folder) {
        if is_folder(&root, &shown, problems)? {
            read_folder((&shown, &root), &mut left, &mut files, problems)?;
        }
    }
    let further = directory.further_manifests().filter(|_| folder == "manifests");
    files.extend(further.map(|(name, text)| (name.clone(), (format!("{folder}/{name}"), text.clone()))));
    Ok(files)
}

fn read_folder(
    (folder, root): (&str, &Path),
    left: &mut u64,
    files: &mut Files,
    problems: &mut Problems,
) -> Result<()> {
    for (name, is_dir) in fs::list_kinds(root)? {
        let lossy = name.to_string_lossy();
        let shown = format!("{folder}/{}", lossy.escape_debug());
        if lossy.starts_with('.') || [".md", ".txt", "~"].iter().any(|ending| lossy.ends_with(ending)) {
            continue;
        }
        let mut wrong = |message: &str, hint: &str| {
            let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
            problems.push(Problem::new(Place::file(shown.as_str()), message).hint(hint));
        };
        let known = yaml::is_manifest(&lossy);
        match name.to_str().filter(|name| !name.chars().any(char::is_control)) {
            None => wrong("the file's name has control characters or is not UTF-8", ""),
            Some(_) if is_dir => {
                wrong("folders in this folder are not read", "move its files up, or the folder elsewhere")
            }
            Some(_) if !known => {
                wrong(
                    "this file would be ignored",
                    "call it `.yaml`, `.yml` or `.json`, or put a dot in front of its name",
                );
            }
            Some(_) if fs::is_link_to_private(&root.join(&name))? => wrong(PRIVATE.0, PRIVATE.1),
            Some(name) => match String::from_utf8(fs::read_up_to(&root.join(name), *left)?) {
                Ok(text) => {
                    *left -= text.len() as u64;
                    files.insert(name.to_owned(), (shown, text));
                }
                Err(_) => wrong("the file is not UTF-8 text", ""),
            },
        }
    }
    Ok(())
}

/// A chain of recipes, one per patch file, between `assembled` and the recipes of stage 59.
fn add_patches(files: Files, sources: &mut Sources, problems: &mut Problems) {
    const AFTER: &str = "59-";
    let mut last = "assembled".to_owned();
    let mut stems: BTreeMap<String, String> = BTreeMap::new();
    for (name, (shown, text)) in files {
        patch::parse(Source { name: &shown, text: &text }, problems);
        let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem).to_owned();
        if let Some(other) = stems.insert(stem.clone(), shown.clone()) {
            let message = format!("`{other}` would be `patch/{stem}` too");
            problems
                .push(Problem::new(Place::file(&shown), message).hint(Some("rename one of them".to_owned())));
            continue;
        }
        let first = text.lines().next().and_then(|line| line.strip_prefix('#')).map(str::trim);
        let summary = first.filter(|line| !line.is_empty()).unwrap_or("A patch of your own.");
        let file = quoted(&name);
        let recipe = format!(
            "# {summary}\nbuilder = \"patch\"\n\n[inputs]\ntree = {}\n\n[files]\n{file} = {file}\n",
            quoted(&last)
        );
        // An invalid name does not continue the chain: the recipe reports it.
        if is_name(&stem) {
            last = format!("patch/{stem}");
        }
        sources.add(format!("58-patch/{stem}.toml"), shown.clone(), recipe);
        sources.add(format!("58-patch/{name}"), shown, text);
    }
    if last == "assembled" {
        return;
    }
    let after: Vec<_> = sources.iter().filter(|(path, _)| path.starts_with(AFTER)).collect();
    let after = after.into_iter().map(|(path, file)| (path.to_owned(), file.clone())).collect::<Vec<_>>();
    for (path, file) in after {
        let text = ["\"", ":"].iter().fold(file.text.to_string(), |text, end| {
            text.replace(&format!("\"assembled{end}"), &format!("\"{last}{end}"))
        });
        sources.add(path, file.shown, text);
    }
}

/// One recipe for all manifests, which are checked first; returns the field with the secret ones.
fn add_manifests(files: Files, sources: &mut Sources, problems: &mut Problems) -> Field {
    let (mut public, mut secret, mut fields) = (String::new(), String::new(), BTreeMap::new());
    let mut kinds: BTreeMap<String, Place> = BTreeMap::new();
    let mut seen = BTreeMap::new();
    let mut taken = BTreeSet::new();
    let any = !files.is_empty();
    for (name, (shown, text)) in files {
        let before = problems.0.len();
        let documents = yaml::documents(Source { name: &shown, text: &text }, problems);
        if documents.is_empty() && problems.0.len() == before {
            problems.push(Problem::new(Place::file(&shown), "there is no object in this file"));
        }
        let objects: Vec<Identity> =
            documents.iter().map(|document| object(&shown, document, problems)).collect();
        for (document, object) in
            documents.iter().zip(&objects).filter(|(_, object)| object.missing().is_none())
        {
            let key = {
                let (group, kind, namespace, name) = object.key();
                [group, kind, namespace, name].map(str::to_owned)
            };
            if let Some(other) = seen.insert(key, format!("{shown}:{}", document.line)) {
                let message = format!("{object} is in {other} too");
                problems.push(
                    Problem::new(place(&shown, document, ""), message)
                        .hint(Some("keep one of them".to_owned())),
                );
            }
            kinds.entry(object.kind_and_group()).or_insert_with(|| place(&shown, document, "kind"));
        }
        if objects.iter().any(|object| object.kind == "Secret") {
            let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
            let mut alias: String =
                stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
            while !taken.insert(alias.clone()) {
                alias.push('_');
            }
            let origins: Origins = [Place::file(&shown)].into();
            let _ = writeln!(secret, "{} = {}", quoted(&name), quoted(&format!("user.manifests.{alias}")));
            fields.insert(alias, Field::Secret { value: Secret::new(text.into_bytes()), origins });
        } else {
            let _ = writeln!(public, "{0} = {0}", quoted(&name));
            sources.add(format!("52-user/{name}"), shown, text);
        }
    }
    if any {
        let text = format!(
            "# Your own manifests, as they are.\nbuilder = \"tree\"\n\n[files]\n{public}\n[config]\n{secret}"
        );
        sources.add("52-user/manifests.toml".to_owned(), "manifests/".to_owned(), text);
    }
    let (kinds, mut places): (Vec<Value>, Vec<Place>) =
        kinds.into_iter().map(|(kind, place)| (Value::from(kind), place)).unzip();
    if places.is_empty() {
        places.push(Place::file("manifests/"));
    }
    let kinds = Field::leaf(Value::List(kinds), places.into());
    Field::map([("manifests", Field::Map(fields)), ("kinds", kinds)])
}

/// The identity of a document. Without one of these fields it cannot be applied.
fn object(file: &str, document: &YamlNode, problems: &mut Problems) -> Identity {
    let identity = Identity::of(document);
    if let Some(field) = identity.missing() {
        let generated = document.get("metadata").and_then(|metadata| metadata.get("generateName")).is_some();
        let hint = match identity.kind.as_str() {
            "List" => Some("write its items as documents of their own, with `---` between them"),
            _ if field == "metadata.name" && generated => {
                Some("`generateName` cannot be applied twice: give it a name")
            }
            _ => None,
        };
        let problem = Problem::new(place(file, document, field), "it is missing, so this is not an object");
        problems.push(problem.hint(hint.map(str::to_owned)));
    }
    identity
}

fn place(file: &str, node: &YamlNode, field: &str) -> Place {
    Place { file: file.to_owned(), line: Some(node.line), field: field.to_owned() }
}

/// Quotes a text for TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_an_object_by_its_whole_name() {
        let object = |kind: &str, name: &str| Identity {
            api_version: "v1".into(),
            kind: kind.into(),
            name: name.into(),
            ..Identity::default()
        };
        let mine = object("MachineConfig", "99-mine");
        for line in [
            "error parsing Ignition of machine config 99-mine: unknown version",
            "could not merge \"99-mine\".",
            "error parsing manifests from /out/manifests/2-machineconfig-99-mine.yaml: yaml: line 3",
        ] {
            assert!(names(line, &mine), "{line}");
        }
        for line in ["about 99-mine-too", "about 199-mine", "about rendered-99-mine"] {
            assert!(!names(line, &mine), "{line}");
        }
        let cluster = object("Image", "cluster");
        assert!(names("could not read image cluster", &cluster));
        assert!(!names("writing to the cluster", &cluster));
    }
}
