//! Compares our objects with those that the operators' own renders put into the API, so that a release that needs another
//! object is noticed before its cluster stalls.
//!
//! Compares which objects exist and all they say, but for what is in the data of Secrets and ConfigMaps: keys and bundles
//! differ by design. The cluster-version operator applies objects that the payload has too. `render-differences.toml` gives
//! the reason of a known difference.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::program_settings::{Settings, flatten};
use crate::base::digest::ObjectId;
use crate::base::fs;
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::engine::store::{Store, StoreError};
use crate::engine::tree::EntryKind;
use crate::openshift::knowledge::{Reason, Release, RenderDifferences};
use crate::openshift::patch::Identity;

/// Identifies the format of the JSON document.
const SHAPE: &str = "tinderbox-hand-over/3";

/// Static pods of the bootstrap node, which are not applied to the API.
const PODS: [&str; 2] = ["bootstrap-manifests/", "etc-kubernetes/"];

/// The document of `diff hand-over render --format json`.
#[derive(Debug, Serialize, JsonSchema)]
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
    /// Reasons in the table that explain nothing here; none if not all was compared.
    pub stale: Vec<String>,
    /// Renders that failed, and why.
    pub failed: BTreeMap<String, String>,
}

/// An object that only a render writes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MissingObject {
    pub object: String,
    pub render: String,
    pub file: String,
    /// Why that is right; none if it is unexplained.
    pub reason: Option<Reason>,
}

/// An object that both write.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DifferentObject {
    pub object: String,
    pub render: String,
    pub ours: String,
    pub differences: Vec<ObjectDifference>,
}

