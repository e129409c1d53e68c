//! `components.toml`: the names of a release's images.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::Knowledge;
use super::release::Release;
use super::table::{RawRows, Row, Source, Table, TableFile};
use crate::base::hint::{Problems, did_you_mean};
use crate::engine::recipe::NameTable;

/// The key of the OS that nodes get; with a stream's name behind it, that of the stream.
const NODE_OS: &str = "node-os";
const NODE_OS_STREAM: &str = "node-os-";
const EXTENSIONS: &str = "extensions";

#[derive(Debug, Clone)]
pub(crate) struct Components {
    names: Table<Component>,
    required: Table<Required>,
}

/// A tag of image-references.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Component {
    key: String,
    name: String,
}

/// A component without which nodes do not get their OS.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Required {
    component: String,
    pub(crate) by: String,
    pub(crate) without: String,
}

impl Row for Component {
    const FILE: &'static str = "components.toml";
    const NAME: &'static str = "component";

    fn key(&self) -> &str {
        &self.key
    }
}

impl Row for Required {
    const FILE: &'static str = Component::FILE;
    const NAME: &'static str = "required";

    fn key(&self) -> &str {
        &self.component
    }
}

impl TableFile for Components {
    const FILE: &'static str = Component::FILE;

    fn parse(source: Source<'_>) -> Result<Self, Problems> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            component: RawRows,
            #[serde(default)]
            required: RawRows,
        }
        let File { component, required } = source.read()?;
        let names: Table<Component> = Table::of(source, component)?;
        let required: Table<Required> = Table::of(source, required)?;
        let keys = || names.all().map(|row| row.key.as_str());
        let unknown = required.all().find(|row| keys().all(|key| key != row.component));
        if let Some(row) = unknown {
            let message = "there is no component of this key".to_owned();
            let problem = source.problem::<Required>(None, &row.component, message);
            return Err(Problems(vec![problem.hint(did_you_mean(&row.component, keys()))]));
        }
        Ok(Self { names, required })
    }
}

impl Components {
    /// The built-in table: for the demo release, and for messages.
    pub(crate) fn built_in() -> Option<&'static Self> {
        static KNOWLEDGE: LazyLock<Option<Knowledge>> = LazyLock::new(|| Knowledge::built_in().ok());
        KNOWLEDGE.as_ref()?.components.get().ok()
    }

    /// The name of a component in this release; in an unknown release, that of the first row.
    pub(crate) fn name(&self, key: &str, release: Option<Release>) -> Option<&str> {
        self.names.planned(release).find(|row| row.key == key).map(|row| row.name.as_str())
    }

    /// All names of a component, in any release.
    pub(crate) fn ever(&self, key: &str) -> Vec<&str> {
        self.names.all().filter(|row| row.key == key).map(|row| row.name.as_str()).collect()
    }

    /// Required components of this release, and why.
    pub(crate) fn required(&self, release: Option<Release>) -> impl Iterator<Item = (&str, &Required)> {
        let rows = self.required.select(release);
        rows.filter_map(move |row| Some((self.name(&row.component, release)?, row)))
    }

    /// The OS streams of this release, by name; in an unknown release, all there ever were.
    pub(crate) fn os_streams(&self, release: Option<Release>) -> Vec<&str> {
        let streams = self.names.planned(release).filter_map(|row| row.key.strip_prefix(NODE_OS_STREAM));
        streams.filter(|stream| !stream.ends_with(EXTENSIONS)).collect()
    }

    /// The name of the OS that nodes get: that of the chosen stream, else of the release's default.
    pub(crate) fn node_os(&self, release: Option<Release>, stream: Option<&str>) -> Option<&str> {
        let chosen = stream.map(|stream| format!("{NODE_OS_STREAM}{stream}"));
        self.name(chosen.as_deref().unwrap_or(NODE_OS), release)
    }

    /// The values of `{component.KEY}` in recipes. The OS of nodes is that of the chosen stream.
    pub(super) fn names(&self, file: &str, release: Option<Release>, stream: Option<&str>) -> NameTable {
        let (mut values, mut absent) = (BTreeMap::new(), BTreeMap::new());
        for key in self.names.all().map(|row| row.key.clone()) {
            let name = match key.as_str() {
                NODE_OS => self.node_os(release, stream),
                key => self.name(key, release),
            };
            match (name, release) {
                (Some(name), _) => drop(values.insert(key, name.into())),
                (None, Some(release)) => drop(absent.insert(key, format!("for {release}"))),
                (None, None) => {}
            }
        }
        NameTable { file: file.to_owned(), values, absent }
    }

    /// The versions that rows mention.
    #[cfg(test)]
    pub(super) fn mentioned(&self) -> impl Iterator<Item = crate::base::version::Version> {
        self.names.mentioned().chain(self.required.mentioned())
    }
}
