//! A configuration as recipes see it: a tree of leaves, each with the lines of the user's files that determined it.
//!
//! List elements that are reachable on several paths have one canonical path.

mod project;

#[cfg(test)]
pub(crate) use project::Projection;
pub(crate) use project::{FieldError, Projected, Read};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::hint::Place;
use crate::base::secret::Secret;
use crate::base::value::Value;

/// The places that determined a leaf. A place without a line is a default.
pub(crate) type Origins = Arc<[Place]>;

/// A node of the tree.
#[derive(Debug, Clone)]
pub enum Field {
    /// A plain value. An empty list or map is a leaf too, so that it has origins.
    Leaf {
        value: Value,
        origins: Origins,
        /// Nobody set it: a map that is projected whole goes without it, so that a new optional field changes no ids.
        unset: bool,
    },
    Secret {
        value: Secret,
        origins: Origins,
    },
    /// Elements in order; those with a `name` are addressed by it.
    List(Vec<Field>),
    Map(BTreeMap<String, Field>),
    /// A field that is reachable on several paths and has a canonical path.
    Shared {
        path: Arc<str>,
        field: Arc<Field>,
    },
}

/// The tree, and what a scope adds to it. Cloning and binding are cheap: everything is shared.
#[derive(Debug, Clone)]
pub struct Fields {
    pub(super) roots: Arc<BTreeMap<String, Field>>,
    pub(super) scope: Vec<(Arc<str>, Arc<Field>)>,
}

impl Field {
    pub fn leaf(value: impl Into<Value>, origins: Origins) -> Self {
        Self::Leaf { value: value.into(), origins, unset: false }
    }

    /// A leaf, so that it has origins.
    pub fn empty_list(origins: Origins) -> Self {
        Self::leaf(Value::List(Vec::new()), origins)
    }

    pub fn map<'n>(fields: impl IntoIterator<Item = (&'n str, Field)>) -> Self {
        Self::Map(fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect())
    }

    /// Plain data with the same origins at every leaf.
    pub fn data(value: Value, origins: &Origins) -> Self {
        match value {
            Value::List(items) if !items.is_empty() => {
                Self::List(items.into_iter().map(|item| Self::data(item, origins)).collect())
            }
            Value::Map(map) if !map.is_empty() => {
                Self::Map(map.into_iter().map(|(name, value)| (name, Self::data(value, origins))).collect())
            }
            value => Self::leaf(value, origins.clone()),
        }
    }

    /// Whether nobody set anything of it.
    pub(super) fn is_unset(&self) -> bool {
        match self {
            Self::Leaf { unset, .. } => *unset,
            Self::Map(map) => !map.is_empty() && map.values().all(Self::is_unset),
            _ => false,
        }
    }

    /// The name that addresses a list element.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Shared { field, .. } => field.name(),
            Self::Map(map) => match map.get("name")? {
                Self::Leaf { value, .. } => value.as_text(),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Fields {
    pub fn new(roots: BTreeMap<String, Field>) -> Self {
        Self { roots: Arc::new(roots), scope: Vec::new() }
    }

    /// Adds a root, such as `lock`. It hides an existing root of the same name.
    #[must_use]
    pub fn with(&self, name: &str, field: Field) -> Self {
        let mut fields = self.clone();
        fields.scope.push((name.into(), Arc::new(field)));
        fields
    }

    pub(super) fn root(&self, name: &str) -> Option<&Field> {
        let scoped = self.scope.iter().rev().find(|(scoped, _)| &**scoped == name).map(|(_, field)| &**field);
        scoped.or_else(|| self.roots.get(name))
    }

    pub(super) fn root_names(&self) -> impl Iterator<Item = &str> {
        self.scope.iter().map(|(name, _)| &**name).chain(self.roots.keys().map(String::as_str))
    }

    /// Every leaf with its canonical path, sorted by root.
    pub fn leaves(&self) -> impl Iterator<Item = (String, &Origins)> {
        let mut leaves = Vec::new();
        let scoped = self.scope.iter().map(|(name, field)| (&**name, &**field));
        for (name, field) in self.roots.iter().map(|(name, field)| (name.as_str(), field)).chain(scoped) {
            collect(field, name.to_owned(), &mut leaves);
        }
        leaves.into_iter()
    }
}

fn collect<'f>(field: &'f Field, path: String, leaves: &mut Vec<(String, &'f Origins)>) {
    match field {
        Field::Leaf { origins, .. } | Field::Secret { origins, .. } => leaves.push((path, origins)),
        Field::Map(map) => {
            map.iter().for_each(|(name, field)| collect(field, format!("{path}.{name}"), leaves))
        }
        Field::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, element_path(&path, index, item), leaves);
            }
        }
        // Elsewhere it is a view, listed at its canonical path.
        Field::Shared { path: canonical, field } if **canonical == *path => collect(field, path, leaves),
        Field::Shared { .. } => {}
    }
}

/// The path of an element: by name, else by index.
pub(super) fn element_path(list: &str, index: usize, element: &Field) -> String {
    match element.name() {
        Some(name) => format!("{list}.{name}"),
        None => format!("{list}.{index}"),
    }
}
