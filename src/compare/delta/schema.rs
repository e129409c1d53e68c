//! CustomResourceDefinitions: versions, then the schema by path, and whether it allows more or less now.
//!
//! A place is `Object / version / fields … / rule`: fields are those of the described objects, `[]` stands for list
//! items and `{}` for map values, and constraints are rules.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::data::{Data, Map};
use super::walk::{self, Walk};
use super::{ChangeKind, StepKind, Tone, fields};

/// Longer rules are truncated when used as names.
const NAME: usize = 80;

/// Compares two definitions of the same name.
pub(super) fn definition(walk: &mut Walk<'_>, old: &Data, new: &Data) {
    let (Some(one), Some(two)) = (versions(old), versions(new)) else {
        return fields::compare(walk, Some(old), Some(new));
    };
    let rest = |data: &Data| match data {
        Data::Map(map) => {
            let spec = |data: &Data| match data {
                Data::Map(spec) => {
                    Data::Map(spec.iter().filter(|(key, _)| *key != "versions").map(copy).collect())
                }
                other => other.clone(),
            };
            let keep = |(key, value): (&String, &Data)| match key.as_str() {
                "spec" => (key.clone(), spec(value)),
                _ => copy((key, value)),
            };
            Data::Map(map.iter().map(keep).collect())
        }
        other => other.clone(),
    };
    fields::compare(walk, Some(&rest(old)), Some(&rest(new)));
    let names: BTreeSet<&str> = one.keys().chain(two.keys()).copied().collect();
    for name in names {
        walk.item(name, |walk| match (one.get(name), two.get(name)) {
            (Some(old), Some(new)) => version(walk, old, new),
            (old, new) => {
                let tone = if new.is_some() { Tone::Loosened } else { Tone::Tightened };
                record(
                    walk,
                    old.map(|map| flat(map)).as_ref(),
                    new.map(|map| flat(map)).as_ref(),
                    Some(tone),
                );
            }
        });
    }
}

fn copy((key, value): (&String, &Data)) -> (String, Data) {
    (key.clone(), value.clone())
}

/// A version without its schema, which is long.
fn flat(map: &Map) -> Data {
    Data::Map(map.iter().filter(|(key, _)| *key != "schema").map(copy).collect())
}

fn versions(data: &Data) -> Option<BTreeMap<&str, &Map>> {
    let mut found = BTreeMap::new();
    for version in data.at(&["spec", "versions"])?.list()? {
        if found.insert(version.get("name")?.word()?, version.map()?).is_some() {
            return None;
        }
    }
    Some(found)
}

fn version(walk: &mut Walk<'_>, old: &Map, new: &Map) {
    for key in fields::keys(old, new) {
        let (one, two) = (old.get(key), new.get(key));
        match (key, one, two) {
            (_, Some(one), Some(two)) if one.same(two) => {}
            ("schema", Some(Data::Map(one)), Some(Data::Map(two))) => {
                let empty = Map::new();
                let (one, two) = (schema(one).unwrap_or(&empty), schema(two).unwrap_or(&empty));
                rules(walk, one, two);
            }
            ("served", ..) => {
                rule(walk, key, one, two, more(two.is_some_and(is_true), one.is_some_and(is_true)))
            }
            _ => rule(walk, key, one, two, None),
        }
    }
}

fn schema(map: &Map) -> Option<&Map> {
    map.get("openAPIV3Schema").and_then(Data::map)
}

/// Compares the rules for one value.
fn rules(walk: &mut Walk<'_>, old: &Map, new: &Map) {
    for key in fields::keys(old, new) {
        let (one, two) = (old.get(key), new.get(key));
        match (key, one, two) {
            (_, Some(one), Some(two)) if one.same(two) => {}
            ("properties", None | Some(Data::Map(_)), None | Some(Data::Map(_))) => {
                properties(walk, one.and_then(Data::map), two.and_then(Data::map));
            }
            ("items", Some(Data::Map(one)), Some(Data::Map(two))) => {
                walk.item("[]", |walk| rules(walk, one, two))
            }
            ("additionalProperties", Some(Data::Map(one)), Some(Data::Map(two))) => {
                walk.item("{}", |walk| rules(walk, one, two));
            }
            ("additionalProperties", ..) => {
                let open =
                    |data: Option<&Data>| data.is_some_and(|data| data.map().is_some() || is_true(data));
                rule(walk, key, one, two, more(open(two), open(one)));
            }
            ("enum", Some(Data::List(one)), Some(Data::List(two))) => {
                set(walk, key, one, two, Tone::Loosened)
            }
            ("required", None | Some(Data::List(_)), None | Some(Data::List(_))) => {
                let list = |data: Option<&Data>| data.and_then(Data::list).unwrap_or_default().to_vec();
                set(walk, key, &list(one), &list(two), Tone::Tightened);
            }
            ("x-kubernetes-validations", None | Some(Data::List(_)), None | Some(Data::List(_))) => {
                let list = |data: Option<&Data>| data.and_then(Data::list).unwrap_or_default().to_vec();
                walk.step(StepKind::Rule, key, |walk| validations(walk, &list(one), &list(two)));
            }
            _ => rule(walk, key, one, two, tone(key, one, two)),
        }
    }
}

