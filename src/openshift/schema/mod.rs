//! Validates objects against schemas, by the rules and in the order of the API server.
//!
//! One engine for two sources: the OpenAPI schema of a release's CRD, and our table of Kubernetes' own types
//! ([`core`]). The steps are those of the API server:
//!
//! | step | file | what |
//! |---|---|---|
//! | decode | `tree` | converts YAML to JSON, by the rules of YAML 1.1 |
//! | prune | `prepare` | unknown fields are an error, since `oc apply` requests strict validation |
//! | default | `prepare` | drops nulls that are not nullable, adds defaults; so a required field with a default may be missing |
//! | validate | `check` | types, limits, enums, patterns, formats, junctors, lists that are sets or maps |
//! | rules | `cel` | `x-kubernetes-validations` |
//!
//! Reports all faults at once, each with its path and line. Rules that cannot be evaluated here are neither errors nor
//! silent: they are returned as [`Skipped`].

mod cel;
mod check;
mod compile;
pub(crate) mod core;
mod format;
pub(crate) mod meta;
mod path;
mod pattern;
mod prepare;
mod tree;

use std::collections::BTreeMap;

use self::format::Format;
use self::path::Path;
use self::pattern::Pattern;
use self::tree::{Json, Tree};
use crate::base::yaml::{YamlData, YamlNode};

/// A compiled schema: rules that refer to each other by id, since Kubernetes' types are recursive.
#[derive(Debug)]
pub(crate) struct Schema {
    rules: Vec<Rules>,
    /// From a CRD, which says little about metadata: Kubernetes has one type for all.
    custom: bool,
}

type Id = usize;

const ROOT: Id = 0;

/// The rules for one value.
#[derive(Debug, Default)]
struct Rules {
    kind: Option<Kind>,
    nullable: bool,
    /// Unknown fields are kept, not rejected.
    keeps_unknown: bool,
    /// The value is an object of its own, with apiVersion, kind and metadata.
    embedded: bool,
    default: Option<Tree>,
    properties: BTreeMap<String, Id>,
    additional: Additional,
    items: Option<Id>,
    list: ListType,
    limits: Limits,
    required: Vec<String>,
    unique: bool,
    allowed: Vec<Tree>,
    pattern: Option<Pattern>,
    format: Option<Format>,
    all_of: Vec<Id>,
    any_of: Vec<Id>,
    one_of: Vec<Id>,
    not: Option<Id>,
    /// `x-kubernetes-validations`, verbatim.
    cel: Vec<serde_json::Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
    Text,
    Integer,
    Number,
    Boolean,
    IntOrString,
    /// Kubernetes' `resource.Quantity`: a string or a number.
    Quantity,
}

/// What is allowed besides the named properties.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Additional {
    #[default]
    None,
    Any,
    Each(Id),
}

#[derive(Debug, Default)]
enum ListType {
    #[default]
    Plain,
    Set,
    Map(Vec<String>),
}

/// Bounds of numbers, lengths and counts.
#[derive(Debug, Default)]
struct Limits {
    minimum: Option<f64>,
    exclusive_minimum: bool,
    maximum: Option<f64>,
    exclusive_maximum: bool,
    multiple_of: Option<f64>,
    length: Range,
    items: Range,
    properties: Range,
}

#[derive(Debug, Default, Clone, Copy)]
struct Range {
    least: Option<usize>,
    most: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct How {
    /// Values are secret: no message or hint may contain one.
    pub masked: bool,
}

/// Something that the API server would reject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// For example `spec.clusterNetwork[0].cidr`.
    pub path: String,
    /// From 1.
    pub line: usize,
    pub message: String,
    pub hint: Option<String>,
}

impl Fault {
    /// Whether the schema has no such field, in contrast to a field with a wrong value.
    pub(crate) fn is_unknown_field(&self) -> bool {
        self.message == UNKNOWN_FIELD
    }
}

const UNKNOWN_FIELD: &str = "this field does not exist";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub path: String,
    /// The rule, or the pattern.
    pub rule: String,
    pub why: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub faults: Vec<Fault>,
    pub skipped: Vec<Skipped>,
}

/// A document as JSON, with plain scalars typed as the API server types them.
pub(crate) fn json(node: &YamlNode) -> serde_json::Value {
    cel::rule(&tree::Tree::of(node))
}

impl Schema {
    /// Compiles the `openAPIV3Schema` of a CRD.
    pub(crate) fn compile(schema: &YamlNode) -> Self {
        compile::compile(schema)
    }

    /// The schema of a version that a CRD serves.
    pub(crate) fn of_definition(crd: &YamlNode, version: &str) -> Option<Self> {
        let text = |node: &YamlNode, key: &str| node.get(key).and_then(YamlNode::text).map(str::to_owned);
        let YamlData::List(versions) = &crd.get("spec")?.get("versions")?.data else { return None };
        let found = versions.iter().find(|one| text(one, "name").as_deref() == Some(version))?;
        let schema = found.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
        schema.filter(|_| text(found, "served").as_deref() == Some("true")).map(Self::compile)
    }

    /// Validates a whole object; its apiVersion, kind and metadata are always known.
    pub(crate) fn check(&self, object: &YamlNode, how: How) -> Outcome {
        let mut outcome = Outcome::default();
        let mut tree = Tree::of(object);
        if self.custom
            && let Json::Map(map) = &mut tree.json
            && let Some(metadata) = map.get_mut("metadata")
        {
            let path = Path::ROOT;
            let (schema, path) = (core::object_meta(), path.field("metadata"));
            prepare::prepare(schema, metadata, &path, &mut outcome);
            check::check(schema, metadata, &path, how, &mut outcome);
        }
        prepare::prepare(self, &mut tree, &Path::ROOT, &mut outcome);
        check::check(self, &tree, &Path::ROOT, how, &mut outcome);
        if self.custom && outcome.faults.is_empty() {
            cel::check(self, &tree, how, &mut outcome);
        }
        // Faults come from several steps; readers want file order.
        outcome.faults.sort_by(|one, other| (one.line, &one.path).cmp(&(other.line, &other.path)));
        outcome.faults.dedup();
        outcome
    }

    fn get(&self, id: Id) -> &Rules {
        &self.rules[id]
    }
}

#[cfg(test)]
mod tests;
