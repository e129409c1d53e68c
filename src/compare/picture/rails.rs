//! Lines between stages that stand below one another: every stage that feeds others has one vertical track, from which a
//! branch enters each of them. Lines that follow from others are left out: if `a` feeds `b` and `b` feeds `c`, then `a`
//! feeds `c` too.

use std::collections::BTreeSet;

use super::super::page::{Markup, el};

/// Distance between tracks.
const TRACK: usize = 11;
/// Where branches enter a stage, and where its own track leaves, below its top.
const IN: usize = 13;
const OUT: usize = 23;
/// The radius of a bend.
const BEND: usize = 6;
/// Number of hues in `picture.css`.
const HUES: usize = 6;

/// The tracks beside some stages.
pub(crate) struct Rails {
    tracks: usize,
    rows: Vec<Row>,
}

/// What the lines do at one stage.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Row {
    /// Tracks that pass, each with the stage that it comes from.
    through: Vec<(usize, usize)>,
    /// Tracks with a branch into this stage; whether each ends here.
    branches: Vec<(usize, usize, bool)>,
    /// The track that begins here.
    begins: Option<usize>,
}

impl Rails {
    /// Lays out the edges between so many stages, from an earlier to a later one.
    pub(crate) fn new(stages: usize, edges: &BTreeSet<(usize, usize)>) -> Self {
        let edges = reduced(stages, edges);
        let mut rows = vec![Row::default(); stages];
        // For each track, the stage at which it ends.
        let mut taken: Vec<usize> = Vec::new();
        for from in 0..stages {
            let to: Vec<usize> = edges.range((from, 0)..(from + 1, 0)).map(|(_, to)| *to).collect();
            let Some(last) = to.last().copied() else { continue };
            let free = taken.iter().position(|end| *end <= from);
            let track = free.unwrap_or(taken.len());
            match taken.get_mut(track) {
                Some(end) => *end = last,
                None => taken.push(last),
            }
            rows[from].begins = Some(track);
            for (at, row) in rows.iter_mut().enumerate().take(last + 1).skip(from + 1) {
                match to.contains(&at) {
                    true => row.branches.push((track, from, at == last)),
                    false => row.through.push((track, from)),
                }
            }
        }
        Self { tracks: taken.len(), rows }
    }

    /// The room that the tracks need.
    pub(crate) fn width(&self) -> usize {
        (self.tracks + 1) * TRACK + 8
    }

    /// The lines beside a stage whose top left corner is at `x`, `y` and that is so high.
    pub(super) fn draw(&self, at: usize, (x, y): (usize, usize), height: usize) -> Markup {
        let Some(row) = self.rows.get(at) else { return Markup::default() };
        let end = x + self.width();
        let across = |track: usize| end - 8 - (track + 1) * TRACK;
        let (bottom, enters, leaves) = (y + height, y + IN, y + OUT);
        let line = |from: usize, class: &str, d: String| {
            el("path", &[("class", &format!("rail {class} h{} from-{from}", from % HUES)), ("d", &d)], "")
        };
        let through = row
            .through
            .iter()
            .map(|(track, from)| line(*from, "", format!("M{x} {y}V{bottom}", x = across(*track))));
        let branches = row.branches.iter().flat_map(|(track, from, ends)| {
            let x = across(*track);
            let into = format!("M{x} {y}V{}Q{x} {enters} {} {enters}H{}", enters - BEND, x + BEND, end - 6);
            let on = (!ends).then(|| line(*from, "", format!("M{x} {y}V{bottom}")));
            [Some(line(*from, &format!("to-{at}"), into)), on].into_iter().flatten()
        });
        let begins = row.begins.map(|track| {
            let x = across(track);
            let start =
                format!("M{} {leaves}H{}Q{x} {leaves} {x} {}V{bottom}", end - 6, x + BEND, leaves + BEND);
            line(at, "", start)
        });
        let bar = [("class", "station"), ("x", &(end - 6).to_string()), ("y", &(y + 8).to_string())];
        let size = [("width", "4"), ("height", "20"), ("rx", "2")];
        let station = el("rect", &bar.into_iter().chain(size).collect::<Vec<_>>(), "");
        through.chain(branches).chain(begins).chain([station]).collect()
    }

