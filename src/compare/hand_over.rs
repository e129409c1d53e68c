//! Compares our objects with those that the operators' own renders put into the API, so that a release that needs another
//! object is noticed before its cluster stalls.
//!
//! Compares which objects exist, not their values: keys and dates differ by design. The cluster-version operator applies
//! objects that the payload has too. `render-differences.toml` gives the reason of a known difference.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::digest::ObjectId;
use crate::base::fs;
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::engine::store::{Store, StoreError};
use crate::engine::tree::EntryKind;
use crate::openshift::knowledge::{Release, RenderDifference, Table};
use crate::openshift::patch::Identity;

/// Identifies the format of the JSON document.
const SHAPE: &str = "tinderbox-hand-over/2";

/// Static pods of the bootstrap node, which are not applied to the API.
const PODS: [&str; 2] = ["bootstrap-manifests/", "etc-kubernetes/"];

/// The document of `diff hand-over render --format json`.
#[derive(Debug, Serialize)]
pub(crate) struct HandOverComparison {
    /// [`SHAPE`].
    shape: &'static str,
    /// Objects that a render writes, but neither we nor the payload.
    pub missing: Vec<MissingObject>,
    /// Objects that both write differently.
    pub different: Vec<DifferentObject>,
    /// Objects that both write alike.
    pub alike: BTreeSet<String>,
    /// Number of rendered objects that the payload has.
    pub in_payload: usize,
    pub renders: Vec<String>,
    /// Renders that failed, and why.
    pub failed: BTreeMap<String, String>,
}

/// An object that only a render writes.
#[derive(Debug, Serialize)]
pub(crate) struct MissingObject {
    pub object: String,
    pub render: String,
    pub file: String,
    /// Why that is right; none if it is unexplained.
    pub reason: Option<String>,
}

/// An object that both write.
#[derive(Debug, Serialize)]
pub(crate) struct DifferentObject {
    pub object: String,
    pub render: String,
    pub ours: String,
    pub differences: Vec<ObjectDifference>,
}

/// What only one of the two objects has.
#[derive(Debug, Serialize)]
pub(crate) struct ObjectDifference {
    /// `annotation NAME`, as the table names it.
    pub what: String,
    pub detail: String,
    /// Why that is right; none if it is unexplained.
    pub reason: Option<String>,
}

/// Objects by kind, namespace and name.
pub(crate) type Objects = BTreeMap<String, ObjectFile>;

/// An object and its file.
pub(crate) struct ObjectFile {
    file: String,
    node: YamlNode,
}

/// What the renders are compared with.
pub(crate) struct Sides<'a> {
    pub ours: &'a Objects,
    /// Names of objects that the cluster-version operator applies.
    pub payload: &'a BTreeSet<String>,
    /// Known differences.
    pub known: &'a Table<RenderDifference>,
    pub release: Option<Release>,
}

impl HandOverComparison {
    /// Compares these renders; `failed` are the ones that could not be run.
    pub(crate) fn new(
        renders: &BTreeMap<&str, Objects>,
        failed: BTreeMap<String, String>,
        sides: &Sides<'_>,
    ) -> Self {
        let mut found = Self {
            shape: SHAPE,
            missing: Vec::new(),
            different: Vec::new(),
            alike: BTreeSet::new(),
            in_payload: 0,
            renders: renders.keys().map(|name| (*name).to_owned()).collect(),
            failed,
        };
        for (render, objects) in renders {
            for (object, theirs) in objects {
                found.add(render, object, theirs, sides);
            }
        }
        found
    }

    fn add(&mut self, render: &str, object: &str, theirs: &ObjectFile, sides: &Sides<'_>) {
        let Sides { ours, payload, known, release } = *sides;
        let (name, render) = (object.to_owned(), render.to_owned());
        match ours.get(object) {
            Some(mine) => {
                let mut differences = differences(&theirs.node, &mine.node);
                if differences.is_empty() {
                    self.alike.insert(name);
                    return;
                }
                for difference in &mut differences {
                    let reason = known.why_different(object, &difference.what, release);
                    difference.reason = reason.map(str::to_owned);
                }
                let ours = mine.file.clone();
                self.different.push(DifferentObject { object: name, render, ours, differences });
            }
            None if payload.contains(object) => self.in_payload += 1,
            None => {
                let reason = known.why_missing(object, release).map(str::to_owned);
                self.missing.push(MissingObject { object: name, render, file: theirs.file.clone(), reason });
            }
        }
    }

    /// How many differences have no reason.
    pub(crate) fn unexplained(&self) -> usize {
        let differences = self.different.iter().flat_map(|one| &one.differences);
        let reasons = self.missing.iter().map(|one| &one.reason);
        reasons.chain(differences.map(|one| &one.reason)).filter(|reason| reason.is_none()).count()
    }

    /// Whether a cluster of this release would miss nothing.
    pub(crate) fn is_sound(&self) -> bool {
        self.unexplained() == 0 && self.failed.is_empty()
    }
}

/// Whether a file of a render is applied to the API.
pub(crate) fn is_for_the_api(path: &str) -> bool {
    path.contains("manifests/") && !PODS.iter().any(|pods| path.contains(pods))
}

