//! The graph as a drawing: columns by depth, boxes with their summary as a tooltip, curves from input to user.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::engine::recipe::{Graph, NodeIndex};

const BOX: (usize, usize) = (230, 24);
const GAP: (usize, usize) = (70, 10);
const MARGIN: usize = 20;

const STYLE: &str = "text{font:12px monospace;fill:#222}rect{fill:#f6f2ea;stroke:#a63}path{fill:none;stroke:#a63;\
stroke-opacity:.35}@media(prefers-color-scheme:dark){text{fill:#eee}rect{fill:#332b22;stroke:#d96}path{stroke:#d96}}";

pub(super) fn draw(graph: &Graph, wanted: &BTreeSet<NodeIndex>) -> String {
    let places = places(graph, wanted);
    let width = places.values().map(|(x, _)| x + BOX.0).max().unwrap_or(0) + MARGIN;
    let height = places.values().map(|(_, y)| y + BOX.1).max().unwrap_or(0) + MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <style>{STYLE}</style>\n"
    );
    for at in wanted {
        let (to_x, to_y) = places[at];
        for input in graph.nodes()[*at].needs() {
            let (x, y) = places[&input];
            let (from, from_y, to_y) = (x + BOX.0, y + BOX.1 / 2, to_y + BOX.1 / 2);
            let middle = (from + to_x) / 2;
            let _ = writeln!(
                text,
                "<path d=\"M{from} {from_y}C{middle} {from_y} {middle} {to_y} {to_x} {to_y}\"/>"
            );
        }
    }
    for at in wanted {
        let node = &graph.nodes()[*at];
        let (x, y) = places[at];
        let (name, summary) = (escape(&node.name), escape(&node.summary));
        let _ = writeln!(
            text,
            "<g><title>{name}: {summary}</title><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"5\"/>\
             <text x=\"{}\" y=\"{}\">{name}</text></g>",
            BOX.0,
            BOX.1,
            x + 8,
            y + 16
        );
    }
    text.push_str("</svg>\n");
    text
}

/// Upper left corners: the column is the longest path from a derivation without inputs.
fn places(graph: &Graph, wanted: &BTreeSet<NodeIndex>) -> BTreeMap<NodeIndex, (usize, usize)> {
    let mut depth: BTreeMap<NodeIndex, usize> = BTreeMap::new();
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    let mut places = BTreeMap::new();
    for at in wanted {
        let inputs = graph.nodes()[*at].inputs.values().filter_map(|edge| depth.get(&edge.node));
        let column = inputs.max().map_or(0, |deepest| deepest + 1);
        depth.insert(*at, column);
        let row = rows.entry(column).or_insert(0);
        places.insert(*at, (MARGIN + column * (BOX.0 + GAP.0), MARGIN + *row * (BOX.1 + GAP.1)));
        *row += 1;
    }
    places
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
