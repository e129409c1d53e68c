//! Data by field: maps by key, lists by the key of their items, scalars by their content.

use super::data::{Data, Map};
use super::walk::Walk;
use super::{ChangeKind, ShownValue, command, image, lists, open};

/// Compares two values at the current place; at least one exists.
pub(super) fn compare(walk: &mut Walk<'_>, old: Option<&Data>, new: Option<&Data>) {
    let (Some(one), Some(two)) = (old, new) else {
        return lone(walk, old, new);
    };
    if one.same(two) {
        return;
    }
    match (one, two) {
        (Data::Map(one), Data::Map(two)) => maps(walk, one, two),
        (Data::List(one), Data::List(two)) => lists::compare(walk, one, two),
        (Data::Text(one) | Data::Hidden(one), Data::Text(two) | Data::Hidden(two)) => {
            let hidden = matches!(old, Some(Data::Hidden(_))) || matches!(new, Some(Data::Hidden(_)));
            texts(walk, one, two, hidden);
        }
        _ => walk.edit(walk.kind, old, new),
    }
}

/// Two maps, key by key.
pub(super) fn maps(walk: &mut Walk<'_>, old: &Map, new: &Map) {
    for key in keys(old, new) {
        if let (Some(one), Some(two)) = (old.get(key), new.get(key))
            && one.same(two)
        {
            continue;
        }
        walk.field(key, |walk| {
            // Headers of requests may contain credentials.
            walk.masked |= key == "httpHeaders";
            if key == "featureGates" || key == "feature-gates" {
                return gates(walk, old.get(key), new.get(key));
            }
            if (key == "command" || key == "args") && command::is_list(old.get(key), new.get(key)) {
                return command::lists(walk, old.get(key), new.get(key));
            }
            compare(walk, old.get(key), new.get(key));
        });
    }
}

/// The keys of both, in order.
pub(super) fn keys<'m>(old: &'m Map, new: &'m Map) -> Vec<&'m str> {
    let mut keys: Vec<&str> = old.keys().chain(new.keys()).map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A value on one side only: the images of a map or list are reported one by one.
fn lone(walk: &mut Walk<'_>, old: Option<&Data>, new: Option<&Data>) {
    let kind = match old.or(new) {
        Some(Data::Text(text)) if image::is_reference(text) => {
            let show = |data: Option<&Data>| {
                data.and_then(Data::text).map(|text| Data::Text(image::show(text, walk.context)))
            };
            let (old, new) = (show(old), show(new));
            return walk.edit(ChangeKind::Image, old.as_ref(), new.as_ref());
        }
        _ => walk.kind,
    };
    walk.edit(kind, old, new);
}

/// Two different texts: images, embedded files, or plain texts.
fn texts(walk: &mut Walk<'_>, old: &str, new: &str, hidden: bool) {
    if !hidden && !walk.masked && image::is_reference(old) && image::is_reference(new) {
        return image::compare(walk, old, new);
    }
    if open::embedded(walk, old, new, hidden) {
        return;
    }
    if hidden || walk.masked {
        return walk
            .push(walk.kind, super::Edit::Changed { old: ShownValue::Secret, new: ShownValue::Secret });
    }
    walk.texts(walk.kind, Some(old), Some(new));
}

/// Feature gates in a map of booleans or a list of `Name=true`; anything else is compared as data.
fn gates(walk: &mut Walk<'_>, old: Option<&Data>, new: Option<&Data>) {
    let read = |data: Option<&Data>| -> Option<Map> {
        match data {
            None => Some(Map::new()),
            Some(Data::Map(map)) => {
                map.values().all(|value| matches!(value, Data::Bool(_))).then(|| map.clone())
            }
            Some(Data::List(items)) => items
                .iter()
                .map(|item| {
                    let (name, value) = item.word()?.split_once('=')?;
                    Some((name.to_owned(), Data::Text(value.to_owned())))
                })
                .collect(),
            _ => None,
        }
    };
    match (read(old), read(new)) {
        (Some(old), Some(new)) if old.len() + new.len() > 0 => {
            for key in keys(&old, &new) {
                let (one, two) = (old.get(key), new.get(key));
                if one.and_then(Data::word) != two.and_then(Data::word) {
                    walk.item(key, |walk| walk.edit(ChangeKind::Gate, one, two));
                }
            }
        }
        _ => compare(walk, old, new),
    }
}
