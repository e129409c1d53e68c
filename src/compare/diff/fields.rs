//! Parts of API types that refuse more than before, and which of our own objects have them.
//!
//! A field that is gone, or a value that is not allowed any more, breaks an object that has it. Of other rules only the API
//! server (and `check/schemas`, which has passed if there is a new side) knows: objects with the field are named.

use std::collections::BTreeMap;

use super::{Artifact, Result, SchemaMove, Severity, Side};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::compare::delta::{Change, ChangeKind, Edit, Into, PlaceStep, ShownValue, Tone};
use crate::openshift::patch::Identity;

/// The artifact with all manifests, as they are applied.
const MANIFESTS: &str = "patched";

/// Everything that is tightened. What breaks one of our objects is [`Severity::Breaking`].
pub(super) fn schemas(old: &Side, artifacts: &mut [&mut Artifact]) -> Result<Vec<SchemaMove>> {
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
        moves.push(SchemaMove { crd, field: path.join("."), what, used_by });
    }
    Ok(moves)
}

/// A change of a schema, taken apart.
struct Tightened {
    crd: String,
    /// Fields from the object's root on; `[]` for items of a list.
    path: Vec<String>,
    what: String,
    /// A value that is not allowed any more.
    value: Option<String>,
    /// Whether an object that has it is refused for sure.
    breaks: bool,
}

fn tightened(change: &Change) -> Option<Tightened> {
    if change.kind != ChangeKind::Schema || change.tone != Some(Tone::Tightened) {
        return None;
    }
    let at = change.place.iter().position(|step| step.into == Into::Object)?;
    let crd = change.place[at].name.rsplit(' ').next()?.to_owned();
    // Behind the object comes the version, then the field, then perhaps the rule and what it names.
    let steps = change.place[at + 1..].iter().skip_while(|step| step.into == Into::Item);
    let path =
        steps.clone().take_while(|step| step.into != Into::Rule).map(|step| step.name.clone()).collect();
    let rule = steps.clone().find(|step| step.into == Into::Rule);
    let is_enum = rule.is_some_and(|step| step.name == "enum");
    let rule = rule.map(|step: &PlaceStep| format!("{} ", step.name)).unwrap_or_default();
    let text = |shown: &ShownValue| match shown {
        ShownValue::Text(text) => text.clone(),
        _ => "something else".to_owned(),
    };
    let what = match &change.edit {
        Edit::Removed { .. } if rule.is_empty() => "is gone".to_owned(),
        Edit::Removed { old } => format!("{rule}has no {} any more", text(old)),
        Edit::Added { new } => format!("now asks for {rule}{}", text(new)),
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
    /// Whether an object is of this type and has the field.
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

/// Whether an object has a field, in any item of the lists on the way; with this value, if one is asked for.
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
