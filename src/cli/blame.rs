//! `blame`: where a file comes from: the way back through the graph to the derivation that wrote it, the lines of its
//! template, the config fields that decided them, and the images that it came out of.
//!
//! Names are in no output, so the way is found by content: the input that has the same file. At a node's configuration
//! its list of entries says it, and at a patch it is the file that the patch changed.

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde::Serialize;

use super::artifact::Artifact;
use super::explain::template_lines::Template;
use super::explain::value_origin::{origin, origins};
use super::explain::{Kind, Origin, fact, show_origin};
use super::node_entries::{self, NodeEntry};
use super::output::{Colour, line, stdout_paint};
use super::{Error, Printer, Result};
use crate::base::fs;
use crate::base::hint::{Place, near};
use crate::base::value::Value;
use crate::engine::recipe::{Edge, GraphNode, NodeIndex};
use crate::engine::tree::{Entry, Listing, leaf};
use crate::openshift::ignition::OriginKind;
use crate::openshift::workspace::Env;

/// Say where a file comes from: derivation, input, image, template line and config field
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox blame ignition/master-0:/etc/hostname          a path on the node
  tinderbox blame cluster:manifests/cluster-dns-02-config.yml")]
pub(super) struct Args {
    /// `DERIVATION:PATH`; a path with a leading `/` is one on the node
    target: String,
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let found = blame(env, &self.target)?;
        Ok(printer.answer(&found, || show(&found)))
    }
}

/// Where a file comes from.
fn show(found: &Blame) {
    let Blame { target, path, entry, why, replaces, way, template, lines, origins, images } = found;
    line(stdout_paint(&format!("{target}:{path}"), Colour::Green));
    if let Some(entry) = entry {
        let words = [Some(entry.kind), entry.mode.as_deref(), entry.state.as_deref()];
        let secret = entry.secret.then_some("secret");
        fact("what", words.into_iter().flatten().chain(secret).collect::<Vec<_>>().join(", "));
    }
    why.iter().for_each(|why| fact("why", why.clone()));
    replaces.iter().for_each(|why| fact("replaces", format!("what the base has: {why}")));
    for Step { derivation, path, recipe, builder } in way {
        let inside = if path.is_empty() { String::new() } else { format!(":{path}") };
        fact("from", format!("{derivation}{inside}  ({builder}, {recipe})"));
    }
    template.iter().for_each(|file| fact("template", file.clone()));
    for Line { line: at, template, names } in lines {
        let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        fact("line", format!("{at}: {names} at {template}"));
    }
    origins.iter().map(show_origin).for_each(|text| fact("origin", text));
    for (derivation, image) in images {
        fact("image", format!("{image}  ({derivation})"));
    }
}

#[derive(Debug, Serialize)]
struct Blame {
    target: String,
    /// The file in it, or on the node.
    path: String,
    /// What a node's configuration says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<NodeEntry>,
    /// Why it is on the node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    why: Vec<String>,
    /// Why it may replace what the base has there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    replaces: Vec<String>,
    /// The way back: the artifact first, the derivation that wrote the file last.
    way: Vec<Step>,
    /// The template, if one wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    /// Lines with values in them, by the line of the template that wrote them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Line>,
    /// Config fields and inputs that decided it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    origins: Vec<Origin>,
    /// Images that it, or what made it, came out of: the derivation that names one, and the image by digest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<(String, String)>,
}

/// One derivation on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Step {
    derivation: String,
    /// The file in its output; empty if it is the whole of it.
    path: String,
    recipe: String,
    builder: String,
}

/// A line of the file that has a value in it.
#[derive(Debug, Serialize)]
struct Line {
    /// Its number, from 1.
    line: usize,
    /// The line of the template that wrote it.
    template: Place,
    names: Vec<String>,
}

/// Says where `NAME:PATH` comes from.
fn blame(env: Env<'_>, target: &str) -> Result<Blame> {
    let Some((name, path)) = target.split_once(':') else {
        return Err(Error::Usage {
            message: format!("`{target}` names no file"),
            advice: Some(format!("name one: `{target}:PATH`; `tinderbox show {target}` lists them")),
        });
    };
    let found = Artifact::find(env, name)?;
    let entries = node_entries::entries(&found)?;
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
    let walk = Walk { found: &found };
    if path.starts_with('/') && !entries.is_empty() {
        let entry = node_entries::find(&entries, name, path)?.clone();
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
            return Err(Error::NoPath { target: name.to_owned(), path: path.to_owned(), advice });
        }
        walk.back(found.at(), path.to_owned(), &mut blame);
    }
    Ok(blame)
}

struct Walk<'f> {
    found: &'f Artifact,
}

impl Walk<'_> {
    fn node(&self, at: NodeIndex) -> &GraphNode {
        &self.found.workspace.graph.nodes()[at]
    }

    fn listing(&self, at: NodeIndex) -> Option<Listing> {
        Some(self.found.store.object(self.found.done.get(&at)?.output.object).ok()?.listing)
    }

    fn step(&self, at: NodeIndex, path: &str, blame: &mut Blame) {
        let node = self.node(at);
        blame.way.push(Step {
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
        let wanted: Entry = self.listing(at)?.get(path)?.clone();
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
        let text = matches!(entry.kind, crate::engine::tree::Kind::File { .. })
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
            matches!(entry.kind, crate::engine::tree::Kind::File { .. }).then_some(())?;
            fs::read_text(&object.path.join(path)).ok()
        });
        let output: Vec<&str> = text.as_deref().unwrap_or_default().lines().collect();
        for (number, found) in template.align(&output).into_iter().enumerate() {
            let Some(found) = found else { continue };
            let names: BTreeSet<String> =
                origins(node, &template, &[found]).into_iter().map(|origin| origin.name).collect();
            if !names.is_empty() {
                let (line, template) = (number + 1, template.place(found));
                blame.lines.push(Line { line, template, names: names.into_iter().collect() });
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
