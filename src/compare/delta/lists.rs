//! Lists: items with a key are paired by it, in any order; others in order, similar items paired.

use std::collections::BTreeMap;

use imara_diff::{Algorithm, Diff, InternedInput};

use super::data::Data;
use super::fields;
use super::walk::Walk;
use crate::base::redact;

/// Keys of items in Kubernetes lists, most specific first. The second key may be absent.
pub(crate) const KEYS: [&[&str]; 17] = [
    &["kind", "namespace", "name"],
    &["name"],
    &["containerPort", "protocol"],
    &["port", "protocol"],
    &["mountPath"],
    &["devicePath"],
    &["key", "operator", "effect"],
    &["path"],
    &["topologyKey"],
    &["uid"],
    &["id"],
    &["ip"],
    &["type"],
    &["hostname"],
    &["cidr"],
    &["source"],
    &["version"],
];
/// Maximum number of pairs to compare when searching for similar items.
const PAIRS: usize = 10_000;
/// Longer scalars are neither item names nor keys.
const NAME: usize = 80;
const LONG: usize = 512;

/// Compares two lists that differ.
pub(super) fn compare(walk: &mut Walk<'_>, old: &[Data], new: &[Data]) {
    match KEYS.iter().find_map(|keys| Some((keyed(old, keys)?, keyed(new, keys)?))) {
        Some((one, two)) if !old.is_empty() && !new.is_empty() => {
            let names: std::collections::BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            for name in names {
                let (one, two) = (one.get(name).copied(), two.get(name).copied());
                walk.item(name, |walk| fields::compare(walk, one, two));
            }
        }
        _ => ordered(walk, old, new),
    }
}

/// Items by their key; none if an item has no key, or two have the same.
fn keyed<'d>(items: &'d [Data], keys: &[&str]) -> Option<BTreeMap<String, &'d Data>> {
    let mut found = BTreeMap::new();
    for item in items {
        let map = item.map()?;
        let mut words = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            match map.get(*key) {
                Some(data) => words.push(format!("{key}={}", data.word().filter(|word| word.len() <= LONG)?)),
                // The others have defaults.
                None if at == 0 || *key == "name" => return None,
                None => {}
            }
        }
        if found.insert(words.join(","), item).is_some() {
            return None;
        }
    }
    Some(found)
}

/// Compares items in order: equal ones stay, similar ones are paired.
pub(super) fn ordered(walk: &mut Walk<'_>, old: &[Data], new: &[Data]) {
    for (gone, come) in gaps(old, new) {
        let mut come: Vec<(usize, &Data)> = come.map(|at| (at, &new[at])).collect();
        let few = gone.len() * come.len() <= PAIRS;
        let lone = gone.len() == 1 && come.len() == 1;
        for at in gone {
            let one = &old[at];
            let nameless = |data: &Data| !data.is_scalar() || name(walk, data, at) == at.to_string();
            let score = |two: &Data| {
                if lone && nameless(one) && nameless(two) { Some(1) } else { alike(one, two) }
            };
            let best = few.then(|| {
                let scores = come.iter().enumerate().map(|(index, (_, two))| (score(two), index));
                scores.filter_map(|(score, index)| Some((score?, std::cmp::Reverse(index)))).max()
            });
            match best.flatten() {
                Some((_, std::cmp::Reverse(index))) => {
                    let (to, two) = come.remove(index);
                    // Independent of direction, so that the path is the same from either side.
                    let name = at.min(to).to_string();
                    walk.item(&name, |walk| fields::compare(walk, Some(one), Some(two)));
                }
                None => walk.item(&name(walk, one, at), |walk| fields::compare(walk, Some(one), None)),
            }
        }
        for (at, two) in come {
            walk.item(&name(walk, two, at), |walk| fields::compare(walk, None, Some(two)));
        }
    }
}

/// The ranges in which two lists differ.
fn gaps(old: &[Data], new: &[Data]) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut input = InternedInput::default();
    let print = |data: &Data| format!("{data:?}");
    input.update_before(old.iter().map(print));
    input.update_after(new.iter().map(print));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let range = |range: std::ops::Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| (range(hunk.before), range(hunk.after))).collect()
}

/// How similar two items are; none if they are unrelated.
fn alike(one: &Data, two: &Data) -> Option<usize> {
    let (one, two) = (one.map()?, two.map()?);
    let same = one.iter().filter(|(key, value)| two.get(*key).is_some_and(|two| two.same(value))).count();
    (same > 0).then_some(same)
}

/// An item's value if it is short and public, else its index.
fn name(walk: &Walk<'_>, data: &Data, at: usize) -> String {
    match data.word() {
        Some(word) if walk.public && word.len() <= NAME && !word.contains('\n') => word.to_owned(),
        Some(word) if !walk.masked && word.len() <= NAME && !word.contains('\n') => {
            match redact::value(&walk.key(), word) {
                Some(word) => word.into_owned(),
                None => at.to_string(),
            }
        }
        _ => at.to_string(),
    }
}
