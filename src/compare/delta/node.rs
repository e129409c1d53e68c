//! The rest of an Ignition config: users, groups, directories, links, kernel arguments, other configs.

use super::data::{Data, Map, number};
use super::ignition::{keys, named};
use super::walk::Walk;
use super::{ChangeKind, fields};

/// Users and groups by name; their keys and groups are sets.
pub(super) fn users(walk: &mut Walk<'_>, old: &Data, new: &Data) {
    for list in ["users", "groups"] {
        let (one, two) = (named(old, &["passwd", list], "name"), named(new, &["passwd", list], "name"));
        walk.field("passwd", |walk| {
            walk.field(list, |walk| {
                for name in keys(&one, &two) {
                    let (one, two) = (one.get(name).copied(), two.get(name).copied());
                    walk.item(&format!("name={name}"), |walk| user(walk, one, two));
                }
            });
        });
    }
}

fn user(walk: &mut Walk<'_>, old: Option<&Map>, new: Option<&Map>) {
    let (Some(old), Some(new)) = (old, new) else {
        let data = |map: Option<&Map>| map.map(|map| Data::Map(map.clone()));
        return walk.edit(ChangeKind::Node, data(old).as_ref(), data(new).as_ref());
    };
    for key in fields::keys(old, new) {
        let (one, two) = (old.get(key), new.get(key));
        walk.field(key, |walk| match key {
            "sshAuthorizedKeys" | "groups" => set(walk, one, two),
            _ => fields::compare(walk, one, two),
        });
    }
}

fn set(walk: &mut Walk<'_>, old: Option<&Data>, new: Option<&Data>) {
    let items = |data: Option<&Data>| data.and_then(Data::list).unwrap_or_default().to_vec();
    let (old, new) = (items(old), items(new));
    let missing = |item: &Data, list: &[Data]| !list.iter().any(|other| other.same(item));
    for (at, one) in old.iter().enumerate().filter(|(_, one)| missing(one, &new)) {
        walk.item(&at.to_string(), |walk| walk.edit(ChangeKind::Node, Some(one), None));
    }
    for (at, two) in new.iter().enumerate().filter(|(_, two)| missing(two, &old)) {
        walk.item(&at.to_string(), |walk| walk.edit(ChangeKind::Node, None, Some(two)));
    }
}

/// A directory or a link.
pub(super) fn entry(walk: &mut Walk<'_>, old: Option<&Map>, new: Option<&Map>) {
    walk.kind = ChangeKind::File;
    let (Some(old), Some(new)) = (old, new) else {
        let data = |map: Option<&Map>| map.map(|map| Data::Map(map.clone()));
        return walk.edit(ChangeKind::File, data(old).as_ref(), data(new).as_ref());
    };
    for key in fields::keys(old, new) {
        walk.field(key, |walk| match key {
            "mode" => mode(walk, old.get(key), new.get(key)),
            _ => fields::compare(walk, old.get(key), new.get(key)),
        });
    }
}

/// Modes are shown in octal.
pub(super) fn mode(walk: &mut Walk<'_>, old: Option<&Data>, new: Option<&Data>) {
    let octal = |data: Option<&Data>| {
        let value = data?.word()?;
        Some(number(value).parse::<u32>().map_or_else(|_| value.to_owned(), |mode| format!("{mode:04o}")))
    };
    walk.texts(ChangeKind::File, octal(old).as_deref(), octal(new).as_deref());
}

/// Everything without a path or name, by field.
pub(super) fn rest(walk: &mut Walk<'_>, old: &Data, new: &Data) {
    let known = |way: &[&str]| {
        matches!(
            way,
            ["storage", "files" | "directories" | "links"]
                | ["systemd", "units"]
                | ["passwd", "users" | "groups"]
        )
    };
    let without = |data: &Data| -> Map {
        let mut map = data.map().cloned().unwrap_or_default();
        for (part, value) in &mut map {
            if let Data::Map(inner) = value {
                inner.retain(|key, _| !known(&[part, key]));
            }
        }
        map.retain(|_, value| value.map().is_none_or(|map| !map.is_empty()));
        map
    };
    walk.kind = ChangeKind::Node;
    fields::maps(walk, &without(old), &without(new));
}
