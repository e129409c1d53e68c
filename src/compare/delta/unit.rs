//! systemd units by section and key. Keys with several values are compared value by value.

use std::collections::BTreeMap;

use super::data::Data;
use super::walk::Walk;
use super::{ChangeKind, StepKind, command, environment, lists};
use crate::openshift::ignition::{Unit, unit};

const ENDINGS: [&str; 15] = [
    ".service",
    ".socket",
    ".mount",
    ".automount",
    ".timer",
    ".target",
    ".path",
    ".slice",
    ".swap",
    ".device",
    ".scope",
    ".network",
    ".netdev",
    ".link",
    ".nmconnection",
];
/// Keys whose values are sets of words.
const SETS: [&str; 15] = [
    "After",
    "Before",
    "Wants",
    "Requires",
    "Requisite",
    "BindsTo",
    "PartOf",
    "Upholds",
    "Conflicts",
    "OnFailure",
    "WantedBy",
    "RequiredBy",
    "Also",
    "Alias",
    "RequiresMountsFor",
];

type Sections = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// Whether a file name denotes a unit.
pub(super) fn is_named(path: &str) -> bool {
    ENDINGS.iter().any(|end| path.ends_with(end))
}

/// Whether a text looks like a unit or a drop-in.
pub(super) fn is_unit(path: &str, text: &str) -> bool {
    let head = super::open::head(text);
    let mut lines =
        head.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let section = lines.next().is_some_and(|line| line.starts_with('[') && line.ends_with(']'));
    is_named(path) || (path.ends_with(".conf") && head.len() == text.len() && section)
}

/// Compares two units; false if one is invalid.
pub(super) fn compare(walk: &mut Walk<'_>, old: &str, new: &str) -> bool {
    let (old, new) = (unit(old), unit(new));
    if !old.faults.is_empty() || !new.faults.is_empty() {
        return false;
    }
    let (old, new) = (sections(old), sections(new));
    let empty = BTreeMap::new();
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (one, two) = (old.get(name).unwrap_or(&empty), new.get(name).unwrap_or(&empty));
        walk.step(StepKind::Section, name, |walk| {
            walk.kind = ChangeKind::Unit;
            let mut keys: Vec<&String> = one.keys().chain(two.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys.into_iter().filter(|key| one.get(*key) != two.get(*key)) {
                let values =
                    |side: &BTreeMap<String, Vec<String>>| side.get(key).cloned().unwrap_or_default();
                walk.field(key, |walk| value(walk, key, &values(one), &values(two)));
            }
        });
    }
    true
}

fn sections(unit: Unit) -> Sections {
    let mut sections = Sections::new();
    for (name, entries) in unit.sections {
        let section = sections.entry(name).or_default();
        for (key, value) in entries {
            section.entry(key).or_default().push(value);
        }
    }
    sections
}

/// Compares the values of one key.
fn value(walk: &mut Walk<'_>, key: &str, old: &[String], new: &[String]) {
    let resets = || old.iter().chain(new).any(String::is_empty);
    if key == "Environment" && !resets() {
        let read =
            |values: &[String]| values.iter().flat_map(|value| environment::assignments(value)).collect();
        return environment::variables(walk, read(old), read(new));
    }
    if SETS.contains(&key) && !resets() {
        return sets(walk, old, new);
    }
    match (old, new) {
        ([one], [two]) if key.starts_with("Exec") => {
            command::compare(walk, &command::words(one), &command::words(two));
        }
        ([one], [two]) => walk.texts(ChangeKind::Unit, Some(one), Some(two)),
        ([one], []) => walk.texts(ChangeKind::Unit, Some(one), None),
        ([], [two]) => walk.texts(ChangeKind::Unit, None, Some(two)),
        _ if key.starts_with("Exec") => commands(walk, old, new),
        _ => {
            let list = |values: &[String]| values.iter().cloned().map(Data::Text).collect::<Vec<_>>();
            lists::ordered(walk, &list(old), &list(new));
        }
    }
}

fn sets(walk: &mut Walk<'_>, old: &[String], new: &[String]) {
    let words = |values: &[String]| -> std::collections::BTreeSet<String> {
        values.iter().flat_map(|value| value.split_whitespace()).map(str::to_owned).collect()
    };
    let (old, new) = (words(old), words(new));
    for word in old.symmetric_difference(&new) {
        let side = |set: &std::collections::BTreeSet<String>| set.contains(word).then_some(word.as_str());
        walk.item(word, |walk| walk.texts(ChangeKind::Unit, side(&old), side(&new)));
    }
}

/// Compares several command lines in order, pairing those that run the same program.
fn commands(walk: &mut Walk<'_>, old: &[String], new: &[String]) {
    let before = walk.count();
    let mut left: Vec<(usize, &String)> =
        new.iter().enumerate().filter(|(_, line)| !old.contains(line)).collect();
    for (at, one) in old.iter().enumerate().filter(|(_, line)| !new.contains(line)) {
        let program = |line: &str| line.split_whitespace().next().map(str::to_owned);
        let found = left.iter().position(|(_, two)| program(two) == program(one));
        match found.map(|found| left.remove(found)) {
            Some((to, two)) => walk.item(&at.min(to).to_string(), |walk| {
                command::compare(walk, &command::words(one), &command::words(two));
            }),
            None => walk.item(&at.to_string(), |walk| walk.texts(ChangeKind::Unit, Some(one), None)),
        }
    }
    for (at, two) in left {
        walk.item(&at.to_string(), |walk| walk.texts(ChangeKind::Unit, None, Some(two)));
    }
    let same = old.len() == new.len() && old.iter().zip(new).all(|(one, two)| command::same(one, two));
    if walk.count() == before && !same {
        // Only their order or number differs.
        walk.texts(ChangeKind::Unit, Some(&old.join("\n")), Some(&new.join("\n")));
    }
}