    /// For a page: the lines beside the first line of a stage, and what continues below it however high it is.
    pub(crate) fn beside(&self, at: usize, height: usize) -> Markup {
        let Some(row) = self.rows.get(at) else { return Markup::default() };
        let width = self.width();
        let passing = row.through.iter().copied();
        let on = row.branches.iter().filter(|(.., ends)| !ends).map(|(track, from, _)| (*track, *from));
        let below = passing.chain(on).chain(row.begins.map(|track| (track, at)));
        let below = below.map(|(track, from)| {
            let x = width - 8 - (track + 1) * TRACK;
            let class = format!("rail h{} from-{from}", from % HUES);
            el("path", &[("class", &class), ("d", &format!("M{x} 0V9"))], "")
        });
        let svg = |class: &str, height: usize, stretch: &'static str, inside: Markup| {
            let (view, width, height) =
                (format!("0 0 {width} {height}"), width.to_string(), height.to_string());
            let attributes = [
                ("class", class),
                ("viewBox", view.as_str()),
                ("width", &width),
                ("height", &height),
                ("preserveAspectRatio", stretch),
                ("aria-hidden", "true"),
            ];
            el("svg", &attributes, inside)
        };
        let head = svg("rails head", height, "xMinYMin", self.draw(at, (0, 0), height));
        Markup::from([head, svg("rails tail", 9, "none", below.collect())])
    }
}

/// Edges that do not follow from others.
fn reduced(stages: usize, edges: &BTreeSet<(usize, usize)>) -> BTreeSet<(usize, usize)> {
    let edges: BTreeSet<(usize, usize)> =
        edges.iter().filter(|(from, to)| from < to && *to < stages).copied().collect();
    let mut reach: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); stages];
    for from in (0..stages).rev() {
        let to: Vec<usize> = edges.range((from, 0)..(from + 1, 0)).map(|(_, to)| *to).collect();
        let further: BTreeSet<usize> = to.iter().filter_map(|to| reach.get(*to)).flatten().copied().collect();
        reach[from] = to.into_iter().chain(further).collect();
    }
    let follows = |(from, to): &(usize, usize)| {
        let mut between = edges.range((*from, 0)..(*from + 1, 0)).map(|(_, between)| *between);
        between.any(|between| between != *to && reach.get(between).is_some_and(|reach| reach.contains(to)))
    };
    edges.iter().filter(|edge| !follows(edge)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_others_is_left_out() {
        let edges = [(0, 1), (1, 2), (0, 2), (0, 3), (2, 1)].into();
        assert_eq!(reduced(4, &edges), [(0, 1), (0, 3), (1, 2)].into());
    }

    #[test]
    fn a_stage_has_one_track_and_free_tracks_are_used_again() {
        let rails = Rails::new(5, &[(0, 1), (0, 4), (1, 2), (2, 3)].into());
        assert_eq!(rails.tracks, 2);
        assert_eq!(rails.rows[0], Row { begins: Some(0), ..Row::default() });
        assert_eq!(rails.rows[1], Row { through: vec![], branches: vec![(0, 0, false)], begins: Some(1) });
        assert_eq!(
            rails.rows[2],
            Row { through: vec![(0, 0)], branches: vec![(1, 1, true)], begins: Some(1) }
        );
        assert_eq!(
            rails.rows[3],
            Row { through: vec![(0, 0)], branches: vec![(1, 2, true)], ..Row::default() }
        );
        assert_eq!(rails.rows[4], Row { branches: vec![(0, 0, true)], ..Row::default() });
    }
}
