//! What differs on a node, and the effect on a running node.
//!
//! A node's object contains the config, all its files in `tree/`, and `tree.json` with modes and origins. Files are
//! compared by their digests; of the config, only the rest is compared.
//!
//! The effect follows the machine-config operator's own rules, the table `node-disruption.toml`: some files are just
//! written, some make a service reload, everything else in a pool's rendered config means a reboot. Nobody changes
//! per-node settings (a static address, the host name) on a running node: it has to be reinstalled.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Result;
use super::side::{Leaf, Leaves};
use crate::compare::delta::{
    self, Change, ChangeKind, DeltaContext, Edit, File, PlaceStep, ShownValue, StepKind,
};
use crate::openshift::ignition::{ENCAPSULATED_PATH, Manifest, OriginKind, UNITS, Written, unit_path};
use crate::openshift::knowledge::{Disruption, Effect};

/// What a node that bootstraps has. A bootstrap machine is removed once the control plane has moved: nothing happens to it later. A
/// single node that bootstraps itself stays, with the rendered config of its pool.
const BOOTKUBE: &str = "/usr/local/bin/bootkube.sh";
/// Where the files are.
const FILES: &str = "tree/";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeImpact {
    pub node: String,
    /// None if the node is on one side only.
    pub effect: Option<Effect>,
    /// Paths on the node that cause the effect.
    pub because: Vec<String>,
    /// Files, links and directories.
    pub added: Vec<String>,
    /// Files, links and directories.
    pub removed: Vec<String>,
    /// Files, links and directories.
    pub changed: Vec<String>,
    /// Units that were added, removed or changed: they restart.
    pub units: Vec<String>,
}

/// The leaves to compare: for a node its files, but not the config that contains them or their list.
pub(super) fn compared(leaves: &Leaves) -> BTreeMap<&str, &Leaf> {
    let is_node = leaves.by_path.contains_key(Manifest::FILE);
    let compared = |path: &str| !is_node || path.starts_with(FILES);
    leaves
        .by_path
        .iter()
        .filter(|(path, _)| compared(path))
        .map(|(path, leaf)| (path.as_str(), leaf))
        .collect()
}

/// A path as shown: for a node's files, the path on the node.
pub(super) fn shown(leaves: &Leaves, path: &str) -> String {
    match path.strip_prefix(FILES) {
        Some(rest) if leaves.by_path.contains_key(Manifest::FILE) => format!("/{rest}"),
        _ => path.to_owned(),
    }
}

/// The entries of a node, on both sides; none if the artifact does not belong to a node.
pub(super) type Lists = [Option<Manifest>; 2];

pub(super) fn lists(old: &Leaves, new: &Leaves) -> Result<Lists> {
    Ok([list(old)?, list(new)?])
}

fn list(leaves: &Leaves) -> Result<Option<Manifest>> {
    match leaves.by_path.contains_key(Manifest::FILE) {
        // An unreadable list comes from another version of tinderbox and is ignored.
        true => Ok(serde_json::from_slice(&leaves.read(Manifest::FILE)?).ok()),
        false => Ok(None),
    }
}

/// Whether a MachineConfig makes a file readable by its owner only. Of our own files, we know which are secret.
pub(super) fn is_private(list: &Option<Manifest>, path: &str) -> bool {
    let file = list.iter().flat_map(|list| &list.files).find(|file| file.path == path && is_pools(file));
    let mode = file.and_then(|file| u32::from_str_radix(file.mode.as_deref()?, 8).ok());
    mode.is_some_and(|mode| mode & 0o077 == 0)
}

/// Whether an entry comes from a pool's rendered config.
fn is_pools(entry: &Written) -> bool {
    entry.from.iter().any(|origin| matches!(origin.kind, OriginKind::Base | OriginKind::MachineConfig))
}

/// Differences on a node besides file contents: modes, owners, unit states; users and kernel arguments.
pub(super) fn attributes(
    lists: &Lists,
    old: &Leaves,
    new: &Leaves,
    context: &DeltaContext,
) -> Result<Vec<Change>> {
    let [Some(before), Some(after)] = lists else { return Ok(Vec::new()) };
    let (before, after) = (Entries::of(before), Entries::of(after));
    let mut changes = Vec::new();
    for (path, (_, one)) in &before.0 {
        let Some((is_unit, other)) = after.0.get(path) else { continue };
        let mut note = |field: &str, old: &Option<String>, new: &Option<String>| {
            let text = |value: &String| ShownValue::Text(value.clone());
            let edit = match (old, new) {
                (None, None) => return,
                (Some(old), Some(new)) if old == new => return,
                (Some(old), Some(new)) => Edit::Changed { old: text(old), new: text(new) },
                (Some(old), None) => Edit::Removed { old: text(old) },
                (None, Some(new)) => Edit::Added { new: text(new) },
            };
            let file = PlaceStep { into: StepKind::File, name: path.clone() };
            let place = vec![file, PlaceStep { into: StepKind::Field, name: field.to_owned() }];
            let kind = if *is_unit { ChangeKind::Unit } else { ChangeKind::File };
            changes.push(Change { place, kind, edit, tone: None, note: None });
        };
        note("mode", &one.mode, &other.mode);
        note("owner", &one.owner, &other.owner);
        note(if *is_unit { "state" } else { "target" }, &one.state, &other.state);
    }
    if let (Some(old), Some(new)) = (config(old)?, config(new)?) {
        let all = delta::files(Some(file(&old)), Some(file(&new)), context);
        changes.extend(all.into_iter().filter(|change| change.kind == ChangeKind::Node));
    }
    Ok(changes)
}

