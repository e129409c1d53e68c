//! `annotations.toml`: what operators and the installer write on objects for people, by release.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::release::Release;
use super::table::{Row, Table};
use crate::base::value::Value;
use crate::engine::recipe::NameTable;

/// One annotation with the same value on these objects.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Annotation {
    /// Stable.
    id: String,
    /// Names, without namespace.
    objects: Vec<String>,
    name: String,
    value: String,
}

impl Row for Annotation {
    const FILE: &'static str = "annotations.toml";
    const NAME: &'static str = "annotation";

    fn key(&self) -> &str {
        &self.id
    }
}

impl Table<Annotation> {
    /// What recipes may call `{annotations.OBJECT}`: a list, empty where this release has none.
    pub(super) fn names(&self, file: &str, release: Option<Release>) -> NameTable {
        let objects = self.all().flat_map(|row| &row.objects);
        let mut lists: BTreeMap<String, Vec<Value>> =
            objects.map(|name| (name.clone(), Vec::new())).collect();
        for row in self.planned(release) {
            let fields = [("name", &row.name), ("value", &row.value)];
            let one = Value::Map(fields.map(|(key, text)| (key.to_owned(), text.as_str().into())).into());
            row.objects.iter().for_each(|name| lists.entry(name.clone()).or_default().push(one.clone()));
        }
        let values = lists.into_iter().map(|(name, list)| (name, Value::List(list))).collect();
        NameTable { file: file.to_owned(), values, absent: BTreeMap::new() }
    }
}
