//! Collects the comparisons of sites as they come, in any order, to groups and waves.

use std::collections::BTreeMap;

use super::key::key;
use super::rollout::{PoolRollout, disrupted, effect, rounds};
use super::{FleetDiff, OwnValues, SHAPE, SharedChange, SharedError, SiteCounts, SiteOutcome, SiteRow, Wave};
use crate::base::digest::Digest;
use crate::base::hint::Place;
use crate::compare::diff::Diff;

/// So many changes are kept with all of their differences.
const DETAILED: usize = 200;

/// What was found about a site.
#[derive(Debug)]
pub enum Found {
    Same,
    New,
    Removed,
    Failed,
    Changed(Box<Changed>),
}

#[derive(Debug)]
pub struct Changed {
    key: Digest,
    own: Vec<String>,
    rollout: Vec<PoolRollout>,
    diff: Diff,
}

impl Found {
    /// A site's comparison. `is_own` says of which places every site has a line of its own.
    pub fn of(
        diff: Diff,
        rollout: Vec<PoolRollout>,
        own: &OwnValues,
        is_own: &dyn Fn(&Place) -> bool,
    ) -> Self {
        if diff.is_empty() {
            return Self::Same;
        }
        let places = diff.causes.iter().flat_map(|cause| &cause.places).filter(|place| is_own(place));
        let mut fields: Vec<String> = places.map(|place| place.field.clone()).collect();
        fields.sort();
        fields.dedup();
        let key = key(&diff, own, is_own);
        Self::Changed(Box::new(Changed { key, own: fields, rollout, diff }))
    }
}

/// A group while it grows.
struct Group {
    /// By their index in the fleet.
    sites: Vec<usize>,
    /// The first of them so far.
    example: usize,
    first: Changed,
    detailed: bool,
}

/// Sites and their groups in the fleet's order, and what was found about each.
pub struct Collector {
    sites: Vec<(String, Vec<String>)>,
    waves: Vec<String>,
    rows: BTreeMap<usize, SiteRow>,
    of_change: BTreeMap<usize, Digest>,
    groups: BTreeMap<Digest, Group>,
}

impl Collector {
    /// For these sites with their groups; `waves` are all groups in the order in which they stand in fleet.yaml.
    pub fn new(sites: Vec<(String, Vec<String>)>, waves: Vec<String>) -> Self {
        Self { sites, waves, rows: BTreeMap::new(), of_change: BTreeMap::new(), groups: BTreeMap::new() }
    }

    /// Adds a site, by its index; its row, without the numbers of its change and wave.
    pub fn add(&mut self, at: usize, found: Found) -> &SiteRow {
        let (site, groups) = self.sites[at].clone();
        let mut row = SiteRow {
            site,
            groups,
            state: SiteOutcome::Same,
            change: None,
            wave: None,
            effect: None,
            nodes: 0,
            rounds: 0,
        };
        row.state = match found {
            Found::Same => SiteOutcome::Same,
            Found::New => SiteOutcome::New,
            Found::Removed => SiteOutcome::Removed,
            Found::Failed => SiteOutcome::Failed,
            Found::Changed(found) => {
                row.effect = effect(&found.rollout);
                row.nodes = disrupted(&found.rollout);
                row.rounds = rounds(&found.rollout);
                self.group(at, *found);
                SiteOutcome::Changed
            }
        };
        self.rows.entry(at).or_insert(row)
    }

    fn group(&mut self, at: usize, mut found: Changed) {
        self.of_change.insert(at, found.key);
        let is_room = self.groups.len() < DETAILED;
        match self.groups.get_mut(&found.key) {
            None => {
                if !is_room {
                    strip(&mut found.diff);
                }
                let group = Group { sites: vec![at], example: at, detailed: is_room, first: found };
                self.groups.insert(group.first.key, group);
            }
            Some(group) => {
                group.sites.push(at);
                // The example does not depend on who was faster.
                if at < group.example {
                    if !group.detailed {
                        strip(&mut found.diff);
                    }
                    (group.example, group.first) = (at, found);
                }
            }
        }
    }

    /// The whole, with sites that left the fleet and what could not be compared.
    pub fn finish(self, (old, new): (String, String), errors: Vec<SharedError>) -> FleetDiff {
        let Self { sites, waves, mut rows, of_change, groups } = self;
        let mut groups: Vec<(Digest, Group)> = groups.into_iter().collect();
        groups.iter_mut().for_each(|(_, group)| group.sites.sort_unstable());
        groups.sort_by(|(_, one), (_, other)| {
            (other.sites.len(), one.example).cmp(&(one.sites.len(), other.example))
        });
        let number: BTreeMap<Digest, usize> =
            groups.iter().enumerate().map(|(at, (key, _))| (*key, at)).collect();
        for (at, key) in &of_change {
            if let Some(row) = rows.get_mut(at) {
                row.change = number.get(key).copied();
            }
        }
        let mut rows: Vec<SiteRow> = rows.into_values().collect();
        let waves = number_waves(&mut rows, &waves);
        let name = |at: usize| sites.get(at).map(|(name, _)| name.clone()).unwrap_or_default();
        let changes = groups.into_iter().map(|(_, Group { sites, example, first, detailed })| SharedChange {
            sites: sites.into_iter().map(name).collect(),
            example: name(example),
            own: first.own,
            rollout: first.rollout,
            detailed,
            diff: first.diff,
        });
        let of = |state: SiteOutcome| rows.iter().filter(|row| row.state == state).count();
        let counts = SiteCounts {
            sites: rows.len() - of(SiteOutcome::Removed),
            changed: of(SiteOutcome::Changed),
            same: of(SiteOutcome::Same),
            new: of(SiteOutcome::New),
            removed: of(SiteOutcome::Removed),
            failed: of(SiteOutcome::Failed),
            nodes: rows.iter().map(|row| row.nodes).sum(),
        };
        FleetDiff { shape: SHAPE, old, new, counts, waves, changes: changes.collect(), sites: rows, errors }
    }
}

/// Drops the differences, and keeps what they mean.
fn strip(diff: &mut Diff) {
    diff.artifacts.iter_mut().for_each(|artifact| artifact.differences = Vec::new());
}

/// Gives every site that changes its wave: the first of its groups, in the order of `names`; without any, the last.
fn number_waves(rows: &mut [SiteRow], names: &[String]) -> Vec<Wave> {
    let place =
        |row: &SiteRow| names.iter().position(|name| row.groups.contains(name)).unwrap_or(names.len());
    let mut by_place: BTreeMap<usize, Wave> = BTreeMap::new();
    let changed = |row: &&SiteRow| row.state == SiteOutcome::Changed;
    for row in rows.iter().filter(changed) {
        let at = place(row);
        let name = names.get(at).cloned().unwrap_or_default();
        let wave = by_place.entry(at).or_insert(Wave { name, sites: 0, nodes: 0, rounds: 0 });
        wave.sites += 1;
        wave.nodes += row.nodes;
        wave.rounds = wave.rounds.max(row.rounds);
    }
    let order: Vec<usize> = by_place.keys().copied().collect();
    for row in rows.iter_mut().filter(|row| row.state == SiteOutcome::Changed) {
        row.wave = order.iter().position(|at| *at == place(row));
    }
    by_place.into_values().collect()
}
