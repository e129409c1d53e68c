//! Objects against schemas, by the rules and in the order of the API server.
//!
//! One engine for two sources: the OpenAPI schema of a release's CRD, and our table of Kubernetes' own types
//! ([`core`]). What the API server does, in its order, is what is done here:
//!
//! | step | file | what |
//! |---|---|---|
//! | decode | `tree` | YAML becomes JSON, with YAML 1.1's habits |
//! | prune | `prepare` | fields that the schema does not know: an error, since `oc apply` asks for strict validation |
//! | default | `prepare` | nulls that may not be null go, defaults come; so a required field with a default may be missing |
//! | validate | `check` | types, limits, enums, patterns, formats, junctors, lists that are sets or maps |
//! | rules | `cel` | `x-kubernetes-validations` |
//!
//! Everything wrong is reported at once, each with its path and line. What cannot be decided here is not an error and
//! not silent either: it comes back as [`Skipped`].

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
use crate::base::yaml::YamlNode;

/// A compiled schema: rules that name each other by number, since types of Kubernetes contain themselves.
#[derive(Debug)]
pub(crate) struct Schema {
    rules: Vec<Rules>,
    /// Of a CRD, which says little about metadata: Kubernetes has one type for everybody's.
    custom: bool,
}

type Id = usize;

/// The root of every schema.
const ROOT: Id = 0;

/// What a schema says about one value.
#[derive(Debug, Default)]
struct Rules {
    kind: Option<Kind>,
    nullable: bool,
    /// Fields that are not named here are kept, not refused.
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
    /// `x-kubernetes-validations`, as they stand there.
    cel: Vec<serde_json::Value>,
}

/// The type that a value must have.
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

/// What may stand beside the named properties.
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

/// Bounds of numbers, and of how much there may be of something.
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

/// At least and at most.
#[derive(Debug, Default, Clone, Copy)]
struct Range {
    least: Option<usize>,
    most: Option<usize>,
}

/// How to look at an object.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct How {
    /// Values are secret: no message shows one, and no hint is made from one.
    pub masked: bool,
}

/// Something that the API server would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// `spec.clusterNetwork[0].cidr`
    pub path: String,
    /// Line in the file, from 1.
    pub line: usize,
    pub message: String,
    pub hint: Option<String>,
}

/// A rule that could not be evaluated here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// The field that it is about.
    pub path: String,
    /// The rule, or the pattern.
    pub rule: String,
    pub why: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Everything that is wrong.
    pub faults: Vec<Fault>,
    /// Everything that was left open.
    pub skipped: Vec<Skipped>,
}

/// A document as JSON, its plain scalars typed as the API server types them.
pub(crate) fn json(node: &YamlNode) -> serde_json::Value {
    cel::rule(&tree::Tree::of(node))
}

impl Schema {
    /// From `openAPIV3Schema` of a CRD.
    pub(crate) fn compile(schema: &YamlNode) -> Self {
        compile::compile(schema)
    }

    /// Looks at a whole object; its apiVersion, kind and metadata are known whatever the schema says.
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
        // Several steps found them; a reader wants them as they stand in the file.
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
