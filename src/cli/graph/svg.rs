//! The graph as a picture of its stages, and the same for a terminal.

use std::collections::BTreeSet;

use super::{Folder, folders};
use crate::compare::picture::{self, Lane, Member};
use crate::engine::recipe::{Graph, NodeIndex};

pub(super) fn draw(graph: &Graph, wanted: &BTreeSet<NodeIndex>) -> String {
    let lanes = lanes(graph, wanted);
    let count = wanted.len();
    let title = if count == 1 { "1 derivation".to_owned() } else { format!("{count} derivations") };
    picture::stages(&lanes, &format!("{title} in {} stages", lanes.len())).file()
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
