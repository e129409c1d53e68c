//! `diff hand-over render`: compares our objects with those that the operators' own renders put into the API, so that a
//! release that needs another object is noticed before its cluster stalls.
//!
//! Compares which objects exist, not their values: keys and dates differ by design. The cluster-version operator
//! applies objects that the payload has too.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::digest::ObjectId;
use crate::base::fs;
use crate::base::hint::{Problems, chain};
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::cli::output::{Colour, line, stdout_paint};
use crate::cli::{Error, Result};
use crate::engine::exec::{self, Options};
use crate::engine::store::Store;
use crate::engine::tree::EntryKind;
use crate::openshift::patch::Identity;
use crate::openshift::workspace::{Env, Missing, Workspace};

/// The source of our objects, with all patches.
const OURS: &str = "patched";
/// What the cluster-version operator applies, and CRDs, which are applied before anything else.
const PAYLOAD: [&str; 3] = ["release/payload", "release/image", "release/crds"];
/// Input of the renders, not output.
const INPUTS: &str = "render/inputs";
/// Static pods of the bootstrap node, which are not applied to the API.
const PODS: [&str; 2] = ["bootstrap-manifests/", "etc-kubernetes/"];

/// Identifies the format of the JSON document.
const SHAPE: &str = "tinderbox-hand-over/1";

#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    /// [`SHAPE`].
    shape: &'static str,
    /// Objects that a render writes, but neither we nor the payload.
    missing: Vec<Rendered>,
    /// Objects that both write differently.
    different: Vec<Different>,
    /// Objects that both write alike.
    alike: Vec<String>,
    /// Number of rendered objects that the payload has.
    in_payload: usize,
    renders: Vec<String>,
    /// Renders that failed, and why.
    failed: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Rendered {
    object: String,
    render: String,
    file: String,
}

/// An object that both write.
#[derive(Debug, Serialize)]
pub(super) struct Different {
    object: String,
    render: String,
    ours: String,
    /// What only one of the two has.
    differences: Vec<String>,
}

impl Comparison {
    /// Whether a cluster of this release would miss nothing.
    pub(super) fn is_alike(&self) -> bool {
        self.missing.is_empty() && self.different.is_empty() && self.failed.is_empty()
    }
}

pub(super) fn show(found: &Comparison) {
    let list = |title: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            line(stdout_paint(title, Colour::Cyan));
            rows.iter().for_each(|row| line(format!("  {row}")));
        }
    };
    let missing = found.missing.iter().map(|one| format!("{} ({}:{})", one.object, one.render, one.file));
    list("made by a render, and not by us", missing.collect());
    let different = found.different.iter().flat_map(|one| {
        let head = format!("{} ({}, ours {})", one.object, one.render, one.ours);
        std::iter::once(head).chain(one.differences.iter().map(|what| format!("  {what}")))
    });
    list("not alike", different.collect());
    list(
        "renders that could not be run",
        found.failed.iter().map(|(name, why)| format!("{name}: {why}")).collect(),
    );
    line(format!(
        "{} renders: {} objects alike, {} that the payload brings, {} not alike, {} missing here",
        found.renders.len(),
        found.alike.len(),
        found.in_payload,
        found.different.len(),
        found.missing.len()
    ));
}

/// An object and its file.
struct Found {
    file: String,
    node: YamlNode,
}

type Objects = BTreeMap<String, Found>;