fn properties(walk: &mut Walk<'_>, old: Option<&Map>, new: Option<&Map>) {
    let empty = Map::new();
    let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
    for key in fields::keys(old, new) {
        let (one, two) = (old.get(key), new.get(key));
        match (one, two) {
            (Some(one), Some(two)) if one.same(two) => {}
            (Some(Data::Map(one)), Some(Data::Map(two))) => walk.field(key, |walk| rules(walk, one, two)),
            // A new field may be set now; a removed field may not.
            _ => walk.field(key, |walk| record(walk, one, two, more(two.is_some(), one.is_some()))),
        }
    }
}

fn rule(walk: &mut Walk<'_>, name: &str, old: Option<&Data>, new: Option<&Data>, tone: Option<Tone>) {
    walk.step(StepKind::Rule, name, |walk| record(walk, old, new, tone));
}

fn record(walk: &mut Walk<'_>, old: Option<&Data>, new: Option<&Data>, tone: Option<Tone>) {
    let shown = |data: Option<&Data>| data.map(|data| walk.shown(data));
    if let Some(edit) = walk::edit(shown(old), shown(new)) {
        walk.record(ChangeKind::Schema, edit, tone, None);
    }
}

/// Reports values one by one; `added` is the meaning of an additional value.
fn set(walk: &mut Walk<'_>, name: &str, old: &[Data], new: &[Data], added: Tone) {
    let less = if added == Tone::Loosened { Tone::Tightened } else { Tone::Loosened };
    let only = |from: &'_ [Data], other: &[Data]| -> Vec<Data> {
        from.iter().filter(|one| !other.iter().any(|two| two.same(one))).cloned().collect()
    };
    walk.step(StepKind::Rule, name, |walk| {
        for one in only(old, new) {
            walk.item(one.word().unwrap_or("null"), |walk| record(walk, Some(&one), None, Some(less)));
        }
        for two in only(new, old) {
            walk.item(two.word().unwrap_or("null"), |walk| record(walk, None, Some(&two), Some(added)));
        }
    });
}

/// Compares CEL rules, by their text.
fn validations(walk: &mut Walk<'_>, old: &[Data], new: &[Data]) {
    let read = |list: &[Data]| -> Map {
        list.iter()
            .map(|rule| (rule.get("rule").and_then(Data::word).unwrap_or_default().to_owned(), rule.clone()))
            .collect()
    };
    let (old, new) = (read(old), read(new));
    for key in fields::keys(&old, &new) {
        let (one, two) = (old.get(key), new.get(key));
        if let (Some(one), Some(two)) = (one, two)
            && one.same(two)
        {
            continue;
        }
        let name = match key.char_indices().nth(NAME) {
            Some((end, _)) => format!("{}…", &key[..end]),
            None => key.to_owned(),
        };
        walk.item(&name, |walk| record(walk, one, two, more(one.is_some(), two.is_some())));
    }
}

/// Whether a rule allows more now.
fn tone(rule: &str, old: Option<&Data>, new: Option<&Data>) -> Option<Tone> {
    let number = |data: Option<&Data>| data.and_then(Data::word).and_then(|text| text.parse::<f64>().ok());
    let bound = |missing: f64| {
        let (one, two) = (number(old).unwrap_or(missing), number(new).unwrap_or(missing));
        one.partial_cmp(&two)
    };
    let flag = |data: Option<&Data>| data.is_some_and(is_true);
    match rule {
        "maximum" | "maxLength" | "maxItems" | "maxProperties" => ordered(bound(f64::INFINITY)),
        "minimum" | "minLength" | "minItems" | "minProperties" => {
            ordered(bound(f64::NEG_INFINITY).map(Ordering::reverse))
        }
        "nullable" | "x-kubernetes-preserve-unknown-fields" | "x-kubernetes-int-or-string" => {
            more(flag(new), flag(old))
        }
        "exclusiveMinimum" | "exclusiveMaximum" | "uniqueItems" => more(flag(old), flag(new)),
        "pattern" | "format" | "multipleOf" | "not" | "enum" | "allOf" | "anyOf" | "oneOf" => {
            more(old.is_some(), new.is_some())
        }
        "type" => match (old.and_then(Data::word), new.and_then(Data::word)) {
            (Some("integer"), Some("number")) => Some(Tone::Loosened),
            (Some("number"), Some("integer")) => Some(Tone::Tightened),
            (one, two) => more(one.is_some(), two.is_some()),
        },
        "x-kubernetes-list-type" => {
            let keyed = |data: Option<&Data>| matches!(data.and_then(Data::word), Some("set" | "map"));
            more(keyed(old), keyed(new))
        }
        _ => None,
    }
}

/// `Less` means that the limit grew.
fn ordered(order: Option<Ordering>) -> Option<Tone> {
    match order? {
        Ordering::Less => Some(Tone::Loosened),
        Ordering::Greater => Some(Tone::Tightened),
        Ordering::Equal => None,
    }
}

/// `wide` and not `narrow`: more is allowed; the other way round less; else unknown.
fn more(wide: bool, narrow: bool) -> Option<Tone> {
    match (wide, narrow) {
        (true, false) => Some(Tone::Loosened),
        (false, true) => Some(Tone::Tightened),
        _ => None,
    }
}

fn is_true(data: &Data) -> bool {
    matches!(data, Data::Bool(true))
}
