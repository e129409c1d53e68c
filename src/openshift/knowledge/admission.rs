//! `admission.toml`: plug-ins, authorization modes, APIs and controllers of the bootstrap control plane, and what they need.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::release::Release;
use super::table::{RawRows, Row, Source, Table, TableFile};
use crate::base::hint::Problems;
use crate::base::value::Value;
use crate::engine::recipe::NameTable;

/// The tables of the file.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    plugins: Table<Plugin>,
    modes: Table<Mode>,
    apis: Table<Api>,
    controllers: Table<Controller>,
    pub(crate) crds: Table<RequiredCrd>,
    pub(crate) sccs: Table<RequiredScc>,
    pub(crate) roles: Table<RequiredRole>,
}

/// Rows that have a name and one more field.
macro_rules! rows {
    ($($type:ident = $name:literal { $field:ident })*) => {$(
        #[derive(Debug, Clone, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $type {
            pub(crate) name: String,
            #[serde(default)]
            pub(crate) $field: String,
        }

        impl Row for $type {
            const FILE: &'static str = "admission.toml";
            const NAME: &'static str = $name;

            fn key(&self) -> &str {
                &self.name
            }
        }

        impl From<&$type> for Value {
            fn from($type { name, $field }: &$type) -> Self {
                let fields = [("name", name), (stringify!($field), $field)];
                Self::Map(fields.map(|(key, text)| (key.to_owned(), text.as_str().into())).into())
            }
        }
    )*};
}

rows! {
    Plugin = "plugin" { gate }
    Mode = "mode" { gate }
    Api = "api" { gate }
    Controller = "controller" { gate }
    RequiredCrd = "crd" { without }
    RequiredScc = "scc" { without }
    RequiredRole = "role" { without }
}

impl TableFile for Admission {
    const FILE: &'static str = Plugin::FILE;

    fn parse(source: Source<'_>) -> Result<Self, Problems> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            plugin: RawRows,
            mode: RawRows,
            api: RawRows,
            controller: RawRows,
            crd: RawRows,
            scc: RawRows,
            role: RawRows,
        }
        let File { plugin, mode, api, controller, crd, scc, role } = source.read()?;
        Ok(Self {
            plugins: Table::of(source, plugin)?,
            modes: Table::of(source, mode)?,
            apis: Table::of(source, api)?,
            controllers: Table::of(source, controller)?,
            crds: Table::of(source, crd)?,
            sccs: Table::of(source, scc)?,
            roles: Table::of(source, role)?,
        })
    }
}

impl Admission {
    /// What recipes may call `{admission.plugins}` and so on: names, each with the gate that it depends on.
    pub(super) fn names(&self, file: &str, release: Option<Release>) -> NameTable {
        let lists = [
            ("plugins", self.plugins.select(release).map(Value::from).collect()),
            ("modes", self.modes.select(release).map(Value::from).collect()),
            ("apis", self.apis.select(release).map(Value::from).collect()),
            ("controllers", self.controllers.select(release).map(Value::from).collect()),
        ];
        let values = lists.map(|(key, list)| (key.to_owned(), Value::List(list)));
        NameTable { file: file.to_owned(), values: values.into(), absent: BTreeMap::new() }
    }

    /// The versions that rows name.
    #[cfg(test)]
    pub(super) fn mentioned(&self) -> impl Iterator<Item = crate::base::version::Version> {
        let all = self.plugins.mentioned().chain(self.modes.mentioned());
        all.chain(self.apis.mentioned()).chain(self.controllers.mentioned())
    }
}
