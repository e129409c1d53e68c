//! The graph of derivations: stages as lanes in build order, derivations as boxes in their lane, and lines between the
//! lanes. Which derivation needs which is in the tooltips; a line for each would hide all of them.

use std::collections::BTreeSet;

use super::{CHARACTER, Picture, Rails, SMALL, frame, text, wide};
use crate::base::text::wrap;
use crate::compare::page::{Markup, el};

/// Where the lanes end.
const WIDTH: usize = 1240;
const MARGIN: usize = 20;
/// The height of a lane's title, of a box, and the room around it.
const TITLE: usize = 40;
const BOX: usize = 24;
const GAP: usize = 8;

/// The derivations of one folder, in build order.
pub(crate) struct Lane<'a> {
    pub(crate) name: &'a str,
    /// The number of its folder.
    pub(crate) stage: u32,
    /// Each with what it is for and what it needs.
    pub(crate) members: Vec<Member<'a>>,
}

pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    pub(crate) summary: &'a str,
    pub(crate) needs: Vec<&'a str>,
}

/// Draws lanes in build order.
pub(crate) fn stages(lanes: &[Lane<'_>], title: &str) -> Picture {
    let rails = Rails::new(lanes.len(), &edges(lanes));
    let left = MARGIN + rails.width() + 6;
    let mut drawing = vec![text("title", MARGIN, 34, title)];
    let about = "Build order from top to bottom. A line leads from a stage to those that use it; lines that follow from others are left out.";
    let mut y = 56;
    for line in wrap(about, 150) {
        drawing.push(text("dim", MARGIN, y, &line));
        y += 18;
    }
    y += 6;
    for (at, lane) in lanes.iter().enumerate() {
        let (boxes, height) = boxes(lane, left, y);
        let feeds = format!("{} {}", lane.stage, lane.name);
        drawing.push(rails.draw(at, (MARGIN, y), height));
        drawing.push(frame("lane", [left, y + 4, WIDTH - MARGIN - left, height - 8]));
        drawing.push(text("dim", left + 12, y + 23, &lane.stage.to_string()));
        drawing.push(text("name", left + 44, y + 23, lane.name));
        drawing.push(text("small", left + 52 + wide(lane.name, 8.0), y + 23, &needs(lanes, at, &feeds)));
        drawing.push(boxes);
        y += height;
    }
    let (width, height) = (WIDTH, y + MARGIN);
    Picture { width, height, title: title.to_owned(), drawing: drawing.into() }
}

/// The lanes that a lane needs, as far as they fit on its title.
fn needs(lanes: &[Lane<'_>], at: usize, title: &str) -> String {
    let count = lanes[at].members.len();
    let members = if count == 1 { "1 derivation".to_owned() } else { format!("{count} derivations") };
    let from = edges(lanes).into_iter().filter(|(_, to)| *to == at).map(|(from, _)| lanes[from].name);
    let from: Vec<&str> = from.collect();
    let needs =
        if from.is_empty() { members.clone() } else { format!("{members}; needs {}", from.join(", ")) };
    match wide(&needs, SMALL) + wide(title, 8.0) < WIDTH - 360 {
        true => needs,
        false => format!("{members}; needs {} other stages", from.len()),
    }
}

/// Edges between lanes, by index.
fn edges(lanes: &[Lane<'_>]) -> BTreeSet<(usize, usize)> {
    let folder = |name: &str| lanes.iter().position(|lane| lane.members.iter().any(|one| one.name == name));
    let of = |(to, lane): (usize, &Lane<'_>)| {
        let needs: BTreeSet<&str> = lane.members.iter().flat_map(|one| one.needs.iter().copied()).collect();
        needs
            .into_iter()
            .filter_map(folder)
            .filter(|from| *from != to)
            .map(|from| (from, to))
            .collect::<Vec<_>>()
    };
    lanes.iter().enumerate().flat_map(of).collect()
}

/// The boxes of a lane whose top is at `y`, and the lane's height.
fn boxes(lane: &Lane<'_>, left: usize, y: usize) -> (Markup, usize) {
    let label = |name: &str| name.split_once('/').map_or(name, |(_, leaf)| leaf).to_owned();
    let labels: Vec<String> = lane.members.iter().map(|one| label(one.name)).collect();
    // A derivation outside a folder is its lane.
    if let ([only], [label]) = (lane.members.as_slice(), labels.as_slice())
        && label == lane.name
    {
        let about =
            text("small", left + 44, y + 41, &wrap(only.summary, 140).into_iter().next().unwrap_or_default());
        return (el("g", &[], [tooltip(only), about]), TITLE + 14);
    }
    let right = WIDTH - MARGIN - 12;
    let (mut x, mut row, mut drawn) = (left + 12, y + TITLE, Vec::new());
    for (member, label) in lane.members.iter().zip(&labels) {
        let width = wide(label, CHARACTER) + 16;
        if x + width > right && x > left + 12 {
            (x, row) = (left + 12, row + BOX + GAP);
        }
        let inside = [tooltip(member), frame("box", [x, row, width, BOX]), text("", x + 8, row + 16, label)];
        drawn.push(el("g", &[], inside));
        x += width + GAP;
    }
    (drawn.into(), row + BOX + 14 - y)
}

/// What a derivation is for, and what it needs.
fn tooltip(member: &Member<'_>) -> Markup {
    let Member { name, summary, needs } = member;
    let needs = if needs.is_empty() { String::new() } else { format!("\nneeds {}", needs.join(", ")) };
    el("title", &[], format!("{name}: {summary}{needs}"))
}