/// Name and content of the config itself.
fn config(leaves: &Leaves) -> Result<Option<(String, Vec<u8>)>> {
    let path = leaves.by_path.keys().find(|path| path.ends_with(".ign") && !path.contains('/'));
    path.map(|path| Ok((path.clone(), leaves.read(path)?))).transpose()
}

fn file((path, content): &(String, Vec<u8>)) -> File<'_> {
    File { path, content, secret: true, executable: false }
}

/// Entries by path on the node, and whether each is a unit.
struct Entries<'m>(BTreeMap<String, (bool, &'m Written)>);

impl<'m> Entries<'m> {
    fn of(manifest: &'m Manifest) -> Self {
        let Manifest { version: _, directories, files, links, units, users: _ } = manifest;
        let plain = [directories, files, links].into_iter().flatten();
        let plain = plain.map(|entry| (entry.path.clone(), (false, entry)));
        let units = units.iter().map(|entry| (unit_path(&entry.path), (true, entry)));
        Self(plain.chain(units).collect())
    }
}

/// The effect on the node of `ignition/<node>`.
pub(super) fn impact(
    name: &str,
    lists: &Lists,
    old: &Leaves,
    new: &Leaves,
    policy: &[&Disruption],
) -> Result<Option<NodeImpact>> {
    let Some(node) = name.strip_prefix("ignition/") else { return Ok(None) };
    let whole = lists.iter().all(Option::is_some);
    let none = Manifest::default();
    let [before, after] = lists.each_ref().map(|list| Entries::of(list.as_ref().unwrap_or(&none)).0);
    let mut impact = NodeImpact {
        node: node.to_owned(),
        effect: None,
        because: Vec::new(),
        added: Vec::new(),
        removed: Vec::new(),
        changed: Vec::new(),
        units: Vec::new(),
    };
    let mut effects: BTreeMap<Effect, Vec<String>> = BTreeMap::new();
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for path in paths {
        let (one, other) = (before.get(path), after.get(path));
        let Some((is_unit, entry)) = other.or(one) else { continue };
        let same = |(_, one): &(bool, &Written), (_, other): &(bool, &Written)| {
            is_same(one, other) && content(old, path) == content(new, path)
        };
        match (one, other) {
            (None, _) => impact.added.push(path.clone()),
            (_, None) => impact.removed.push(path.clone()),
            (Some(one), Some(other)) if same(one, other) => continue,
            _ => impact.changed.push(path.clone()),
        }
        if *is_unit {
            let name = path.strip_prefix(UNITS).unwrap_or(path).trim_start_matches('/');
            impact.units.push(name.split_once(".d/").map_or(name, |(unit, _)| unit).to_owned());
        }
        effects.entry(effect(path, entry, policy)).or_default().push(path.clone());
    }
    impact.units.dedup();
    let other = other_changes(old, new)?;
    if !other.is_empty() {
        effects.entry(Effect::Reboot).or_default().extend(other);
    }
    let is_in_pool = before.values().any(|(_, entry)| is_pools(entry));
    if before.contains_key(BOOTKUBE) && !is_in_pool {
        let mut because: Vec<String> = effects.into_values().flatten().collect();
        because.sort_unstable();
        impact.because = because;
        impact.effect = whole.then_some(Effect::FirstBoot);
    } else if let Some((effect, because)) = effects.pop_last() {
        impact.because = because;
        impact.effect = whole.then_some(effect);
    }
    Ok((!impact.because.is_empty()).then_some(impact))
}

/// Whether two entries are equal except for their content.
fn is_same(one: &Written, other: &Written) -> bool {
    (&one.mode, &one.owner, &one.state) == (&other.mode, &other.owner, &other.state)
}

/// The digest of an entry's content.
fn content<'l>(leaves: &'l Leaves, path: &str) -> Option<&'l Leaf> {
    leaves.by_path.get(&format!("{}{}", FILES, path.trim_start_matches('/')))
}

/// The effect of one changed entry on a running node.
fn effect(path: &str, entry: &Written, policy: &[&Disruption]) -> Effect {
    if let Some(row) = policy.iter().find(|row| row.covers(path)) {
        return row.effect;
    }
    match is_pools(entry) {
        true => Effect::Reboot,
        false => Effect::Reinstall,
    }
}

/// Changes of a pool's config besides files: the operating system, kernel arguments and the like.
fn other_changes(old: &Leaves, new: &Leaves) -> Result<Vec<String>> {
    let spec = |leaves: &Leaves| -> Result<Option<serde_json::Value>> {
        let path = format!("{}{}", FILES, ENCAPSULATED_PATH.trim_start_matches('/'));
        if !leaves.by_path.contains_key(&path) {
            return Ok(None);
        }
        let whole: Option<serde_json::Value> = serde_json::from_slice(&leaves.read(&path)?).ok();
        Ok(whole.map(|mut whole| whole["spec"].take()))
    };
    let (Some(old), Some(new)) = (spec(old)?, spec(new)?) else { return Ok(Vec::new()) };
    let fields = ["extensions", "fips", "kernelArguments", "kernelType", "osImageURL"];
    Ok(fields.into_iter().filter(|field| old[field] != new[field]).map(str::to_owned).collect())
}
