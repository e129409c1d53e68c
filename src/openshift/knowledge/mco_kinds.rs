//! `mco-kinds.toml`: kinds of objects that the machine-config controller reads.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::release::Release;
use super::table::{Row, Table};
use crate::base::value::Value;
use crate::engine::recipe::NameTable;

/// A kind that affects the rendered MachineConfigs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct McoKind {
    kind: String,
    #[serde(default = "everything")]
    fields: Vec<String>,
    /// Whether objects of the payload go into the render.
    #[serde(default)]
    payload: bool,
}

fn everything() -> Vec<String> {
    vec!["*".to_owned()]
}

impl Row for McoKind {
    const FILE: &'static str = "mco-kinds.toml";
    const NAME: &'static str = "kind";

    fn key(&self) -> &str {
        &self.kind
    }
}

impl McoKind {
    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(super) fn is_of_payload(&self) -> bool {
        self.payload
    }
}

impl Table<McoKind> {
    /// The values of `{mco.kinds}` in recipes, the fields of each kind in the form of the `tree` builder, and of
    /// `{mco.payload-kinds}`.
    pub(super) fn names(&self, file: &str, release: Option<Release>) -> NameTable {
        let fields = |row: &McoKind| row.fields.iter().map(|field| field.as_str().into()).collect();
        let kinds = self.select(release).map(|row| (row.kind.clone(), Value::List(fields(row))));
        let payload = self.select(release).filter(|row| row.payload).map(|row| row.kind.as_str().into());
        let values = [
            ("kinds".to_owned(), Value::Map(kinds.collect())),
            ("payload-kinds".to_owned(), Value::List(payload.collect())),
        ];
        let values = values.into();
        NameTable { file: file.to_owned(), values, absent: BTreeMap::new() }
    }
}
