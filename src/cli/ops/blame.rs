//! `blame`: where a file comes from: the way back through the graph to the derivation that wrote it, the lines of its
//! template, the config fields that decided them, and the images that it came out of.
//!
//! Names are in no output, so the way is found by content: the input that has the same file. At a node's configuration
//! its list of entries says it, and at a patch it is the file that the patch changed.

use std::collections::BTreeSet;

use serde::Serialize;

use super::explain::lines::Template;
use super::explain::origin::{origin, origins};
use super::explain::{Kind, Origin};
use super::node::{self, NodeEntry};
use super::show::Found;
use super::{Env, OpsError, Result};
use crate::base::fs;
use crate::base::hint::{Place, near};
use crate::base::value::Value;
use crate::engine::recipe::{Edge, GraphNode, NodeIndex};
use crate::engine::tree::{Listing, TreeEntry, leaf};
use crate::openshift::ignition::OriginKind;

#[derive(Debug, Serialize)]
pub(crate) struct Blame {
    pub target: String,
    /// The file in it, or on the node.
    pub path: String,
    /// What a node's configuration says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<NodeEntry>,
    /// Why it is on the node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// Why it may replace what the base has there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// The way back: the artifact first, the derivation that wrote the file last.
    pub way: Vec<BlameStep>,
    /// The template, if one wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Lines with values in them, by the line of the template that wrote them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<BlameLine>,
    /// Config fields and inputs that decided it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
    /// Images that it, or what made it, came out of: the derivation that names one, and the image by digest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<(String, String)>,
}

/// One derivation on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BlameStep {
    pub derivation: String,
    /// The file in its output; empty if it is the whole of it.
    pub path: String,
    pub recipe: String,
    pub builder: String,
}

/// A line of the file that has a value in it.
#[derive(Debug, Serialize)]
pub(crate) struct BlameLine {
    /// Its number, from 1.
    pub line: usize,
    /// The line of the template that wrote it.
    pub template: Place,
    pub names: Vec<String>,
}

/// Says where `NAME:PATH` comes from.
pub(crate) fn blame(env: Env<'_>, target: &str) -> Result<Blame> {
    let Some((name, path)) = target.split_once(':') else {
        return Err(OpsError::Usage {
            message: format!("`{target}` names no file"),
            advice: Some(format!("name one: `{target}:PATH`; `tinderbox show {target}` lists them")),
        });
    };
    let found = Found::find(env, name)?;
    let entries = node::entries(&found)?;
    let mut blame = Blame {
        target: name.to_owned(),
        path: path.to_owned(),
        entry: None,
        why: Vec::new(),
        replaces: Vec::new(),
        way: Vec::new(),
        template: None,
        lines: Vec::new(),
        origins: Vec::new(),
        images: Vec::new(),
    };
    let walk = BlameWalk { found: &found };
    if path.starts_with('/') && !entries.is_empty() {
        let entry = node::find(&entries, name, path)?.clone();
        let tell = |of: fn(&crate::openshift::ignition::Origin) -> Option<&String>| {
            entry.origins.iter().filter_map(of).cloned().collect::<Vec<_>>()
        };
        blame.why = tell(|origin| Some(&origin.why));
        blame.replaces = tell(|origin| origin.replaces.as_ref());
        walk.entry(&entry, &mut blame);
        blame.entry = Some(entry);
    } else {
        if found.object.listing.get(path).is_none() {
            let paths = found.object.listing.leaves("").map(|(path, _)| path);
            let advice = near(path, paths).map(|near| format!("did you mean `{near}`?"));
            return Err(OpsError::NoPath { target: name.to_owned(), path: path.to_owned(), advice });
        }
        walk.back(found.at(), path.to_owned(), &mut blame);
    }
    Ok(blame)
}

struct BlameWalk<'f> {
    found: &'f Found,
}

