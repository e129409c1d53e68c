//! What the API server does to an object before validation: finds and drops unknown fields, drops nulls, adds defaults.

use super::path::Path;
use super::tree::{Json, Tree};
use super::{Additional, Fault, Id, Outcome, ROOT, Rules, Schema, UNKNOWN_FIELD};
use crate::base::hint::did_you_mean;

/// Fields that every object has, whatever its schema says.
const OWN: [&str; 3] = ["apiVersion", "kind", "metadata"];

pub(super) fn prepare(schema: &Schema, object: &mut Tree, path: &Path<'_>, outcome: &mut Outcome) {
    let mut step = Step { schema, outcome };
    step.prune(object, ROOT, schema.custom, path);
    step.default(object, ROOT);
}

struct Step<'a> {
    schema: &'a Schema,
    outcome: &'a mut Outcome,
}

impl Step<'_> {
    fn prune(&mut self, tree: &mut Tree, id: Id, resource: bool, path: &Path<'_>) {
        let rules = self.schema.get(id);
        match &mut tree.json {
            Json::Map(map) => {
                let mut unknown = Vec::new();
                for (name, value) in map.iter_mut() {
                    let here = path.field(name);
                    match (below(rules, name), resource || rules.embedded) {
                        (_, true) if OWN.contains(&name.as_str()) => {}
                        (Below::Schema(id), _) => self.prune(value, id, false, &here),
                        (Below::Anything, _) => {}
                        (Below::Nothing, own) => {
                            unknown.push(name.clone());
                            self.outcome.faults.push(self.unknown(name, value, rules, own, &here));
                        }
                    }
                }
                unknown.iter().for_each(|name| {
                    map.remove(name);
                });
            }
            Json::List(items) => {
                if let Some(id) = rules.items {
                    for (at, item) in items.iter_mut().enumerate() {
                        self.prune(item, id, false, &path.item(at));
                    }
                }
            }
            _ => {}
        }
    }

    fn unknown(&self, name: &str, value: &Tree, rules: &Rules, own: bool, path: &Path<'_>) -> Fault {
        // A schema that is not an object has a wrong type to report, not unknown fields.
        let known = rules.properties.keys().map(String::as_str).chain(OWN.into_iter().filter(|_| own));
        let known: Vec<&str> = known.collect();
        let hint = did_you_mean(name, known.iter().copied()).or_else(|| match known.len() {
            0 => Some("there is no field below this one".into()),
            1..=12 => Some(format!("known here: {}", list(&known))),
            _ => None,
        });
        Fault { path: path.text(), line: value.line, message: UNKNOWN_FIELD.into(), hint }
    }

    /// Drops nulls that are not nullable before adding defaults, like apiextensions.
    fn default(&mut self, tree: &mut Tree, id: Id) {
        let rules = self.schema.get(id);
        let line = tree.line;
        match &mut tree.json {
            Json::Map(map) => {
                map.retain(|name, value| match below(rules, name) {
                    Below::Schema(id) => !value.is_null() || self.schema.get(id).nullable,
                    _ => true,
                });
                for (name, id) in &rules.properties {
                    if let Some(default) = &self.schema.get(*id).default
                        && !map.contains_key(name)
                    {
                        map.insert(name.clone(), default.moved(line));
                    }
                }
                for (name, value) in map.iter_mut() {
                    if let Below::Schema(id) = below(rules, name) {
                        self.default(value, id);
                    }
                }
            }
            Json::List(items) => {
                if let Some(id) = rules.items {
                    items.iter_mut().for_each(|item| self.default(item, id));
                }
            }
            _ => {}
        }
    }
}

enum Below {
    Schema(Id),
    Anything,
    Nothing,
}

/// The rules for a field of that name.
fn below(rules: &Rules, name: &str) -> Below {
    match (rules.properties.get(name), rules.additional) {
        (Some(id), _) => Below::Schema(*id),
        (None, Additional::Each(id)) => Below::Schema(id),
        (None, Additional::Any) => Below::Anything,
        (None, Additional::None) if rules.keeps_unknown || !is_object(rules) => Below::Anything,
        (None, Additional::None) => Below::Nothing,
    }
}

/// A map in place of a scalar is one fault, not one for each of its fields.
fn is_object(rules: &Rules) -> bool {
    matches!(rules.kind, Some(super::Kind::Object) | None)
}

pub(super) fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
