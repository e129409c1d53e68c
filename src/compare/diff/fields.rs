//! Parts of API types that became stricter, and which of our own objects they affect.
//!
//! A removed field or value breaks an object that has it. Other rules are up to the API server (and `check/schemas`,
//! which has passed if there is a new side): objects with the field are named.

use std::collections::BTreeMap;

use super::{Artifact, Result, SchemaChange, Severity, Side};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::compare::delta::{Change, ChangeKind, Edit, PlaceStep, ShownValue, StepKind, Tone};
use crate::openshift::patch::Identity;

/// The artifact with all manifests, as applied.
const MANIFESTS: &str = "patched";

/// Everything that became stricter. If it breaks one of our objects, it is [`Severity::Breaking`].
pub(super) fn schemas(old: &Side, artifacts: &mut [&mut Artifact]) -> Result<Vec<SchemaChange>> {
    let mut objects: Option<Vec<YamlNode>> = None;
    let mut moves = Vec::new();
    for difference in artifacts.iter_mut().flat_map(|artifact| &mut artifact.differences) {
        let Some(tightened) = tightened(&difference.change) else { continue };
        if objects.is_none() {
            objects = Some(read(old)?);
        }
        let used_by: Vec<String> =
            objects.iter().flatten().filter(|object| tightened.is_in(object)).map(identity).collect();
        if !used_by.is_empty() && tightened.breaks {
            difference.severity = Severity::Breaking;
        }
        let Tightened { crd, path, what, value: _, breaks: _ } = tightened;
        moves.push(SchemaChange { crd, field: path.join("."), what, used_by });
    }
    Ok(moves)
}

/// A tightened schema, decomposed.
struct Tightened {
    crd: String,
    /// Fields from the object's root; `[]` for list items.
    path: Vec<String>,
    what: String,
    /// A value that is no longer allowed.
    value: Option<String>,
    /// Whether an object that has it is certainly rejected.
    breaks: bool,
}

fn tightened(change: &Change) -> Option<Tightened> {
    if change.kind != ChangeKind::Schema || change.tone != Some(Tone::Tightened) {
        return None;
    }
    let at = change.place.iter().position(|step| step.into == StepKind::Object)?;
    let crd = change.place[at].name.rsplit(' ').next()?.to_owned();
    // After the object come the version, the field, and possibly the rule and what it names.
    let steps = change.place[at + 1..].iter().skip_while(|step| step.into == StepKind::Item);
    let path =
        steps.clone().take_while(|step| step.into != StepKind::Rule).map(|step| step.name.clone()).collect();
    let rule = steps.clone().find(|step| step.into == StepKind::Rule);
    let is_enum = rule.is_some_and(|step| step.name == "enum");
    let rule = rule.map(|step: &PlaceStep| format!("{} ", step.name)).unwrap_or_default();
    let text = |shown: &ShownValue| match shown {
        ShownValue::Text(text) => text.clone(),
        _ => "something else".to_owned(),
    };
    let what = match &change.edit {
        Edit::Removed { .. } if rule.is_empty() => "is gone".to_owned(),
        Edit::Removed { old } => format!("{rule}no longer has {}", text(old)),
        Edit::Added { new } => format!("now requires {rule}{}", text(new)),
        Edit::Changed { old, new } => format!("{rule}{} became {}", text(old), text(new)),
        Edit::Renamed { .. } | Edit::Lines { .. } => "changed".to_owned(),
    };
    let value = match &change.edit {
        Edit::Removed { old: ShownValue::Text(value) } if is_enum => Some(value.clone()),
        _ => None,
    };
    let breaks = matches!(change.edit, Edit::Removed { .. }) && (rule.is_empty() || value.is_some());
    Some(Tightened { crd, path, what, value, breaks })
}

impl Tightened {
    /// Whether an object has this type and field.
    fn is_in(&self, object: &YamlNode) -> bool {
        let (plural, group) = self.crd.split_once('.').unwrap_or((&self.crd, ""));
        let identity = Identity::of(object);
        let kind = identity.kind.to_lowercase();
        let is_kind =
            [format!("{kind}s"), format!("{kind}es"), kind.trim_end_matches('y').to_owned() + "ies", kind];
        identity.group() == group
            && is_kind.iter().any(|one| one == plural)
            && has(object, &self.path, self.value.as_deref())
    }
}

/// Whether an object has a field, in any item of the lists on its path; with this value, if given.
fn has(node: &YamlNode, path: &[String], value: Option<&str>) -> bool {
    match (&node.data, path) {
        (YamlData::List(items), []) => value.is_none() || items.iter().any(|item| has(item, path, value)),
        (_, []) => value.is_none_or(|value| node.text() == Some(value)),
        (YamlData::List(items), [first, rest @ ..]) if first == "[]" => {
            items.iter().any(|item| has(item, rest, value))
        }
        (YamlData::List(items), path) => items.iter().any(|item| has(item, path, value)),
        (YamlData::Map(_), [first, rest @ ..]) => {
            node.get(first).is_some_and(|inner| has(inner, rest, value))
        }
        _ => false,
    }
}

fn identity(object: &YamlNode) -> String {
    let Identity { kind, namespace, name, .. } = Identity::of(object);
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

/// All objects that bootkube applies.
fn read(side: &Side) -> Result<Vec<YamlNode>> {
    let Some(leaves) = side.leaves(MANIFESTS)? else { return Ok(Vec::new()) };
    let mut objects = Vec::new();
    let manifests: BTreeMap<&String, _> =
        leaves.by_path.iter().filter(|(path, leaf)| yaml::is_manifest(path) && leaf.link.is_none()).collect();
    for path in manifests.into_keys() {
        let text = String::from_utf8_lossy(&leaves.read(path)?).into_owned();
        let mut problems = Problems::default();
        objects.extend(yaml::documents(Source { name: path, text: &text }, &mut problems));
    }
    Ok(objects)
}
