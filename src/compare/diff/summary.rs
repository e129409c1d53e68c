//! What the differences mean, on one page: nodes, images, flags, gates, schemas, certificates.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Artifact, ArtifactState, Difference, NodeImpact, Result, Severity, Side};
use crate::compare::delta::{Change, ChangeKind, Edit, PlaceStep, ShownValue, StepKind, Tone};
use crate::openshift::knowledge::Release;

const IMAGES: &str = "release/images";
/// The file that contains the name of the release.
const VERSION: &str = "release";

#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// The number of artifacts in each state.
    pub counts: Counts,
    /// Affected nodes.
    pub nodes: Vec<NodeImpact>,
    pub images: Vec<ImageChange>,
    pub flags: Vec<FlagChange>,
    pub gates: Vec<GateFlip>,
    /// Parts of API types that became stricter.
    pub schemas: Vec<SchemaChange>,
    pub certificates: Vec<Renewed>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub added: usize,
    pub removed: usize,
    pub renamed: usize,
    pub changed: usize,
    /// Equal in meaning.
    pub same: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImageChange {
    pub component: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlagChange {
    pub artifact: String,
    /// The object and its container, or the unit.
    pub program: String,
    pub flag: String,
    /// None if it was added.
    pub old: Option<ShownValue>,
    /// None if it was removed.
    pub new: Option<ShownValue>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GateFlip {
    pub gate: String,
    /// None if it was added.
    pub old: Option<String>,
    /// None if it was removed.
    pub new: Option<String>,
}

/// A part of an API type that became stricter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaChange {
    /// The CRD's name.
    pub crd: String,
    pub field: String,
    pub what: String,
    pub used_by: Vec<String>,
}

/// A certificate or key that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Renewed {
    pub artifact: String,
    /// The fields that differ.
    pub fields: Vec<String>,
    pub rekeyed: bool,
}

/// The severity of a difference, before considering who uses it.
pub(super) fn weigh(change: &Change) -> Severity {
    match (change.kind, change.tone, &change.edit) {
        (ChangeKind::Schema, Some(Tone::Tightened), _) => Severity::Notable,
        (ChangeKind::Schema, ..) => Severity::Info,
        (
            ChangeKind::Flag
            | ChangeKind::Image
            | ChangeKind::Gate
            | ChangeKind::Unit
            | ChangeKind::Key
            | ChangeKind::Node,
            ..,
        ) => Severity::Notable,
        (ChangeKind::File, _, Edit::Added { .. } | Edit::Removed { .. }) => Severity::Notable,
        _ => Severity::Info,
    }
}

pub(super) fn summary(
    old: &Side,
    new: &Side,
    artifacts: &mut [Artifact],
    nodes: Vec<NodeImpact>,
    only: &dyn Fn(&str) -> bool,
    is_source: &dyn Fn(&str) -> bool,
) -> Result<Summary> {
    let mut counts = Counts::default();
    for artifact in artifacts.iter() {
        match artifact.state {
            ArtifactState::Added => counts.added += 1,
            ArtifactState::Removed => counts.removed += 1,
            ArtifactState::Renamed => counts.renamed += 1,
            ArtifactState::Changed => counts.changed += 1,
        }
    }
    let all: BTreeSet<&String> = old.parts.keys().chain(new.parts.keys()).filter(|name| only(name)).collect();
    counts.same = all.len() - counts.added - counts.removed - 2 * counts.renamed - counts.changed;
    // Downloads contain much that this cluster does not use.
    let mut used: Vec<&mut Artifact> =
        artifacts.iter_mut().filter(|artifact| !is_source(&artifact.name)).collect();
    let schemas = super::fields::schemas(old, &mut used)?;
    let used: Vec<&Artifact> = used.into_iter().map(|artifact| &*artifact).collect();
    let each = || {
        used.iter()
            .flat_map(|artifact| artifact.differences.iter().map(|one| (artifact.name.as_str(), &one.change)))
    };
    Ok(Summary {
        counts,
        nodes,
        images: images(old, new)?,
        flags: flags(each()),
        gates: gates(each().map(|(_, change)| change)),
        schemas,
        certificates: certificates(&used),
    })
}

/// The same for differences that are not between two sides: without nodes, images and who uses a schema.
pub(super) fn of_artifacts(artifacts: &[Artifact], counts: Counts) -> Summary {
    let used: Vec<&Artifact> = artifacts.iter().collect();
    let each = || {
        used.iter()
            .flat_map(|artifact| artifact.differences.iter().map(|one| (artifact.name.as_str(), &one.change)))
    };
    Summary {
        counts,
        flags: flags(each()),
        gates: gates(each().map(|(_, change)| change)),
        certificates: certificates(&used),
        ..Summary::default()
    }
}

/// Pull specs by component.
fn pulled(side: &Side) -> Result<BTreeMap<String, String>> {
    let Some(leaves) = side.leaves(IMAGES)? else { return Ok(BTreeMap::new()) };
    let Some(path) = leaves.by_path.keys().find(|path| path.ends_with(".json")) else {
        return Ok(BTreeMap::new());
    };
    Ok(serde_json::from_slice(&leaves.read(path)?).unwrap_or_default())
}

