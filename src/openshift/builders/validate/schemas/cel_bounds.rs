//! CEL rules over lists, maps and strings without a bound.
//!
//! The API server estimates what a rule may cost before it accepts a CRD, and takes what has no bound to be as large as a
//! request may be. Whether that is too much depends on its estimator, which changes: so this is a warning, and no estimate.

use std::collections::BTreeMap;

use super::super::{Check, Warning};
use crate::base::yaml::{YamlData, YamlNode};

/// Formats that bound a string.
const BOUNDED_FORMATS: [&str; 3] = ["date", "date-time", "duration"];
/// The longest part of a rule in a message.
const SHOWN: usize = 60;

/// Rules of CRDs have bounded costs.
pub(in super::super) const CEL_BOUNDS: Check = Check {
    name: "cel-bounds",
    config: &[],
    run: |artifacts, report| {
        for crd in artifacts.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
            for version in crd.list("spec.versions") {
                let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
                let mut found = BTreeMap::new();
                schema.into_iter().for_each(|schema| walk(schema, "", &[], &mut found));
                let name = version.get("name").and_then(YamlNode::text).unwrap_or_default();
                report.warnings.extend(found.into_iter().map(|(field, (line, message))| Warning {
                    file: crd.file.clone(),
                    line,
                    field: format!("{name} {field}"),
                    message,
                    derivation: crd.derivation.clone(),
                }));
            }
        }
    },
};

/// Fields without a bound that a rule goes over: the line of the field, and what to say.
type Found = BTreeMap<String, (usize, String)>;

/// A schema on the way to a rule, and the field that it is of.
#[derive(Clone, Copy)]
struct Step<'s> {
    field: &'s str,
    schema: &'s YamlNode,
}

/// Looks at a schema and all below it. `above` are the lists and maps whose elements are on the way.
fn walk(schema: &YamlNode, field: &str, above: &[Step<'_>], found: &mut Found) {
    for rule in schema.get("x-kubernetes-validations").into_iter().flat_map(YamlNode::items) {
        let Some(rule) = rule.get("rule").and_then(YamlNode::text) else { continue };
        above.iter().for_each(|step| note(step.schema, step.field, rule, found));
        over(schema, field, rule, found);
        for (path, child) in used(schema, rule) {
            over(child, &join(field, &path), rule, found);
        }
    }
    if let Some(YamlData::Map(entries)) = schema.get("properties").map(|node| &node.data) {
        entries.iter().for_each(|entry| walk(&entry.value, &join(field, &entry.key), above, found));
    }
    for (name, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(element) = schema.get(name) {
            let steps: Vec<Step<'_>> = above.iter().copied().chain([Step { field, schema }]).collect();
            walk(element, &format!("{field}{mark}"), &steps, found);
        }
    }
}

/// A rule goes over this value, and over its elements.
fn over(schema: &YamlNode, field: &str, rule: &str, found: &mut Found) {
    note(schema, field, rule, found);
    for (name, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        schema
            .get(name)
            .into_iter()
            .for_each(|element| note(element, &format!("{field}{mark}"), rule, found));
    }
}

/// Notes a field if it has no bound.
fn note(schema: &YamlNode, field: &str, rule: &str, found: &mut Found) {
    let Some(missing) = missing_bound(schema) else { return };
    let short: String = rule.chars().take(SHOWN).collect();
    let more = if short.len() < rule.len() { "…" } else { "" };
    let message = format!("no `{missing}`, and the rule `{}{more}` goes over it", short.replace('\n', " "));
    found.entry(field.to_owned()).or_insert((schema.line, message));
}

/// The bound that a schema lacks; none if it needs none.
fn missing_bound(schema: &YamlNode) -> Option<&'static str> {
    let word = |key: &str| schema.get(key).and_then(YamlNode::text);
    let bound = match word("type") {
        Some("array") => "maxItems",
        Some("object") if schema.get("additionalProperties").is_some() => "maxProperties",
        Some("string") if schema.get("enum").is_some() => return None,
        Some("string") if word("format").is_some_and(|format| BOUNDED_FORMATS.contains(&format)) => {
            return None;
        }
        Some("string") => "maxLength",
        _ => return None,
    };
    schema.get(bound).is_none().then_some(bound)
}

