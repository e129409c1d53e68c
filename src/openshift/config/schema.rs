//! The JSON schema of `cluster.yaml`, for editors; generated from the table that also validates the file.

use serde_json::{Map, Value, json};

use super::cluster_file;
use super::spec::{Kind, Row};
use super::syntax::Syntax;

/// The schema (draft 2020-12) of `cluster.yaml`.
pub(crate) fn schema() -> Value {
    let mut schema = object(cluster_file::FIELDS);
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("cluster.yaml of tinderbox"));
    Value::Object(schema)
}

fn object(fields: &[Row]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), Value::Object(described(field)))).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut object =
        members(json!({"type": "object", "properties": properties, "additionalProperties": false}));
    if !required.is_empty() {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

fn described(field: &Row) -> Map<String, Value> {
    let mut schema = of(&field.kind);
    schema.insert("description".to_owned(), json!(field.doc));
    schema
}

fn of(kind: &Kind) -> Map<String, Value> {
    members(match kind {
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Int { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Text(syntax) | Kind::Lines(syntax) => text(syntax),
        Kind::Choice { values, .. } => json!({"enum": values}),
        Kind::Quantity(unit) => {
            json!({"type": "string", "pattern": "^[1-9][0-9]* ?[MGT]i?B?$", "examples": [unit.example]})
        }
        Kind::Texts(syntax) => json!({"type": "array", "items": text(syntax)}),
        Kind::OneOrMore(syntax) => json!({"anyOf": [text(syntax), {"type": "array", "items": text(syntax)}]}),
        Kind::List(fields) => json!({"type": "array", "items": object(fields)}),
        Kind::Map(fields) => return object(fields),
        Kind::Named(fields) => json!({"type": "object", "additionalProperties": object(fields)}),
        Kind::Document(_) => json!({"type": "object"}),
        Kind::Refused(_) => json!(false),
    })
}

fn text(syntax: &Syntax) -> Value {
    let mut schema = members(json!({"type": "string", "examples": [syntax.example]}));
    if let Some(pattern) = syntax.pattern {
        schema.insert("pattern".to_owned(), json!(pattern));
    }
    Value::Object(schema)
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
