//! Kubernetes objects: how they are paired, and special kinds.

use std::collections::BTreeMap;

use super::data::Data;
use super::walk::Walk;
use super::{ChangeKind, Edit, StepKind, fields, gate, ignition, schema, secret_fields};

/// Group, kind, namespace and name: independent of the version.
type Identity = (String, String, String, String);

/// Compares the documents of two files, from which identical documents may be missing.
pub(super) fn documents(walk: &mut Walk<'_>, old: Vec<Data>, new: Vec<Data>) {
    let masked = walk.masked;
    let prepare = |documents: Vec<Data>| -> (BTreeMap<Identity, Vec<Data>>, Vec<Data>) {
        let (mut objects, mut others) = (BTreeMap::<Identity, Vec<Data>>::new(), Vec::new());
        for mut document in documents.into_iter().flat_map(flattened) {
            secret_fields::hide_secrets(&mut document, masked);
            match identity(&document) {
                Some(identity) => objects.entry(identity).or_default().push(document),
                None => others.push(document),
            }
        }
        (objects, others)
    };
    let ((old, old_others), (new, new_others)) = (prepare(old), prepare(new));
    walk.masked = false;
    objects(walk, old, new);
    let single = old_others.len() <= 1 && new_others.len() <= 1;
    for at in 0..old_others.len().max(new_others.len()) {
        let (one, two) = (old_others.get(at), new_others.get(at));
        match single {
            true => other(walk, one, two),
            false => walk.item(&at.to_string(), |walk| other(walk, one, two)),
        }
    }
    walk.masked = masked;
}

fn objects(
    walk: &mut Walk<'_>,
    mut old: BTreeMap<Identity, Vec<Data>>,
    mut new: BTreeMap<Identity, Vec<Data>>,
) {
    let mut names: Vec<Identity> = old.keys().chain(new.keys()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for name in names {
        let (mut one, mut two) = (
            old.remove(&name).unwrap_or_default().into_iter(),
            new.remove(&name).unwrap_or_default().into_iter(),
        );
        loop {
            match (one.next(), two.next()) {
                (Some(one), Some(two)) => {
                    walk.step(StepKind::Object, &show(&name), |walk| object(walk, &one, &two));
                }
                (Some(one), None) => gone.push((name.clone(), one)),
                (None, Some(two)) => come.push((name.clone(), two)),
                (None, None) => break,
            }
        }
    }
    if let ([(was, one)], [(is, two)]) = (&gone[..], &come[..])
        && (&was.0, &was.1) == (&is.0, &is.1)
    {
        return renamed(walk, (&show(was), one), (&show(is), two));
    }
    let mut lone = |name: &Identity, old: Option<&Data>, new: Option<&Data>| {
        walk.step(StepKind::Object, &show(name), |walk| {
            walk.public = is_public(&name.1);
            walk.edit(ChangeKind::Object, old, new);
        });
    };
    gone.iter().for_each(|(name, one)| lone(name, Some(one), None));
    come.iter().for_each(|(name, two)| lone(name, None, Some(two)));
}

/// The only object of its kind, renamed: other changes are reported under the new name.
fn renamed(walk: &mut Walk<'_>, (was, one): (&str, &Data), (is, two): (&str, &Data)) {
    let nameless = |data: &Data| {
        let mut data = data.clone();
        if let Data::Map(map) = &mut data
            && let Some(Data::Map(metadata)) = map.get_mut("metadata")
        {
            metadata.retain(|key, _| key != "name" && key != "namespace");
        }
        data
    };
    walk.step(StepKind::Object, is, |walk| {
        walk.push(ChangeKind::Object, Edit::Renamed { old: was.to_owned(), new: is.to_owned() });
        object(walk, &nameless(one), &nameless(two));
    });
}

fn object(walk: &mut Walk<'_>, old: &Data, new: &Data) {
    walk.kind = ChangeKind::Object;
    let kind = old.get("kind").and_then(Data::text);
    walk.public = kind.is_some_and(is_public);
    match kind {
        Some("CustomResourceDefinition") => schema::definition(walk, old, new),
        Some("FeatureGate") => gate::compare(walk, old, new),
        Some("MachineConfig") => ignition::machine_config(walk, old, new),
        _ => fields::compare(walk, Some(old), Some(new)),
    }
}

/// Whether objects of a kind have words of the release, and no values of anybody.
pub(super) fn is_public(kind: &str) -> bool {
    matches!(kind, "CustomResourceDefinition" | "FeatureGate")
}

/// A document that is not an object.
fn other(walk: &mut Walk<'_>, old: Option<&Data>, new: Option<&Data>) {
    walk.kind = ChangeKind::Data;
    if let (Some(old), Some(new)) = (old, new) {
        if secret_fields::is_ignition(old) && secret_fields::is_ignition(new) {
            return ignition::compare(walk, old, new);
        }
        if secret_fields::is_kubeconfig(old) && secret_fields::is_kubeconfig(new) {
            walk.kind = ChangeKind::Kubeconfig;
        }
    }
    fields::compare(walk, old, new);
}

/// The items of a `List`.
fn flattened(document: Data) -> Vec<Data> {
    let is_list = document.get("kind").and_then(Data::text) == Some("List");
    match document {
        Data::Map(mut map) if is_list && matches!(map.get("items"), Some(Data::List(_))) => {
            match map.remove("items") {
                Some(Data::List(items)) => items,
                _ => Vec::new(),
            }
        }
        other => vec![other],
    }
}

/// The identity of a document; none if it has none.
pub(super) fn identity(document: &Data) -> Option<Identity> {
    let text = |way: &[&str]| document.at(way).and_then(Data::word).map(str::to_owned);
    let version = text(&["apiVersion"])?;
    let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let namespace = text(&["metadata", "namespace"]).unwrap_or_default();
    Some((group, text(&["kind"])?, namespace, text(&["metadata", "name"])?))
}

/// `ConfigMap kube-system/cluster-config-v1`.
fn show((_, kind, namespace, name): &Identity) -> String {
    match namespace.as_str() {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}
