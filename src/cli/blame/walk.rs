//! Walks back from a file to its writer.
//!
//! Outputs contain no names, so the walk goes by content: to the input with the same file. At a node's configuration it
//! follows the list of entries, and at a patch the file that the patch changed.

use std::collections::BTreeSet;

use super::{Blame, BlameLine, BlameStep};
use crate::base::fs;
use crate::base::value::Value;
use crate::cli::artifact::Artifact;
use crate::cli::explain::template_lines::Template;
use crate::cli::explain::value_origin::{origin, origins};
use crate::cli::explain::{Kind, Origin};
use crate::cli::node_entries::NodeEntry;
use crate::engine::exec;
use crate::engine::recipe::{Edge, GraphNode, NodeIndex};
use crate::engine::tree::Listing;
use crate::openshift::ignition::OriginKind;

pub(super) struct BlameWalk<'f> {
    pub(super) found: &'f Artifact,
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

    /// Starts at an entry of a node's configuration.
    pub(super) fn entry(&self, entry: &NodeEntry, blame: &mut Blame) {
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

    /// Walks back to the derivation that wrote a file.
    pub(super) fn back(&self, mut at: NodeIndex, mut path: String, blame: &mut Blame) {
        let graph = &self.found.workspace.graph;
        loop {
            self.step(at, &path, blame);
            let node = self.node(at);
            if let Some(before) = exec::unchanged(graph, at, &path, |at| self.listing(at)) {
                (at, path) = before;
            } else if let (true, Some(edge)) = (node.builder.0 == "patch", node.inputs.get("tree")) {
                at = edge.node;
            } else {
                break;
            }
        }
        self.written(at, &path, blame);
    }

    /// What determined a file, according to the derivation that wrote it.
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
        // A derived file may come from every image behind it.
        let behind = self.found.workspace.graph.closure(&[at]);
        blame.images = behind.into_iter().filter_map(|at| self.image(at)).collect();
    }

    /// The image that a derivation unpacks or runs.
    fn image(&self, at: NodeIndex) -> Option<(String, String)> {
        let node = self.node(at);
        if !["image", "run", "mco-render"].contains(&node.builder.0.as_str()) {
            return None;
        }
        let digest = node.params.get("config").and_then(|config| config.get("digest"));
        let named = node.inputs.values().find_map(|edge| self.reference(edge));
        let image = named.or_else(|| digest.and_then(Value::as_text).map(str::to_owned))?;
        Some((node.name.clone(), image))
    }

    /// The content of an input, if it is an image by digest.
    fn reference(&self, edge: &Edge) -> Option<String> {
        let path = edge.path.as_ref()?;
        let object = self.found.store.object(self.found.done.get(&edge.node)?.output.object).ok()?;
        let entry = object.listing.get(path).filter(|entry| !entry.secret && entry.size() < 1024)?;
        let text = matches!(entry.kind, crate::engine::tree::EntryKind::File { .. })
            .then(|| fs::read_text(&object.path.join(path)).ok())
            .flatten()?;
        text.contains("@sha256:").then(|| text.trim().to_owned())
    }

    /// A file that a template wrote: its lines, and the meaning of their names.
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
            // For a secret file, only the location of a value is shown.
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
