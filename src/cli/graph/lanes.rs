//! The graph by stage: a lane for each folder of recipes, as a picture and for a terminal.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Folder, folders};
use crate::compare::picture::{self, Lane, Member};
use crate::engine::recipe::{Graph, NodeIndex};
use crate::engine::tree::leaf;

pub(super) fn picture(graph: &Graph, wanted: &BTreeSet<NodeIndex>) -> String {
    let lanes = lanes(graph, wanted);
    let count = wanted.len();
    let title = if count == 1 { "1 derivation".to_owned() } else { format!("{count} derivations") };
    picture::stages(&lanes, &format!("{title} in {} stages", lanes.len())).file()
}

/// Every stage with its derivations, and the stages that it needs.
pub(super) fn text(graph: &Graph, wanted: &BTreeSet<NodeIndex>) -> String {
    let mut text = String::new();
    for Lane { name, stage, members } in lanes(graph, wanted) {
        let needs = members.iter().flat_map(|member| &member.needs).map(|need| folder(need));
        let needs: BTreeSet<&str> = needs.filter(|need| *need != name).collect();
        let needs: Vec<&str> = needs.into_iter().collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" (needs {})", needs.join(", ")) };
        let _ = writeln!(text, "{stage} {name}{needs}");
        let leaves: Vec<&str> = members.iter().map(|member| leaf(member.name)).collect();
        if leaves != [name] {
            let _ = writeln!(text, "  {}", leaves.join(", "));
        }
    }
    text
}

/// The folder of a derivation; its name if it is in none.
fn folder(name: &str) -> &str {
    name.split_once('/').map_or(name, |(folder, _)| folder)
}

/// Wanted derivations by folder; one outside a folder is a lane of its own.
fn lanes<'a>(graph: &'a Graph, wanted: &BTreeSet<NodeIndex>) -> Vec<Lane<'a>> {
    let member = |at: NodeIndex| {
        let node = &graph.nodes()[at];
        let needs: BTreeSet<&str> =
            node.needs().into_iter().map(|input| graph.nodes()[input].name.as_str()).collect();
        Member { name: &node.name, summary: &node.summary, needs: needs.into_iter().collect() }
    };
    let mut lanes = Vec::new();
    for Folder { stage, name, members } in folders(graph, wanted) {
        match name {
            "" => lanes.extend(members.into_iter().map(|at| {
                let node = &graph.nodes()[at];
                Lane { name: &node.name, stage: node.stage, members: vec![member(at)] }
            })),
            name => lanes.push(Lane { name, stage, members: members.into_iter().map(member).collect() }),
        }
    }
    lanes.sort_by_key(|lane| (lane.stage, lane.name));
    lanes
}
