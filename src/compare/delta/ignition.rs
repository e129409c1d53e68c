//! Ignition configs: files by path with their decoded contents, units with their drop-ins, users, and the rest by
//! field.
//!
//! Each file is judged separately: paths, modes and units are public, and so is the content unless the file is secret.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::data::{Data, Map};
use super::walk::Walk;
use super::{ChangeKind, Edit, File, ShownValue, StepKind, fields, node, open, rename, show, walk};
use crate::base::redact::patterns;
use crate::openshift::ignition::{decode, unit_path};

/// Two MachineConfigs, each with an Ignition config in a field.
pub(super) fn machine_config(walk: &mut Walk<'_>, old: &Data, new: &Data) {
    let way = ["spec", "config"];
    let (Some(one @ Data::Map(_)), Some(two @ Data::Map(_))) = (old.at(&way), new.at(&way)) else {
        return fields::compare(walk, Some(old), Some(new));
    };
    let without = |data: &Data| {
        let mut data = data.clone();
        if let Data::Map(map) = &mut data
            && let Some(Data::Map(spec)) = map.get_mut("spec")
        {
            spec.remove("config");
        }
        data
    };
    fields::compare(walk, Some(&without(old)), Some(&without(new)));
    if !one.same(two) {
        walk.field("spec", |walk| walk.field("config", |walk| compare(walk, one, two)));
    }
}

pub(super) fn compare(walk: &mut Walk<'_>, old: &Data, new: &Data) {
    walk.kind = ChangeKind::Node;
    files(walk, &named(old, &["storage", "files"], "path"), &named(new, &["storage", "files"], "path"));
    units(walk, &named(old, &["systemd", "units"], "name"), &named(new, &["systemd", "units"], "name"));
    node::users(walk, old, new);
    for (list, key) in [("directories", "path"), ("links", "path")] {
        let (one, two) = (named(old, &["storage", list], key), named(new, &["storage", list], key));
        for path in keys(&one, &two) {
            let (one, two) = (one.get(path).copied(), two.get(path).copied());
            walk.step(StepKind::File, path, |walk| node::entry(walk, one, two));
        }
    }
    node::rest(walk, old, new);
}

/// List items by path or name.
pub(super) fn named<'d>(data: &'d Data, way: &[&str], key: &str) -> BTreeMap<String, &'d Map> {
    let items = data.at(way).and_then(Data::list).unwrap_or_default();
    let pair = |item: &'d Data| Some((item.get(key)?.word()?.to_owned(), item.map()?));
    items.iter().filter_map(pair).collect()
}

/// The names of both, in order.
pub(super) fn keys<'m, T>(old: &'m BTreeMap<String, T>, new: &'m BTreeMap<String, T>) -> Vec<&'m str> {
    let mut keys: Vec<&str> = old.keys().chain(new.keys()).map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn files(walk: &mut Walk<'_>, old: &BTreeMap<String, &Map>, new: &BTreeMap<String, &Map>) {
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for path in keys(old, new) {
        match (old.get(path), new.get(path)) {
            (Some(one), Some(two)) => {
                walk.step(StepKind::File, path, |walk| pair(walk, path, path, one, two))
            }
            (Some(one), None) => gone.push((path, *one)),
            (None, Some(two)) => come.push((path, *two)),
            (None, None) => {}
        }
    }
    let read = |(path, map): &(&str, &Map)| {
        (path.to_string(), contents(map).map(Cow::into_owned).unwrap_or_default())
    };
    let (gone_read, come_read): (Vec<_>, Vec<_>) =
        (gone.iter().map(read).collect(), come.iter().map(read).collect());
    let (one, two) = (views(&gone_read), views(&come_read));
    let pairs = rename::renames(&one, &two);
    for (from, to) in &pairs {
        let ((was, one), (is, two)) = (gone[*from], come[*to]);
        walk.step(StepKind::File, is, |walk| {
            walk.push(ChangeKind::File, Edit::Renamed { old: was.to_owned(), new: is.to_owned() });
            pair(walk, was, is, one, two);
        });
    }
    for (at, (path, map)) in
        gone.iter().enumerate().filter(|(at, _)| !pairs.iter().any(|(from, _)| from == at))
    {
        let shown = alone(path, &gone_read[at].1, map);
        walk.step(StepKind::File, path, |walk| walk.push(ChangeKind::File, Edit::Removed { old: shown }));
    }
    for (at, (path, map)) in come.iter().enumerate().filter(|(at, _)| !pairs.iter().any(|(_, to)| to == at)) {
        let shown = alone(path, &come_read[at].1, map);
        walk.step(StepKind::File, path, |walk| walk.push(ChangeKind::File, Edit::Added { new: shown }));
    }
}

fn views(files: &[(String, Vec<u8>)]) -> Vec<File<'_>> {
    files.iter().map(|(path, content)| File { path, content, secret: false, executable: false }).collect()
}

/// A file on one side only, as it may be shown.
fn alone(path: &str, content: &[u8], map: &Map) -> ShownValue {
    open::shown(path, content, is_secret_content(path, content, map))
}