/// The fields of an object that a rule calls a function of: `self.a.b.all(…)`. A field that is only asked for, counted or
/// compared with a constant costs the same whatever its size.
fn used<'s>(schema: &'s YamlNode, rule: &str) -> Vec<(String, &'s YamlNode)> {
    let mut used = Vec::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // What it was before has the same sizes.
    let values = ["self.", "oldSelf."].into_iter().flat_map(|value| rule.match_indices(value));
    for (at, value) in values.filter(|(at, _)| !rule[..*at].ends_with(is_word)) {
        let path = &rule[at + value.len()..];
        let end = path.find(|c: char| !is_word(c) && c != '.').unwrap_or(path.len());
        let is_call = path[end..].starts_with('(');
        let mut fields: Vec<&str> = path[..end].split('.').collect();
        if !is_call {
            continue;
        }
        fields.pop();
        let child = fields.iter().try_fold(schema, |schema, field| schema.get("properties")?.get(field));
        if let Some(child) = child.filter(|_| !fields.is_empty()) {
            used.push((fields.join("."), child));
        }
    }
    used
}

fn join(field: &str, name: &str) -> String {
    if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::yaml::{Source, parse};

    /// The fields that are found in a schema, with the bound that each lacks.
    fn unbounded(text: &str) -> Vec<(String, String)> {
        let root = parse(Source { name: "crd.yaml", text }, &mut Problems::default()).unwrap();
        let mut found = Found::new();
        walk(&root, "", &[], &mut found);
        let bound = |message: &str| message.split('`').nth(1).unwrap_or_default().to_owned();
        found.into_iter().map(|(field, (_, message))| (field, bound(&message))).collect()
    }

    fn names(found: &[(String, String)]) -> Vec<(&str, &str)> {
        found.iter().map(|(field, bound)| (field.as_str(), bound.as_str())).collect()
    }

    #[test]
    fn a_rule_over_a_list_needs_bounds_for_the_list_and_its_elements() {
        let list = |more: &str, items: &str| {
            format!(
                "type: object\nproperties:\n  cidrs: {{type: array{more}, items: {{type: string{items}}}, x-kubernetes-validations: [{{rule: 'self.all(x, self.exists_one(y, x == y))'}}]}}\n"
            )
        };
        let both = unbounded(&list("", ""));
        assert_eq!(names(&both), [("cidrs", "maxItems"), ("cidrs[]", "maxLength")]);
        assert_eq!(names(&unbounded(&list(", maxItems: 32", ""))), [("cidrs[]", "maxLength")]);
        assert!(unbounded(&list(", maxItems: 32", ", maxLength: 43")).is_empty());
        assert!(unbounded(&list(", maxItems: 32", ", enum: [a, b]")).is_empty());
    }

    #[test]
    fn a_rule_inside_of_a_list_or_map_is_evaluated_for_each_element() {
        let inside = |bound: &str| {
            format!(
                "type: object\nproperties:\n  ports: {{type: object{bound}, additionalProperties: {{type: integer, x-kubernetes-validations: [{{rule: self > 0}}]}}}}\n"
            )
        };
        assert_eq!(names(&unbounded(&inside(""))), [("ports", "maxProperties")]);
        assert!(unbounded(&inside(", maxProperties: 9")).is_empty());
    }

    #[test]
    fn a_field_counts_if_a_function_is_called_on_it() {
        let rule = |rule: &str| {
            format!(
                "type: object\nx-kubernetes-validations: [{{rule: \"{rule}\"}}]\nproperties:\n  spec:\n    type: object\n    properties:\n      name: {{type: string}}\n      tags: {{type: array, items: {{type: string, maxLength: 9}}}}\n"
            )
        };
        for (text, wanted) in [
            ("self.spec.name.startsWith('a')", vec![("spec.name", "maxLength")]),
            ("oldSelf.spec.tags.all(t, t != '')", vec![("spec.tags", "maxItems")]),
            ("has(self.spec.name) && self.spec.name == 'a'", vec![]),
            ("size(self.spec.tags) > 1", vec![]),
            ("myself.spec.name.startsWith('a')", vec![]),
        ] {
            assert_eq!(names(&unbounded(&rule(text))), wanted, "{text}");
        }
    }
}
