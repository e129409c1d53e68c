//! `x-kubernetes-validations`: CEL rules, evaluated by kube-cel, which has Kubernetes' functions (addresses,
//! quantities, …).
//!
//! Like the API server, evaluates them only for an object that is otherwise valid, and skips rules that compare with an
//! earlier state if there is none. Where kube-cel knows that it cannot follow the API server, it says so, and the rule
//! is reported as not evaluated; only a rule that evaluates to false is a fault.

use data_encoding::BASE64;
use kube_cel::ErrorKind;
use serde_json::{Map, Value, json};

use super::tree::{Json, Tree};
use super::{Additional, Fault, Format, How, Id, Kind, Outcome, ROOT, Schema, Skipped};

pub(super) fn check(schema: &Schema, object: &Tree, how: How, outcome: &mut Outcome) {
    let Some(narrowed) = narrow(schema, ROOT, Some(object)) else { return };
    let mut opaque = false;
    let value = typed(schema, Some(ROOT), object, &mut opaque);
    for error in kube_cel::validate(&narrowed, &value, None) {
        let path = error.field_path.trim_start_matches('.').to_owned();
        let why = match error.kind {
            ErrorKind::ValidationFailure if opaque => "CEL about an object with bytes that are no text",
            ErrorKind::ValidationFailure => {
                let line = line(object, &path);
                // A message can contain values.
                let message = match how.masked || error.message.is_empty() {
                    true => "a rule of its CRD does not hold".to_owned(),
                    false => error.message.trim_end_matches('.').to_owned(),
                };
                let hint = Some(format!("the rule is `{}`", error.rule.trim()));
                outcome.faults.push(Fault { path, line, message, hint });
                continue;
            }
            ErrorKind::CompilationFailure | ErrorKind::InvalidRule => "CEL that cannot be read here",
            ErrorKind::UnsupportedReference => "CEL with a function that is not known here",
            _ => "CEL that comes to no verdict here",
        };
        outcome.skipped.push(Skipped { path, rule: error.rule.trim().to_owned(), why });
    }
}

/// The part of a schema with rules for this value; none if there are none. Compiling all of a large CRD takes longer
/// than everything else together.
fn narrow(schema: &Schema, id: Id, value: Option<&Tree>) -> Option<Value> {
    let rules = schema.get(id);
    let mut out = Map::new();
    let mut any = !rules.cel.is_empty();
    if any {
        out.insert("x-kubernetes-validations".into(), rules.cel.clone().into());
    }
    let mut properties = Map::new();
    for (name, below) in &rules.properties {
        // Absent values have no rules; rules about absence belong to the enclosing value.
        let value = match value.map(|value| &value.json) {
            Some(Json::Map(map)) => match map.get(name) {
                Some(value) => Some(value),
                None => continue,
            },
            Some(_) => continue,
            None => None,
        };
        properties.extend(narrow(schema, *below, value).map(|found| (name.clone(), found)));
    }
    any |= !properties.is_empty();
    // Elements differ, so everything below them is included. Only named types of Kubernetes are recursive, and those
    // have no rules.
    let items = rules.items.and_then(|below| narrow(schema, below, None));
    let each = match rules.additional {
        Additional::Each(below) => narrow(schema, below, None),
        _ => None,
    };
    any |= items.is_some() || each.is_some();
    out.insert("properties".into(), with_formats(schema, id, properties).into());
    out.extend(items.map(|items| ("items".to_owned(), items)));
    out.extend(each.map(|each| ("additionalProperties".to_owned(), each)));
    if let Some(kind) = rules.kind.and_then(name) {
        out.insert("type".into(), kind.into());
    }
    if let Some(format) = rules.format.and_then(super::Format::cel) {
        out.insert("format".into(), format.into());
    }
    if rules.kind == Some(Kind::IntOrString) {
        out.insert("x-kubernetes-int-or-string".into(), true.into());
    }
    if rules.keeps_unknown {
        out.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
    }
    any.then_some(out.into())
}

/// A field's format determines its CEL type, even if the field has no rule of its own.
fn with_formats(schema: &Schema, id: Id, mut properties: Map<String, Value>) -> Map<String, Value> {
    for (field, below) in &schema.get(id).properties {
        let rules = schema.get(*below);
        if let Some(format) = rules.format.and_then(super::Format::cel)
            && !properties.contains_key(field)
        {
            properties.insert(field.clone(), json!({"type": "string", "format": format}));
        }
    }
    properties
}

fn name(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Object => "object",
        Kind::Array => "array",
        Kind::Text => "string",
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Boolean => "boolean",
        Kind::IntOrString | Kind::Quantity => return None,
    })
}

/// A value as CEL sees it: to the API server, fields of format `byte` are bytes and not their base64. kube-cel has no such
/// type. As text, ASCII has the same size and the same `string(self)`; other bytes stay base64, and are `opaque`.
fn typed(schema: &Schema, id: Option<Id>, tree: &Tree, opaque: &mut bool) -> Value {
    let Some(rules) = id.map(|id| schema.get(id)) else { return json(tree) };
    match &tree.json {
        Json::Text(text) if rules.format == Some(Format::Byte) => {
            let bytes = BASE64.decode(text.as_bytes()).unwrap_or_default();
            match String::from_utf8(bytes).ok().filter(|text| text.is_ascii()) {
                Some(text) => text.into(),
                None => {
                    *opaque = true;
                    text.as_str().into()
                }
            }
        }
        Json::List(items) => items.iter().map(|item| typed(schema, rules.items, item, opaque)).collect(),
        Json::Map(map) => {
            let each = match rules.additional {
                Additional::Each(below) => Some(below),
                _ => None,
            };
            let member = |(name, value): (&String, &Tree)| {
                let below = rules.properties.get(name).copied().or(each);
                (name.clone(), typed(schema, below, value, opaque))
            };
            Value::Object(map.iter().map(member).collect())
        }
        _ => json(tree),
    }
}

fn json(tree: &Tree) -> Value {
    match &tree.json {
        Json::Null => Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Int(value) => (*value).into(),
        Json::Float(value) => (*value).into(),
        Json::Text(text) => text.as_str().into(),
        Json::List(items) => items.iter().map(json).collect(),
        Json::Map(map) => {
            Value::Object(map.iter().map(|(name, value)| (name.clone(), json(value))).collect())
        }
    }
}

/// A rule as JSON, for [`super::compile`].
pub(super) fn rule(tree: &Tree) -> Value {
    json(tree)
}

/// The line of a path, or of its last existing part.
fn line(object: &Tree, path: &str) -> usize {
    let mut at = object;
    for step in path.split(['.', '[']).map(|step| step.trim_end_matches(']')) {
        let below = match &at.json {
            Json::Map(map) => map.get(step),
            Json::List(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            _ => None,
        };
        match below {
            Some(below) => at = below,
            None => break,
        }
    }
    at.line
}