/// The release of a side, from its images.
pub(super) fn release(side: &Side) -> Result<Option<Release>> {
    let Some(leaves) = side.leaves(IMAGES)?.filter(|leaves| leaves.by_path.contains_key(VERSION)) else {
        return Ok(None);
    };
    Ok(Release::parse(&String::from_utf8_lossy(&leaves.read(VERSION)?)))
}

/// Image names by digest, of both sides.
pub(crate) fn components(old: &Side, new: &Side) -> Result<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    let same = old.parts.get(IMAGES) == new.parts.get(IMAGES);
    for side in if same { vec![new] } else { vec![old, new] } {
        for (component, image) in pulled(side)? {
            if let Some((_, digest)) = image.split_once('@') {
                names.insert(digest.to_owned(), component);
            }
        }
    }
    Ok(names)
}

fn images(old: &Side, new: &Side) -> Result<Vec<ImageChange>> {
    if old.parts.get(IMAGES) == new.parts.get(IMAGES) {
        return Ok(Vec::new());
    }
    let (old, new) = (pulled(old)?, pulled(new)?);
    let components: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let moved = components.into_iter().map(|component| ImageChange {
        component: component.clone(),
        old: old.get(component).cloned(),
        new: new.get(component).cloned(),
    });
    Ok(moved.filter(|one| one.old != one.new).collect())
}

/// Both values of a difference; none for lines and renames.
fn values(edit: &Edit) -> Option<(Option<ShownValue>, Option<ShownValue>)> {
    match edit {
        Edit::Added { new } => Some((None, Some(new.clone()))),
        Edit::Removed { old } => Some((Some(old.clone()), None)),
        Edit::Changed { old, new } => Some((Some(old.clone()), Some(new.clone()))),
        Edit::Renamed { .. } | Edit::Lines { .. } => None,
    }
}

/// Flags, each once: pools and nodes share many.
fn flags<'c>(changes: impl Iterator<Item = (&'c str, &'c Change)>) -> Vec<FlagChange> {
    let mut flags: Vec<FlagChange> = Vec::new();
    for one in changes.filter_map(|(artifact, change)| flag(artifact, change)) {
        let same =
            |known: &FlagChange| *known == FlagChange { artifact: known.artifact.clone(), ..one.clone() };
        if !flags.iter().any(same) {
            flags.push(one);
        }
    }
    flags
}

fn flag(artifact: &str, change: &Change) -> Option<FlagChange> {
    let at = change.place.iter().position(|step| step.into == StepKind::Flag)?;
    let (old, new) = values(&change.edit)?;
    let flag = change.place[at..].iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join(" ");
    Some(FlagChange { artifact: artifact.to_owned(), program: program(&change.place[..at]), flag, old, new })
}

/// The unit, or the object and its container, that contains a command line.
fn program(place: &[PlaceStep]) -> String {
    let unit = place.iter().rfind(|step| step.into == StepKind::File && step.name.ends_with(".service"));
    if let Some(unit) = unit {
        return crate::engine::tree::leaf(&unit.name).to_owned();
    }
    let object = place.iter().rfind(|step| step.into == StepKind::Object);
    let container = place.iter().rfind(|step| step.into == StepKind::Item);
    let container = container.map(|step| step.name.strip_prefix("name=").unwrap_or(&step.name));
    let words: Vec<&str> = object.map(|step| step.name.as_str()).into_iter().chain(container).collect();
    match words.as_slice() {
        [] => place.first().map(|file| file.name.clone()).unwrap_or_default(),
        some => some.join(" "),
    }
}

fn gates<'c>(changes: impl Iterator<Item = &'c Change>) -> Vec<GateFlip> {
    // A gate is enabled in a FeatureGate and true in a program's configuration.
    let text = |shown: Option<ShownValue>| match shown {
        Some(ShownValue::Text(text)) if text == "true" => Some("enabled".to_owned()),
        Some(ShownValue::Text(text)) if text == "false" => Some("disabled".to_owned()),
        Some(ShownValue::Text(text)) => Some(text),
        _ => None,
    };
    let mut flips = BTreeSet::new();
    for change in changes.filter(|change| change.kind == ChangeKind::Gate) {
        let (Some((old, new)), Some(step)) = (values(&change.edit), change.place.last()) else { continue };
        flips.insert(GateFlip { gate: step.name.clone(), old: text(old), new: text(new) });
    }
    flips.into_iter().collect()
}

fn certificates(artifacts: &[&Artifact]) -> Vec<Renewed> {
    let of = |artifact: &&Artifact| {
        let is_key = |one: &&Difference| one.change.kind == ChangeKind::Key;
        let is_certificate = |one: &&Difference| one.change.kind == ChangeKind::Certificate;
        let fields: BTreeSet<String> = artifact
            .differences
            .iter()
            .filter(is_certificate)
            .filter_map(|one| one.change.place.iter().find(|step| step.into == StepKind::Field))
            .map(|step| step.name.clone())
            .collect();
        let rekeyed = artifact.differences.iter().any(|one| is_key(&one)) || fields.contains("key");
        let any = artifact.state == ArtifactState::Changed && (rekeyed || !fields.is_empty());
        any.then(|| Renewed {
            artifact: artifact.name.clone(),
            fields: fields.into_iter().collect(),
            rekeyed,
        })
    };
    artifacts.iter().filter_map(of).collect()
}
