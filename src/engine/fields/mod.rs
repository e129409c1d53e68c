//! A configuration as recipes see it: a tree of leaves, each with the lines of the user's files that decided it.
//!
//! Elements of a list that stand in several places have one canonical path, however they were reached.

mod project;

#[cfg(test)]
pub(crate) use project::Projection;
pub(crate) use project::{Projected, Read};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::hint::Place;
use crate::base::secret::Secret;
use crate::base::value::Value;

/// The places that decided a leaf. One without a line is a default that nobody wrote.
pub(crate) type Origins = Arc<[Place]>;

/// A node of the tree.
#[derive(Debug, Clone)]
pub enum Field {
    /// A plain value. An empty list or map is one too, so that it has origins.
    Leaf {
        value: Value,
        origins: Origins,
    },
    Secret {
        value: Secret,
        origins: Origins,
    },
    /// Fields in order; those with a `name` are addressed by it.
    List(Vec<Field>),
    Map(BTreeMap<String, Field>),
    /// A field that is reachable on several paths and has one of its own.
    Shared {
        /// The canonical path.
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
        Self::Leaf { value: value.into(), origins }
    }

    /// A list without elements: a leaf, so that it has origins.
    pub fn empty_list(origins: Origins) -> Self {
        Self::Leaf { value: Value::List(Vec::new()), origins }
    }

    /// A map of fields.
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
            value => Self::Leaf { value, origins: origins.clone() },
        }
    }

    /// The name by which an element of a list is addressed.
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
    /// The fields of one tree.
    pub fn new(roots: BTreeMap<String, Field>) -> Self {
        Self { roots: Arc::new(roots), scope: Vec::new() }
    }

    /// Adds a root, such as `lock`. It hides an older one of the same name.
    #[must_use]
    pub fn with(&self, name: &str, field: Field) -> Self {
        let mut fields = self.clone();
        fields.scope.push((name.into(), Arc::new(field)));
        fields
    }

    /// The root of a path.
    pub(super) fn root(&self, name: &str) -> Option<&Field> {
        let scoped = self.scope.iter().rev().find(|(scoped, _)| &**scoped == name).map(|(_, field)| &**field);
        scoped.or_else(|| self.roots.get(name))
    }

    /// The names of all roots.
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
        // Elsewhere it is a view, and listed where it belongs.
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
