//! `graph`: all derivations and what they need, for people and for programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use super::{Env, Missing, Result, Workspace, svg};
use crate::engine::recipe::Graph;
use crate::engine::tree::leaf;

/// How to write the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Mermaid, which code hosts draw.
    Mermaid,
    Dot,
    Json,
    Svg,
}

#[derive(Serialize)]
struct Document<'a> {
    derivations: Vec<Entry<'a>>,
    /// Names that a recipe has and this cluster has not, and why.
    absent: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    stage: u32,
    builder: &'a str,
    recipe: &'a str,
    summary: &'a str,
    inputs: BTreeSet<&'a str>,
    config: BTreeSet<&'a str>,
    secret: bool,
}

/// The graph of what the targets need; without targets, all of it.
pub(crate) fn graph(env: Env<'_>, targets: &[String], format: Format) -> Result<String> {
    let workspace = Workspace::load(env, Missing::Imagine)?;
    let graph = &workspace.graph;
    let wanted = match targets {
        [] => (0..graph.nodes().len()).collect(),
        targets => graph.closure(&workspace.select(targets)?),
    };
    Ok(match format {
        Format::Mermaid => mermaid(graph, &wanted),
        Format::Dot => dot(graph, &wanted),
        Format::Json => json(graph, &wanted),
        Format::Svg => svg::draw(graph, &wanted),
    })
}

/// The derivations of one folder.
struct Folder<'a> {
    stage: u32,
    name: &'a str,
    members: Vec<usize>,
}

/// Wanted derivations by folder, in the order of stages.
fn folders<'a>(graph: &'a Graph, wanted: &BTreeSet<usize>) -> Vec<Folder<'a>> {
    let mut folders: Vec<Folder<'a>> = Vec::new();
    for at in wanted {
        let node = &graph.nodes()[*at];
        let name = node.name.split_once('/').map_or("", |(folder, _)| folder);
        match folders.iter_mut().find(|known| known.name == name) {
            Some(known) => known.members.push(*at),
            None => folders.push(Folder { stage: node.stage, name, members: vec![*at] }),
        }
    }
    folders.sort_by_key(|folder| (folder.stage, folder.name));
    folders
}

fn edges<'a>(graph: &'a Graph, wanted: &'a BTreeSet<usize>) -> impl Iterator<Item = (usize, usize)> + 'a {
    wanted.iter().flat_map(|at| {
        let inputs: BTreeSet<usize> = graph.nodes()[*at].inputs.values().map(|edge| edge.node).collect();
        inputs.into_iter().map(|input| (input, *at))
    })
}

fn mermaid(graph: &Graph, wanted: &BTreeSet<usize>) -> String {
    let mut text = String::from("graph LR\n");
    for Folder { name: folder, members, .. } in folders(graph, wanted) {
        let indent = if folder.is_empty() { "" } else { "  " };
        if !folder.is_empty() {
            let _ = writeln!(text, "  subgraph {folder}");
        }
        for at in members {
            let leaf = leaf(&graph.nodes()[at].name);
            let _ = writeln!(text, "{indent}  n{at}[\"{leaf}\"]");
        }
        if !folder.is_empty() {
            text.push_str("  end\n");
        }
    }
    for (from, to) in edges(graph, wanted) {
        let _ = writeln!(text, "  n{from} --> n{to}");
    }
    text
}

fn dot(graph: &Graph, wanted: &BTreeSet<usize>) -> String {
    let mut text = String::from("digraph tinderbox {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for Folder { name: folder, members, .. } in folders(graph, wanted) {
        if !folder.is_empty() {
            let _ = writeln!(text, "  subgraph \"cluster_{folder}\" {{\n    label=\"{folder}\";");
        }
        for at in members {
            let _ = writeln!(text, "    \"{}\";", graph.nodes()[at].name);
        }
        if !folder.is_empty() {
            text.push_str("  }\n");
        }
    }
    for (from, to) in edges(graph, wanted) {
        let _ = writeln!(text, "  \"{}\" -> \"{}\";", graph.nodes()[from].name, graph.nodes()[to].name);
    }
    text.push_str("}\n");
    text
}

fn json(graph: &Graph, wanted: &BTreeSet<usize>) -> String {
    let entries = wanted.iter().map(|at| &graph.nodes()[*at]).map(|node| Entry {
        name: &node.name,
        stage: node.stage,
        builder: &node.builder.0,
        recipe: &node.recipe,
        summary: &node.summary,
        inputs: node.inputs.values().map(|edge| edge.from.as_str()).collect(),
        config: node.reads.iter().flat_map(|(_, _, reads)| reads).map(|read| read.path.as_str()).collect(),
        secret: !node.secrets.is_empty(),
    });
    let absent = graph.all_absent().map(|(name, absent)| (name, absent.why.to_string()));
    let document = Document { derivations: entries.collect(), absent: absent.collect() };
    serde_json::to_string_pretty(&document).map(|text| text + "\n").unwrap_or_default()
}
