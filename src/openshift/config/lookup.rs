//! Where values were written: turns values and the fields they come from into leaves with origins.
//!
//! Invariant: no leaf without an origin. A field that nobody wrote is an origin too, without a line.

use std::net::IpAddr;
use std::sync::Arc;

use super::fragment::join;
use super::model::{File, Sources};
use crate::base::value::Value;
use crate::engine::fields::{Field, Origins};

/// Looks up where fields were written.
pub(super) struct Lookup<'a>(pub(super) &'a Sources);

impl Lookup<'_> {
    pub(super) fn one(&self, file: File, field: &str) -> Origins {
        Arc::new([self.0.place(file, field)])
    }

    pub(super) fn all(&self, fields: &[(File, &str)]) -> Origins {
        fields.iter().map(|(file, field)| self.0.place(*file, field)).collect()
    }

    /// A leaf of install-config.
    pub(super) fn installed(&self, value: impl Into<Value>, field: &str) -> Field {
        Field::leaf(value, self.one(File::Install, field))
    }

    /// A leaf of cluster.yaml.
    pub(super) fn ours(&self, value: impl Into<Value>, field: &str) -> Field {
        Field::leaf(value, self.one(File::Cluster, field))
    }

    /// `field` if it was written, else `instead`.
    pub(super) fn written<'n>(&self, file: File, field: &'n str, instead: &'n str) -> &'n str {
        if self.0.place(file, field).line.is_some() { field } else { instead }
    }

    /// `old` if it was written, else `new`.
    pub(super) fn either<'n>(&self, file: File, new: &'n str, old: &'n str) -> &'n str {
        if self.0.place(file, new).line.is_some() { new } else { self.written(file, old, new) }
    }

    pub(super) fn machine(&self) -> &'static str {
        self.either(File::Install, "networking.machineNetwork", "networking.machineCIDR")
    }

    pub(super) fn service(&self) -> &'static str {
        self.either(File::Install, "networking.serviceNetwork", "networking.serviceCIDR")
    }

    /// A list whose elements were written one by one, or all in `field`.
    pub(super) fn list<T: ToString>(&self, values: &[T], file: File, field: &str) -> Field {
        let leaf =
            |(index, value): (usize, &T)| Field::leaf(value.to_string(), self.element(file, field, index));
        if values.is_empty() {
            return Field::empty_list(self.one(file, field));
        }
        Field::List(values.iter().enumerate().map(leaf).collect())
    }

    pub(super) fn first(&self, values: &[IpAddr], file: File, field: &str) -> Field {
        Field::leaf(values.first().map(ToString::to_string), self.element(file, field, 0))
    }

    pub(super) fn element(&self, file: File, field: &str, index: usize) -> Origins {
        let element = format!("{field}.{index}");
        let cidr = format!("{element}.cidr");
        self.one(file, self.written(file, &cidr, self.written(file, &element, field)))
    }

    /// install-config's own data, every leaf with its own line.
    pub(super) fn data(&self, value: &Value, path: &str) -> Field {
        match value {
            Value::Map(map) if !map.is_empty() => Field::Map(
                map.iter().map(|(name, value)| (name.clone(), self.data(value, &join(path, name)))).collect(),
            ),
            Value::List(items) if !items.is_empty() => {
                let element = |(index, item): (usize, &Value)| {
                    let name = item
                        .get("name")
                        .and_then(Value::as_text)
                        .map_or_else(|| index.to_string(), str::to_owned);
                    self.data(item, &join(path, &name))
                };
                Field::List(items.iter().enumerate().map(element).collect())
            }
            leaf => Field::leaf(leaf.clone(), self.one(File::Install, path)),
        }
    }
}