/// Compares all renders that can be run, and lists the others.
pub(super) fn compare(env: Env<'_>, jobs: usize) -> Result<Comparison> {
    let workspace = Workspace::load(env, Missing::Make)?;
    let names = [OURS, "render"].into_iter().chain(PAYLOAD).map(str::to_owned).collect::<Vec<_>>();
    let targets = workspace.select(&names)?;
    let session = workspace.session(env)?;
    let outcome =
        exec::build(workspace.context(env, &session), &targets, Options { jobs, keep_going: true })?;
    if outcome.cancelled {
        return Err(Error::Interrupted { kept: outcome.built.len() });
    }
    let nodes = workspace.graph.nodes();
    let done: BTreeMap<&str, ObjectId> = targets
        .iter()
        .filter_map(|at| Some((nodes[*at].name.as_str(), outcome.done.get(at)?.output.object)))
        .collect();
    let mut failed: BTreeMap<String, String> =
        outcome.failed.iter().map(|(name, error)| (name.clone(), chain(&**error))).collect();
    failed.extend(outcome.skipped.iter().map(|name| (name.clone(), "what it needs failed".to_owned())));
    let is_render = |name: &str| name.starts_with("render/") && name != INPUTS;
    let renders: Vec<&str> = done.keys().copied().filter(|name| is_render(name)).collect();
    if let (true, Some((_, error))) = (renders.is_empty(), outcome.failed.into_iter().next()) {
        return Err(error.into());
    }
    let objects = |name: &str, wanted: &dyn Fn(&str) -> bool| match done.get(name) {
        Some(object) => read(session.store(), *object, wanted),
        None => Err(Error::NotBuilt { target: name.to_owned() }),
    };
    let ours = objects(OURS, &|path| path.starts_with("manifests/"))?;
    let mut payload = BTreeSet::new();
    for name in PAYLOAD {
        payload.extend(objects(name, &|_| true)?.into_keys());
    }
    let mut found = Comparison {
        shape: SHAPE,
        missing: Vec::new(),
        different: Vec::new(),
        alike: Vec::new(),
        in_payload: 0,
        renders: renders.iter().map(|name| (*name).to_owned()).collect(),
        failed,
    };
    for render in renders {
        let rendered = objects(render, &is_for_the_api)?;
        found.add(render, &rendered, &ours, &payload);
    }
    found.alike.sort();
    found.alike.dedup();
    Ok(found)
}

impl Comparison {
    fn add(&mut self, render: &str, rendered: &Objects, ours: &Objects, payload: &BTreeSet<String>) {
        for (object, theirs) in rendered {
            let (object, render) = (object.clone(), render.to_owned());
            match ours.get(&object) {
                Some(mine) => {
                    let differences = differences(&theirs.node, &mine.node);
                    if differences.is_empty() {
                        self.alike.push(object);
                    } else {
                        self.different.push(Different {
                            object,
                            render,
                            ours: mine.file.clone(),
                            differences,
                        });
                    }
                }
                None if payload.contains(&object) => self.in_payload += 1,
                None => self.missing.push(Rendered { object, render, file: theirs.file.clone() }),
            }
        }
    }
}

/// Whether a file of a render is applied to the API.
fn is_for_the_api(path: &str) -> bool {
    path.contains("manifests/") && !PODS.iter().any(|pods| path.contains(pods))
}

/// What only one of two objects has: its type, its annotations, the keys of its data.
fn differences(theirs: &YamlNode, ours: &YamlNode) -> Vec<String> {
    let mut found = Vec::new();
    // A Secret without a type is opaque.
    let kind = |node: &YamlNode| node.get("type").and_then(YamlNode::text).unwrap_or("Opaque").to_owned();
    let (one, other) = (kind(theirs), kind(ours));
    if one != other {
        found.push(format!("type: the render's is `{one}`, ours `{other}`"));
    }
    let annotations =
        |node: &YamlNode| keys(node.get("metadata").and_then(|metadata| metadata.get("annotations")));
    let data = |node: &YamlNode| -> BTreeSet<String> {
        ["data", "stringData", "binaryData"].iter().flat_map(|field| keys(node.get(field))).collect()
    };
    for (what, theirs, ours) in
        [("annotation", annotations(theirs), annotations(ours)), ("key", data(theirs), data(ours))]
    {
        found.extend(
            theirs.difference(&ours).map(|name| format!("{what} `{name}`: only the render's has it")),
        );
        // Additional annotations are harmless: the operator adds some itself.
        if what == "key" {
            found.extend(ours.difference(&theirs).map(|name| format!("{what} `{name}`: only ours has it")));
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

/// The objects of an artifact, by kind, namespace and name.
fn read(store: &Store, object: ObjectId, wanted: &dyn Fn(&str) -> bool) -> Result<Objects> {
    let object = store.object(object)?;
    let mut objects = Objects::new();
    for (path, entry) in object.listing.leaves("") {
        if !yaml::is_manifest(path) || !wanted(path) || !matches!(entry.kind, EntryKind::File { .. }) {
            continue;
        }
        let text = fs::read_text(&object.path.join(path))?;
        let mut problems = Problems::default();
        for node in yaml::documents(Source { name: path, text: &text }, &mut problems) {
            let identity = Identity::of(&node);
            if identity.missing().is_none() {
                objects.insert(named(&identity), Found { file: path.to_owned(), node });
            }
        }
    }
    Ok(objects)
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