/// Compares one file: its mode and owner, then its content.
fn pair(walk: &mut Walk<'_>, was: &str, is: &str, old: &Map, new: &Map) {
    walk.kind = ChangeKind::File;
    for key in fields::keys(old, new).into_iter().filter(|key| !matches!(*key, "path" | "contents")) {
        let (one, two) = (old.get(key), new.get(key));
        match key {
            "mode" => walk.field(key, |walk| node::mode(walk, one, two)),
            _ => walk.field(key, |walk| fields::compare(walk, one, two)),
        }
    }
    let (one, two) = (old.get("contents"), new.get("contents"));
    if let (Some(one), Some(two)) = (one, two)
        && one.same(two)
    {
        return;
    }
    walk.field("contents", |walk| {
        // Compare verification and fetching, but not the encoding.
        let rest = |map: &Map| -> Map {
            let fields = map.get("contents").and_then(Data::map).cloned().unwrap_or_default();
            fields.into_iter().filter(|(key, _)| key != "source" && key != "compression").collect()
        };
        fields::maps(walk, &rest(old), &rest(new));
    });
    match (contents(old), contents(new)) {
        (Some(one), Some(two)) => {
            let secret = is_secret_content(was, &one, old) || is_secret_content(is, &two, new);
            // Judged by itself: the config may be secret because of another file.
            walk.masked = secret;
            open::content(walk, is, &one, &two);
        }
        _ => walk.field("contents", |walk| {
            let shown = |map: &Map| match contents(map) {
                Some(bytes) => Some(show::bytes(&bytes)),
                None => {
                    map.get("contents").map(|data| show::shown("contents", data, show::Audience::Careful))
                }
            };
            if let Some(edit) = walk::edit(shown(old), shown(new)) {
                walk.push(ChangeKind::File, edit);
            }
        }),
    }
}

/// The content of a file, if it is embedded in the config.
fn contents(map: &Map) -> Option<Cow<'_, [u8]>> {
    let Some(contents) = map.get("contents") else { return Some(Cow::Borrowed(&[])) };
    match contents.get("source").map(|source| source.text().unwrap_or_default()) {
        None | Some("") => Some(Cow::Borrowed(&[])),
        Some(source) => {
            let bytes = decode(source)?;
            let packed = contents.get("compression").and_then(Data::text) == Some("gzip");
            Some(Cow::Owned(open::unpacked(&bytes).filter(|_| packed).unwrap_or(bytes)))
        }
    }
}

/// Whether a file of a config is secret.
pub(super) fn is_secret(file: &Map) -> bool {
    let path = file.get("path").and_then(Data::text).unwrap_or_default();
    contents(file).is_some_and(|content| is_secret_content(path, &content, file))
}

/// Whether a file is readable by its owner only, or contains a secret.
fn is_secret_content(path: &str, content: &[u8], map: &Map) -> bool {
    let mode =
        map.get("mode").and_then(Data::word).and_then(|mode| super::data::number(mode).parse::<u32>().ok());
    let name = path.rsplit('/').next().unwrap_or(path);
    if mode.is_some_and(|mode| mode & 0o077 == 0) {
        return true;
    }
    // API types are long and contain no values.
    let head = &content[..content.len().min(256)];
    let kind: &[u8] = b"\nkind: CustomResourceDefinition\n";
    let plain = open::unpacked(content);
    !head.windows(kind.len()).any(|window| window == kind)
        && !patterns(name, plain.as_deref().unwrap_or(content)).is_empty()
}

fn units(walk: &mut Walk<'_>, old: &BTreeMap<String, &Map>, new: &BTreeMap<String, &Map>) {
    for name in keys(old, new) {
        let path = unit_path(name);
        let (one, two) = (old.get(name).copied(), new.get(name).copied());
        unit(walk, &path, one, two);
        let dropins = |unit: Option<&Map>| -> BTreeMap<String, Map> {
            let list = unit.and_then(|unit| unit.get("dropins")).and_then(Data::list).unwrap_or_default();
            let pair = |item: &Data| Some((item.get("name")?.word()?.to_owned(), item.map()?.clone()));
            list.iter().filter_map(pair).collect()
        };
        let (one, two) = (dropins(one), dropins(two));
        for name in keys(&one, &two) {
            unit(walk, &format!("{path}.d/{name}"), one.get(name), two.get(name));
        }
    }
}

/// The text of a unit.
fn whole(unit: Option<&Map>) -> Option<&str> {
    unit.and_then(|unit| unit.get("contents")).and_then(Data::text)
}

/// A unit or a drop-in.
fn unit(walk: &mut Walk<'_>, path: &str, old: Option<&Map>, new: Option<&Map>) {
    walk.step(StepKind::File, path, |walk| {
        walk.kind = ChangeKind::Unit;
        let empty = Map::new();
        let (one, two) = (whole(old), whole(new));
        match (one, two) {
            (Some(one), Some(two)) => open::content(walk, path, one.as_bytes(), two.as_bytes()),
            (one, two) => {
                let shown = |text: Option<&str>| text.map(|text| open::shown(path, text.as_bytes(), false));
                if let Some(edit) = walk::edit(shown(one), shown(two)) {
                    walk.push(ChangeKind::Unit, edit);
                }
            }
        }
        let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
        walk.kind = ChangeKind::Unit;
        for key in fields::keys(old, new) {
            if !matches!(key, "name" | "contents" | "dropins") {
                walk.field(key, |walk| fields::compare(walk, old.get(key), new.get(key)));
            }
        }
    });
}