/// What only one of two objects has: its type, its annotations, the keys of its data.
fn differences(theirs: &YamlNode, ours: &YamlNode) -> Vec<ObjectDifference> {
    let difference = |what: String, detail: String| ObjectDifference { what, detail, reason: None };
    let mut found = Vec::new();
    // A Secret without a type is opaque.
    let kind = |node: &YamlNode| node.get("type").and_then(YamlNode::text).unwrap_or("Opaque").to_owned();
    let (one, other) = (kind(theirs), kind(ours));
    if one != other {
        found.push(difference("type".into(), format!("the render's is `{one}`, ours `{other}`")));
    }
    let annotations =
        |node: &YamlNode| keys(node.get("metadata").and_then(|metadata| metadata.get("annotations")));
    let data = |node: &YamlNode| -> BTreeSet<String> {
        ["data", "stringData", "binaryData"].iter().flat_map(|field| keys(node.get(field))).collect()
    };
    for (what, theirs, ours) in
        [("annotation", annotations(theirs), annotations(ours)), ("key", data(theirs), data(ours))]
    {
        let only = |names: Vec<&String>, whose: &str| {
            names
                .into_iter()
                .map(|name| difference(format!("{what} {name}"), format!("only {whose} has it")))
                .collect::<Vec<_>>()
        };
        found.extend(only(theirs.difference(&ours).collect(), "the render's"));
        // Additional annotations are harmless: the operator adds some itself.
        if what == "key" {
            found.extend(only(ours.difference(&theirs).collect(), "ours"));
        }
    }
    found
}

fn keys(node: Option<&YamlNode>) -> BTreeSet<String> {
    match node.map(|node| &node.data) {
        Some(YamlData::Map(entries)) => entries.iter().map(|entry| entry.key.clone()).collect(),
        _ => BTreeSet::new(),
    }
}

/// The objects in the wanted files of an artifact.
pub(crate) fn read(
    store: &Store,
    object: ObjectId,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Objects, StoreError> {
    let object = store.object(object)?;
    let mut objects = Objects::new();
    for (path, entry) in object.listing.leaves("") {
        if !yaml::is_manifest(path) || !wanted(path) || !matches!(entry.kind, EntryKind::File { .. }) {
            continue;
        }
        let text = fs::read_text(&object.path.join(path))?;
        add(&mut objects, path, &text);
    }
    Ok(objects)
}

fn add(objects: &mut Objects, file: &str, text: &str) {
    for node in yaml::go_documents(Source { name: file, text }, &mut Problems::default()) {
        let identity = Identity::of(&node);
        if identity.missing().is_none() {
            objects.insert(named(&identity), ObjectFile { file: file.to_owned(), node });
        }
    }
}

fn named(identity: &Identity) -> String {
    let kind = match identity.group() {
        "" => identity.kind.clone(),
        group => format!("{}.{group}", identity.kind),
    };
    match identity.namespace.as_str() {
        "" => format!("{kind} {}", identity.name),
        namespace => format!("{kind} {namespace}/{}", identity.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openshift::knowledge::Knowledge;

    fn objects(texts: &[&str]) -> Objects {
        let mut objects = Objects::new();
        texts.iter().for_each(|text| add(&mut objects, "manifests/a.yaml", text));
        objects
    }

    fn secret(namespace: &str, name: &str, rest: &str) -> String {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{namespace: {namespace}, name: {name}{rest}}}\n")
    }

    #[test]
    fn each_difference_has_its_reason_or_none() {
        let knowledge = Knowledge::built_in().unwrap();
        let annotated = |name: &str| format!(", annotations: {{{name}: x}}");
        let render = objects(&[
            &secret("openshift-etcd", "etcd-peer-bootstrap", ""),
            &secret("openshift-etcd", "etcd-new", ""),
            &secret("a", "described", &annotated("openshift.io/description")),
            &secret("a", "other", &annotated("openshift.io/other")),
            &secret("a", "same", ""),
            &secret("a", "brought", ""),
            "apiVersion: v1\nkind: Service\nmetadata: {namespace: openshift-etcd, name: etcd}\n",
        ]);
        let ours = objects(
            &["described", "other", "same"].map(|name| secret("a", name, "")).each_ref().map(String::as_str),
        );
        let payload = ["Secret a/brought".to_owned()].into();
        let known = knowledge.render_differences.get().unwrap();
        let sides = Sides { ours: &ours, payload: &payload, known, release: Release::parse("4.22.1") };
        let found = HandOverComparison::new(&[("render/x", render)].into(), BTreeMap::new(), &sides);
        let missing: Vec<_> =
            found.missing.iter().map(|one| (one.object.as_str(), one.reason.is_some())).collect();
        assert_eq!(
            missing,
            [
                ("Secret openshift-etcd/etcd-new", false),
                ("Secret openshift-etcd/etcd-peer-bootstrap", true),
                ("Service openshift-etcd/etcd", true),
            ]
        );
        let different = found.different.iter().flat_map(|one| &one.differences);
        let different: Vec<_> = different.map(|one| (one.what.as_str(), one.reason.is_some())).collect();
        assert_eq!(
            different,
            [("annotation openshift.io/description", true), ("annotation openshift.io/other", false)]
        );
        assert_eq!((found.unexplained(), found.in_payload, found.alike.len()), (2, 1, 1));
        assert!(!found.is_sound());
    }
}
