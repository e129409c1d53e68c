//! What differs on a node, and what that means for a node that runs already.
//!
//! A node's object has the config, every file of it in `tree/`, and `tree.json` with modes and origins. The files are
//! compared, by their digests; of the config only what is no file.
//!
//! What the node would do follows the machine-config operator's own rules, the table `node-disruption.toml`: some files are
//! just written, some make a service load them, everything else that a pool's rendered config has means a reboot. What is not from the pool (a
//! static address, the host's name) nobody changes on a running node: it is installed again.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Result;
use super::side::{Leaf, Leaves};
use crate::compare::delta::{
    self, Change, ChangeKind, DeltaContext, Edit, File, Into, PlaceStep, ShownValue,
};
use crate::openshift::ignition::{ENCAPSULATED_PATH, Manifest, OriginKind, UNITS, Written, unit_path};
use crate::openshift::knowledge::{Disruption, Effect};

/// Where the files are.
const FILES: &str = "tree/";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeImpact {
    pub node: String,
    /// What it would do; none if it is only on one side.
    pub effect: Option<Effect>,
    /// What makes it do that: paths on the node.
    pub because: Vec<String>,
    /// Files, links and directories that are new.
    pub added: Vec<String>,
    /// Those that are gone.
    pub removed: Vec<String>,
    /// Those that are not the same.
    pub changed: Vec<String>,
    /// Units that are new, gone or not the same: they restart.
    pub units: Vec<String>,
}

/// Leaves that are compared: of a node its files, and neither the config that holds them nor their list.
pub(super) fn told(leaves: &Leaves) -> BTreeMap<&str, &Leaf> {
    let is_node = leaves.by_path.contains_key(Manifest::FILE);
    let told = |path: &str| !is_node || path.starts_with(FILES);
    leaves.by_path.iter().filter(|(path, _)| told(path)).map(|(path, leaf)| (path.as_str(), leaf)).collect()
}

/// A path as it is shown: of a node's files, the path on the node.
pub(super) fn shown(leaves: &Leaves, path: &str) -> String {
    match path.strip_prefix(FILES) {
        Some(rest) if leaves.by_path.contains_key(Manifest::FILE) => format!("/{rest}"),
        _ => path.to_owned(),
    }
}

/// The lists of a node's entries, on both sides; none for an artifact that is no node's.
pub(super) type Lists = [Option<Manifest>; 2];

pub(super) fn lists(old: &Leaves, new: &Leaves) -> Result<Lists> {
    Ok([list(old)?, list(new)?])
}

fn list(leaves: &Leaves) -> Result<Option<Manifest>> {
    match leaves.by_path.contains_key(Manifest::FILE) {
        // One that cannot be read is of another version of tinderbox: then there is nothing to say about it.
        true => Ok(serde_json::from_slice(&leaves.read(Manifest::FILE)?).ok()),
        false => Ok(None),
    }
}

/// What differs on a node beside the contents of files: modes, owners, states of units; users and arguments of the kernel.
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
            let file = PlaceStep { into: Into::File, name: path.clone() };
            let place = vec![file, PlaceStep { into: Into::Field, name: field.to_owned() }];
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

/// The config itself: name and content.
fn config(leaves: &Leaves) -> Result<Option<(String, Vec<u8>)>> {
    let path = leaves.by_path.keys().find(|path| path.ends_with(".ign") && !path.contains('/'));
    path.map(|path| Ok((path.clone(), leaves.read(path)?))).transpose()
}

fn file((path, content): &(String, Vec<u8>)) -> File<'_> {
    File { path, content, secret: true, executable: false }
}

/// Entries by their path on the node, and whether each is a unit.
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

/// The same as a function of the object: what would happen to the node `ignition/<node>`.
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
    let beside = beside(old, new)?;
    if !beside.is_empty() {
        effects.entry(Effect::Reboot).or_default().extend(beside);
    }
    if let Some((effect, because)) = effects.pop_last() {
        impact.because = because;
        impact.effect = whole.then_some(effect);
    }
    Ok((!impact.because.is_empty()).then_some(impact))
}

/// Whether two entries are the same but for what they hold.
fn is_same(one: &Written, other: &Written) -> bool {
    (&one.mode, &one.owner, &one.state) == (&other.mode, &other.owner, &other.state)
}

/// What an entry holds, by digest.
fn content<'l>(leaves: &'l Leaves, path: &str) -> Option<&'l Leaf> {
    leaves.by_path.get(&format!("{}{}", FILES, path.trim_start_matches('/')))
}

/// What one entry that differs makes a running node do.
fn effect(path: &str, entry: &Written, policy: &[&Disruption]) -> Effect {
    if let Some(row) = policy.iter().find(|row| row.covers(path)) {
        return row.effect;
    }
    let is_pools = |kind: OriginKind| matches!(kind, OriginKind::Base | OriginKind::MachineConfig);
    match entry.from.iter().any(|origin| is_pools(origin.kind)) {
        true => Effect::Reboot,
        false => Effect::Reinstall,
    }
}

/// What stands beside the files in a pool's config and differs: the operating system, arguments of the kernel and the like.
fn beside(old: &Leaves, new: &Leaves) -> Result<Vec<String>> {
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
