//! Compiles the `openAPIV3Schema` of a CRD to rules.
//!
//! Does not detect invalid CRDs: these come from a release, whose API server accepts them.

use std::collections::BTreeMap;

use super::format::Format;
use super::pattern::Pattern;
use super::tree::Tree;
use super::{Additional, Id, Kind, Limits, ListType, Range, Rules, Schema};
use crate::base::yaml::{YamlData, YamlEntry, YamlNode};

pub(super) fn compile(schema: &YamlNode) -> Schema {
    let mut compiler = Compiler { rules: Vec::new() };
    compiler.add(schema);
    Schema { rules: compiler.rules, custom: true }
}

struct Compiler {
    rules: Vec<Rules>,
}

impl Compiler {
    /// Reserves an id first, so that the root gets the first.
    fn add(&mut self, node: &YamlNode) -> Id {
        let id = self.rules.len();
        self.rules.push(Rules::default());
        let rules = self.rules_of(node);
        self.rules[id] = rules;
        id
    }

    fn rules_of(&mut self, node: &YamlNode) -> Rules {
        let mut rules =
            Rules { limits: limits(node), list: list_type(node), cel: cel(node), ..Rules::default() };
        let mut format = None;
        for YamlEntry { key, value, .. } in entries(node) {
            match key.as_str() {
                "type" => rules.kind = rules.kind.or_else(|| kind(value)),
                "x-kubernetes-int-or-string" if is_true(value) => rules.kind = Some(Kind::IntOrString),
                "nullable" => rules.nullable = is_true(value),
                "x-kubernetes-preserve-unknown-fields" => rules.keeps_unknown = is_true(value),
                "x-kubernetes-embedded-resource" => rules.embedded = is_true(value),
                "uniqueItems" => rules.unique = is_true(value),
                "format" => format = value.text().and_then(Format::of),
                "pattern" => rules.pattern = value.text().map(Pattern::new),
                "default" => rules.default = Some(Tree::of(value)),
                "enum" => rules.allowed = elements(value).iter().map(Tree::of).collect(),
                "required" => rules.required = texts(value),
                "properties" => rules.properties = self.each(value),
                "additionalProperties" => rules.additional = self.additional(value),
                "items" => rules.items = Some(self.add(value)),
                "allOf" => rules.all_of = self.all(value),
                "anyOf" => rules.any_of = self.all(value),
                "oneOf" => rules.one_of = self.all(value),
                "not" => rules.not = Some(self.add(value)),
                _ => {}
            }
        }
        rules.format = format.filter(|format| fits(*format, rules.kind));
        rules
    }

    fn each(&mut self, node: &YamlNode) -> BTreeMap<String, Id> {
        entries(node).iter().map(|entry| (entry.key.clone(), self.add(&entry.value))).collect()
    }

    fn all(&mut self, node: &YamlNode) -> Vec<Id> {
        elements(node).iter().map(|one| self.add(one)).collect()
    }

    fn additional(&mut self, node: &YamlNode) -> Additional {
        match &node.data {
            YamlData::Map(_) => Additional::Each(self.add(node)),
            _ if is_true(node) => Additional::Any,
            _ => Additional::None,
        }
    }
}

/// The API server ignores a format that does not belong to the type.
fn fits(format: Format, kind: Option<Kind>) -> bool {
    let number = matches!(format, Format::Int32 | Format::Int64);
    match kind {
        Some(Kind::Integer) => number,
        None | Some(Kind::Text) => !number,
        _ => false,
    }
}

fn kind(node: &YamlNode) -> Option<Kind> {
    Some(match node.text()? {
        "object" => Kind::Object,
        "array" => Kind::Array,
        "string" => Kind::Text,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        _ => return None,
    })
}

fn limits(node: &YamlNode) -> Limits {
    let number = |name: &str| node.get(name)?.text()?.parse::<f64>().ok();
    let count = |name: &str| node.get(name)?.text()?.parse::<usize>().ok();
    let flag = |name: &str| node.get(name).is_some_and(is_true);
    Limits {
        minimum: number("minimum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        maximum: number("maximum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        length: Range { least: count("minLength"), most: count("maxLength") },
        items: Range { least: count("minItems"), most: count("maxItems") },
        properties: Range { least: count("minProperties"), most: count("maxProperties") },
    }
}

fn list_type(node: &YamlNode) -> ListType {
    match node.get("x-kubernetes-list-type").and_then(YamlNode::text) {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(node.get("x-kubernetes-list-map-keys").map(texts).unwrap_or_default()),
        _ => ListType::Plain,
    }
}

fn cel(node: &YamlNode) -> Vec<serde_json::Value> {
    let rules = node.get("x-kubernetes-validations").map(elements).unwrap_or_default();
    rules.iter().map(|rule| super::cel::rule(&Tree::of(rule))).collect()
}

fn entries(node: &YamlNode) -> &[YamlEntry] {
    match &node.data {
        YamlData::Map(entries) => entries,
        _ => &[],
    }
}

fn elements(node: &YamlNode) -> &[YamlNode] {
    match &node.data {
        YamlData::List(items) => items,
        _ => &[],
    }
}

fn texts(node: &YamlNode) -> Vec<String> {
    elements(node).iter().filter_map(|item| item.text().map(str::to_owned)).collect()
}

fn is_true(node: &YamlNode) -> bool {
    node.text() == Some("true")
}
