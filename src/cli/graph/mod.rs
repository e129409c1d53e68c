//! `graph`: all derivations and what they need, for people and for programs.

mod lanes;
mod trust;

pub(super) use trust::machine;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use super::output;
use super::{Printer, Result, complete};
use crate::cli::document::{Document, Documented};
use crate::engine::recipe::{Graph, NodeIndex};
use crate::engine::tree::leaf;
use crate::openshift::trust::Trust;
use crate::openshift::workspace::{Env, Missing, Workspace};

/// Print the graph of derivations; with --trust, who presents which certificate or token to whom
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox graph --format svg > graph.svg
  tinderbox graph infra --format dot | dot -Tpng > infra.png
  tinderbox graph --trust --format svg > trust.svg
  tinderbox graph --trust --json | jq '.presentations[] | select(.after.holds == false)'")]
pub(super) struct Args {
    /// Only what these need; default: all
    #[arg(add = complete::target())]
    targets: Vec<String>,
    /// Who shows which certificate or token to whom, and what it is verified with, before and after the pivot;
    /// `ignition` must be built
    #[arg(long, conflicts_with = "targets")]
    trust: bool,
    /// How to write it; default: mermaid, with --trust text
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal: by stage, with --trust by authority
    Text,
    Mermaid,
    /// Mermaid, with one box for each folder of recipes
    Stages,
    Dot,
    Json,
    /// A picture: stages as lanes, with --trust authorities
    Svg,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] =
        &[Document::of::<Derivations<'static>>(), Document::of::<Trust>().when("trust", "--trust")];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let default = if self.trust { Format::Text } else { Format::Mermaid };
        let format = if printer.json { Format::Json } else { self.format.unwrap_or(default) };
        if format == Format::Svg {
            output::refuse_on_terminal("picture", "`tinderbox graph --format svg -o graph.svg`")?;
        }
        let text = match self.trust {
            true => {
                let found = trust::trust(env)?;
                env.events.emit(trust::summary(&found));
                env.events.settle();
                trust::draw(&found, format)
            }
            false => graph(env, &self.targets, format)?,
        };
        match format {
            Format::Text => output::lines(&text),
            _ => output::text(&text),
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Serialize, JsonSchema)]
struct Derivations<'a> {
    derivations: Vec<Entry<'a>>,
    /// Names of recipes that do not apply to this cluster, and why.
    absent: BTreeMap<&'a str, String>,
}

#[derive(Serialize, JsonSchema)]
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

/// The graph of what the targets need; by default, all of it.
fn graph(env: Env<'_>, targets: &[String], format: Format) -> Result<String> {
    let workspace = Workspace::load(env, Missing::Unneeded)?;
    let graph = &workspace.graph;
    let wanted = match targets {
        [] => graph.nodes().indices().collect(),
        targets => graph.closure(&workspace.select(targets)?),
    };
    Ok(match format {
        Format::Text => lanes::text(graph, &wanted),
        Format::Mermaid => mermaid(graph, &wanted),
        Format::Stages => stages(graph, &wanted),
        Format::Dot => dot(graph, &wanted),
        Format::Json => json(graph, &wanted),
        Format::Svg => lanes::picture(graph, &wanted),
    })
}

/// The derivations of one folder.
struct Folder<'a> {
    stage: u32,
    name: &'a str,
    members: Vec<NodeIndex>,
}

/// Wanted derivations by folder, in the order of stages.
fn folders<'a>(graph: &'a Graph, wanted: &BTreeSet<NodeIndex>) -> Vec<Folder<'a>> {
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

fn edges<'a>(
    graph: &'a Graph,
    wanted: &'a BTreeSet<NodeIndex>,
) -> impl Iterator<Item = (NodeIndex, NodeIndex)> + 'a {
    wanted.iter().flat_map(|at| graph.nodes()[*at].needs().into_iter().map(|input| (input, *at)))
}

fn mermaid(graph: &Graph, wanted: &BTreeSet<NodeIndex>) -> String {
    let mut text = String::from("graph LR\n");
    for Folder { name: folder, members, .. } in folders(graph, wanted) {
        let indent = if folder.is_empty() { "" } else { "  " };
        if !folder.is_empty() {
            let _ = writeln!(text, "  subgraph {folder}");
        }
        for at in members {
            let name = &graph.nodes()[at].name;
            let _ = writeln!(text, "{indent}  {}[\"{}\"]", identifier(name), leaf(name));
        }
        if !folder.is_empty() {
            text.push_str("  end\n");
        }
    }
    for (from, to) in edges(graph, wanted) {
        let name = |at: NodeIndex| identifier(&graph.nodes()[at].name);
        let _ = writeln!(text, "  {} --> {}", name(from), name(to));
    }
    text
}

/// One box for each folder, and for each derivation outside a folder, with the dependencies between them.
fn stages(graph: &Graph, wanted: &BTreeSet<NodeIndex>) -> String {
    let stage = |at: NodeIndex| {
        let node = &graph.nodes()[at];
        (node.stage, node.name.split_once('/').map_or(node.name.as_str(), |(folder, _)| folder))
    };
    let mut text = String::from("graph LR\n");
    for (_, name) in wanted.iter().copied().map(stage).collect::<BTreeSet<_>>() {
        let _ = writeln!(text, "  {}[\"{name}\"]", identifier(name));
    }
    let between = edges(graph, wanted).map(|(from, to)| (stage(from), stage(to)));
    for ((_, from), (_, to)) in between.filter(|(from, to)| from != to).collect::<BTreeSet<_>>() {
        let _ = writeln!(text, "  {} --> {}", identifier(from), identifier(to));
    }
    text
}

/// A stable Mermaid identifier: a new derivation does not renumber the others.
fn identifier(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

fn dot(graph: &Graph, wanted: &BTreeSet<NodeIndex>) -> String {
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

fn json(graph: &Graph, wanted: &BTreeSet<NodeIndex>) -> String {
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
    let document = Derivations { derivations: entries.collect(), absent: absent.collect() };
    serde_json::to_string_pretty(&document).map(|text| text + "\n").unwrap_or_default()
}