impl BlameWalk<'_> {
    fn node(&self, at: NodeIndex) -> &GraphNode {
        &self.found.workspace.graph.nodes()[at]
    }

    fn listing(&self, at: NodeIndex) -> Option<Listing> {
        Some(self.found.store.object(self.found.done.get(&at)?.output.object).ok()?.listing)
    }

    fn step(&self, at: NodeIndex, path: &str, blame: &mut Blame) {
        let node = self.node(at);
        blame.way.push(BlameStep {
            derivation: node.name.clone(),
            path: path.to_owned(),
            recipe: node.recipe.clone(),
            builder: node.builder.0.clone(),
        });
    }

    /// From an entry of a node's configuration.
    fn entry(&self, entry: &NodeEntry, blame: &mut Blame) {
        let (at, node) = (self.found.at(), self.found.node());
        self.step(at, &format!("tree{}", entry.on_node()), blame);
        for one in &entry.origins {
            match (one.kind, node.inputs.get(&one.name)) {
                (OriginKind::Base | OriginKind::Input | OriginKind::MachineConfig, Some(edge)) => {
                    let inside = join(edge, &one.path);
                    self.back(edge.node, inside, blame);
                }
                (OriginKind::Template, _) => {
                    self.template(at, &one.name, &format!("tree{}", entry.on_node()), blame);
                }
                (OriginKind::Config, _) => blame.origins.extend(origin(node, &one.name)),
                _ => {}
            }
        }
    }

    /// Back to who wrote a file.
    fn back(&self, mut at: NodeIndex, mut path: String, blame: &mut Blame) {
        loop {
            self.step(at, &path, blame);
            let node = self.node(at);
            if let Some(before) = self.unchanged(at, &path) {
                (at, path) = before;
            } else if let (true, Some(edge)) = (node.builder.0 == "patch", node.inputs.get("tree")) {
                at = edge.node;
            } else {
                break;
            }
        }
        self.written(at, &path, blame);
    }

    /// The input that has this file too, and the path there.
    fn unchanged(&self, at: NodeIndex, path: &str) -> Option<(NodeIndex, String)> {
        let wanted: TreeEntry = self.listing(at)?.get(path)?.clone();
        self.node(at).inputs.values().find_map(|edge| {
            let listing = self.listing(edge.node)?;
            let mut leaves = listing.leaves(edge.path.as_deref().unwrap_or_default());
            let found = leaves.find(|(found, entry)| **entry == wanted && leaf(found) == leaf(path))?.0;
            Some((edge.node, found.to_owned()))
        })
    }

    /// What decided a file, by the derivation that wrote it.
    fn written(&self, at: NodeIndex, path: &str, blame: &mut Blame) {
        let node = self.node(at);
        if node.builder.0 == "template" && node.files.contains_key(path) {
            return self.template(at, path, path, blame);
        }
        for (alias, ..) in &node.reads {
            blame.origins.extend(origin(node, alias));
        }
        for (alias, edge) in &node.inputs {
            let from = join_name(edge);
            blame.origins.push(Origin { name: alias.clone(), kind: Kind::Input, from, places: Vec::new() });
        }
        // What is made of all of it came out of every image behind it.
        let behind = self.found.workspace.graph.closure(&[at]);
        blame.images = behind.into_iter().filter_map(|at| self.image(at)).collect();
    }

    /// The image that a derivation unpacks or runs.
    fn image(&self, at: NodeIndex) -> Option<(String, String)> {
        let node = self.node(at);
        if !["image", "run"].contains(&node.builder.0.as_str()) {
            return None;
        }
        let digest = node.params.get("config").and_then(|config| config.get("digest"));
        let named = node.inputs.values().find_map(|edge| self.reference(edge));
        let image = named.or_else(|| digest.and_then(Value::as_text).map(str::to_owned))?;
        Some((node.name.clone(), image))
    }

    /// What an input says, if it is an image by digest.
    fn reference(&self, edge: &Edge) -> Option<String> {
        let path = edge.path.as_ref()?;
        let object = self.found.store.object(self.found.done.get(&edge.node)?.output.object).ok()?;
        let entry = object.listing.get(path).filter(|entry| !entry.secret && entry.size() < 1024)?;
        let text = matches!(entry.kind, crate::engine::tree::EntryKind::File { .. })
            .then(|| fs::read_text(&object.path.join(path)).ok())
            .flatten()?;
        text.contains("@sha256:").then(|| text.trim().to_owned())
    }

    /// A file that a template wrote: its lines, and what their names are.
    fn template(&self, at: NodeIndex, alias: &str, path: &str, blame: &mut Blame) {
        let node = self.node(at);
        blame.template = node.files.get(alias).cloned();
        let template = Template::new(node, alias);
        let all: Vec<usize> = (0..template.lines.len()).collect();
        blame.origins.extend(origins(node, &template, &all));
        let object =
            self.found.done.get(&at).and_then(|done| self.found.store.object(done.output.object).ok());
        let text = object.and_then(|object| {
            let entry = object.listing.get(path)?;
            // Where a value is in a secret file is told, and nothing of it.
            matches!(entry.kind, crate::engine::tree::EntryKind::File { .. }).then_some(())?;
            fs::read_text(&object.path.join(path)).ok()
        });
        let output: Vec<&str> = text.as_deref().unwrap_or_default().lines().collect();
        for (number, found) in template.align(&output).into_iter().enumerate() {
            let Some(found) = found else { continue };
            let names: BTreeSet<String> =
                origins(node, &template, &[found]).into_iter().map(|origin| origin.name).collect();
            if !names.is_empty() {
                let (line, template) = (number + 1, template.place(found));
                blame.lines.push(BlameLine { line, template, names: names.into_iter().collect() });
            }
        }
        let used: BTreeSet<&str> = blame.origins.iter().map(|origin| origin.from.as_str()).collect();
        let named = node.inputs.values().filter(|edge| used.contains(join_name(edge).as_str()));
        let images = named.filter_map(|edge| Some((edge.from.clone(), self.reference(edge)?)));
        blame.images = images.collect();
    }
}

fn join_name(edge: &Edge) -> String {
    match &edge.path {
        Some(path) => format!("{}:{path}", edge.from),
        None => edge.from.clone(),
    }
}

fn join(edge: &Edge, path: &str) -> String {
    let parts = [edge.path.as_deref().unwrap_or_default(), path];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}
