//! Feature gates in a FeatureGate's status: by name, enabled or disabled.

use std::collections::BTreeMap;

use super::data::Data;
use super::walk::Walk;
use super::{ChangeKind, fields};

pub(super) fn compare(walk: &mut Walk<'_>, old: &Data, new: &Data) {
    let (Some(mut one), Some(mut two)) = (versions(old), versions(new)) else {
        return fields::compare(walk, Some(old), Some(new));
    };
    let rest = |data: &Data| {
        let mut data = data.clone();
        if let Data::Map(map) = &mut data
            && let Some(Data::Map(status)) = map.get_mut("status")
        {
            status.remove("featureGates");
        }
        data
    };
    fields::compare(walk, Some(&rest(old)), Some(&rest(new)));
    walk.field("status", |walk| {
        walk.field("featureGates", |walk| {
            if let ([from], [to]) = (&one.keys().collect::<Vec<_>>()[..], &two.keys().collect::<Vec<_>>()[..])
            {
                // One release each: the version itself is not compared.
                if from != to {
                    let (from, to) = ((*from).clone(), (*to).clone());
                    walk.field("version", |walk| walk.texts(ChangeKind::Object, Some(&from), Some(&to)));
                }
                let only = |versions: &mut BTreeMap<String, _>| versions.pop_first().map(|(_, gates)| gates);
                return gates(walk, only(&mut one).unwrap_or_default(), only(&mut two).unwrap_or_default());
            }
            let mut names: Vec<String> = one.keys().chain(two.keys()).cloned().collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let side = |versions: &BTreeMap<String, _>| versions.get(&name).cloned().unwrap_or_default();
                walk.item(&format!("version={name}"), |walk| gates(walk, side(&one), side(&two)));
            }
        });
    });
}

type Gates = BTreeMap<String, &'static str>;

/// Gates by version; none if the status has another shape.
fn versions(data: &Data) -> Option<BTreeMap<String, Gates>> {
    let mut found = BTreeMap::new();
    let Some(list) = data.at(&["status", "featureGates"]) else { return Some(found) };
    for version in list.list()? {
        let mut gates = Gates::new();
        let Data::Map(map) = version else { return None };
        for (key, value) in map {
            let state = match key.as_str() {
                "version" => continue,
                "enabled" => "enabled",
                "disabled" => "disabled",
                _ => return None,
            };
            for gate in value.list()? {
                gates.insert(gate.get("name")?.word()?.to_owned(), state);
            }
        }
        let name = version.get("version").and_then(Data::word).unwrap_or_default();
        if found.insert(name.to_owned(), gates).is_some() {
            return None;
        }
    }
    Some(found)
}

fn gates(walk: &mut Walk<'_>, old: Gates, new: Gates) {
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (one, two) = (old.get(name).copied(), new.get(name).copied());
        walk.item(name, |walk| walk.texts(ChangeKind::Gate, one, two));
    }
}