/// What only one of the two objects has.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ObjectDifference {
    /// `annotation NAME`, `label NAME`, `key NAME`, `type` or `field PATH`, as the table names it.
    pub what: String,
    pub detail: String,
    /// Why that is right; none if it is unexplained.
    pub reason: Option<Reason>,
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
    pub known: &'a RenderDifferences,
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
            stale: Vec::new(),
            failed,
        };
        for (render, objects) in renders {
            for (object, theirs) in objects {
                found.add(render, object, theirs, sides);
            }
        }
        if found.failed.is_empty() {
            let reasons: Vec<&Reason> = found.reasons().flatten().collect();
            found.stale = sides.known.stale_objects(&reasons, sides.release);
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
                    difference.reason = known.why_different(object, &difference.what, release);
                }
                let ours = mine.file.clone();
                self.different.push(DifferentObject { object: name, render, ours, differences });
            }
            None if payload.contains(object) => self.in_payload += 1,
            None => {
                let reason = known.why_missing(object, release);
                self.missing.push(MissingObject { object: name, render, file: theirs.file.clone(), reason });
            }
        }
    }

    /// How many differences have no reason.
    pub(crate) fn unexplained(&self) -> usize {
        self.reasons().filter(|reason| reason.is_none()).count()
    }

    /// The reason of each difference.
    fn reasons(&self) -> impl Iterator<Item = &Option<Reason>> {
        let differences = self.different.iter().flat_map(|one| &one.differences);
        self.missing.iter().map(|one| &one.reason).chain(differences.map(|one| &one.reason))
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

/// Fields that are compared by their keys alone: keys, certificates and bundles differ by design.
const DATA: [&str; 3] = ["data", "stringData", "binaryData"];

/// What differs between two objects: type, annotations, labels, keys of the data, and all other fields.
fn differences(theirs: &YamlNode, ours: &YamlNode) -> Vec<ObjectDifference> {
    let (theirs, ours) = (aspects(theirs), aspects(ours));
    let mut found = Vec::new();
    for (what, theirs) in &theirs {
        let detail = match ours.get(what) {
            None => "only the render's has it".to_owned(),
            Some(ours) if ours == theirs => continue,
            Some(ours) => format!("the render's is `{}`, ours `{}`", theirs.join(","), ours.join(",")),
        };
        found.push(ObjectDifference { what: what.clone(), detail, reason: None });
    }
    for what in ours.keys().filter(|what| !theirs.contains_key(*what)) {
        // Additional annotations and labels are harmless: the operator adds some itself.
        if !["annotation ", "label "].iter().any(|harmless| what.starts_with(harmless)) {
            let detail = "only ours has it".to_owned();
            found.push(ObjectDifference { what: what.clone(), detail, reason: None });
        }
    }
    found
}

/// Everything about an object that is compared, by name.
fn aspects(object: &YamlNode) -> Settings {
    let mut found = Settings::new();
    let YamlData::Map(entries) = &object.data else { return found };
    for entry in entries {
        match entry.key.as_str() {
            "apiVersion" | "kind" | "type" => {}
            "metadata" => {
                for (field, what) in [("annotations", "annotation"), ("labels", "label")] {
                    for (name, value) in map(entry.value.get(field)) {
                        // A list is one value here.
                        found.insert(
                            format!("{what} {name}"),
                            vec![value.text().unwrap_or_default().to_owned()],
                        );
                    }
                }
            }
            key if DATA.contains(&key) => {
                found.extend(map(Some(&entry.value)).map(|(name, _)| (format!("key {name}"), Vec::new())));
            }
            key => flatten(&entry.value, &format!("field {key}"), &mut found),
        }
    }
    if object.get("kind").and_then(YamlNode::text) == Some("Secret") {
        // A Secret without a type is opaque.
        let kind = object.get("type").and_then(YamlNode::text).unwrap_or("Opaque");
        found.insert("type".to_owned(), vec![kind.to_owned()]);
    }
    found
}

fn map(node: Option<&YamlNode>) -> impl Iterator<Item = (&str, &YamlNode)> {
    let entries = match node.map(|node| &node.data) {
        Some(YamlData::Map(entries)) => entries.as_slice(),
        _ => &[],
    };
    entries.iter().map(|entry| (entry.key.as_str(), &entry.value))
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
    use crate::openshift::knowledge::{self, TableFile};

    fn objects(texts: &[&str]) -> Objects {
        let mut objects = Objects::new();
        texts.iter().for_each(|text| add(&mut objects, "manifests/a.yaml", text));
        objects
    }

    fn secret(namespace: &str, name: &str, rest: &str) -> String {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{namespace: {namespace}, name: {name}{rest}}}\n")
    }

    const KNOWN: &str = "[[object]]\nid = 'made-later'\nobjects = ['Secret openshift-etcd/etcd-peer-*']\nreason = 'r'\nsource = 's'\n\
        [[object]]\nid = 'for-people'\nobjects = ['Secret *']\ndifferences = ['annotation openshift.io/description']\nreason = 'r'\nsource = 's'\n\
        [[object]]\nid = 'old'\nreleases = '<4.20'\nobjects = ['*']\nreason = 'r'\nsource = 's'\n\
        [[object]]\nid = 'unused'\nobjects = ['Service *']\nreason = 'r'\nsource = 's'\n";

    #[test]
    fn each_difference_has_its_reason_or_none() {
        let known = RenderDifferences::parse(knowledge::Source { file: "known.toml", text: KNOWN }).unwrap();
        let annotated = |name: &str, value: &str| format!(", annotations: {{{name}: {value}}}");
        let role = |verbs: &str| {
            format!(
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: r}}\nrules: [{{verbs: [{verbs}]}}]\n"
            )
        };
        let render = objects(&[
            &secret("openshift-etcd", "etcd-peer-bootstrap", ""),
            &secret("openshift-etcd", "etcd-new", ""),
            &secret("a", "described", &annotated("openshift.io/description", "x")),
            &secret("a", "other", &annotated("openshift.io/other", "x")),
            &secret("a", "same", &annotated("openshift.io/same", "'a,b'")),
            &secret("a", "brought", ""),
            &role("get"),
        ]);
        let ours = objects(&[
            &secret("a", "described", &annotated("openshift.io/description", "y")),
            &secret("a", "other", &annotated("openshift.io/harmless", "x")),
            &secret("a", "same", &annotated("openshift.io/same", "'a,b'")),
            &role("get, list"),
        ]);
        let payload = ["Secret a/brought".to_owned()].into();
        let sides =
            Sides { ours: &ours, payload: &payload, known: &known, release: Release::parse("4.22.1") };
        let found = HandOverComparison::new(&[("render/x", render)].into(), BTreeMap::new(), &sides);
        let missing: Vec<_> =
            found.missing.iter().map(|one| (one.object.as_str(), one.reason.is_some())).collect();
        assert_eq!(
            missing,
            [("Secret openshift-etcd/etcd-new", false), ("Secret openshift-etcd/etcd-peer-bootstrap", true)]
        );
        let different = found.different.iter().flat_map(|one| &one.differences);
        let different: Vec<_> = different.map(|one| (one.what.as_str(), one.reason.is_some())).collect();
        assert_eq!(
            different,
            [
                ("field rules[0].verbs", false),
                ("annotation openshift.io/description", true),
                ("annotation openshift.io/other", false)
            ]
        );
        assert_eq!((found.unexplained(), found.in_payload, found.alike.len()), (3, 1, 1));
        assert_eq!(found.stale, ["unused"]);
        assert!(!found.is_sound());
    }
}
