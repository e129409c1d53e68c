//! Parses a config, strictly.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Config, IgnitionError, Version, dataurl, spec};

#[derive(Deserialize)]
struct Head {
    ignition: HeadIgnition,
}

#[derive(Deserialize)]
struct HeadIgnition {
    version: String,
}

impl Config {
    /// Parses a config of any supported version. Its own spec decides which keys are valid.
    pub fn parse(text: &str) -> Result<Self, IgnitionError> {
        let shape = |version: &str, error: &serde_json::Error| IgnitionError::Shape {
            version: version.to_owned(),
            line: error.line(),
            column: error.column(),
        };
        let head: Head = serde_json::from_str(text).map_err(|error| shape("3.x", &error))?;
        let version: Version = head.ignition.version.parse()?;
        let found = ignition_config::Config::parse_str(text);
        let (config, warnings) = found.map_err(|error| match error {
            ignition_config::Error::Serialization(error) => shape(&version.to_string(), &error),
            _ => IgnitionError::Version { found: version.to_string() },
        })?;
        if let Some(ignition_config::Warning::UnusedKey(field)) = warnings.into_iter().next() {
            let field = field.trim_start_matches("$.").to_owned();
            return Err(IgnitionError::Unknown { field, version });
        }
        let value = serde_json::to_value(config).map_err(|error| shape(&version.to_string(), &error))?;
        let config = match prune(value) {
            Some(value) => serde_json::from_value(value).map_err(|error| shape("3.5.0", &error))?,
            None => spec::Config::default(),
        };
        Self::from_spec(version, config)
    }

    /// Converts the config to another version of the spec. An older version may lack a field that it uses.
    pub fn to_version(&self, version: Version) -> Result<Self, IgnitionError> {
        let mut config = self.clone();
        config.version = version;
        // The other spec's own types validate it.
        Self::parse(&config.emit())
    }

    /// Indexes the lists. A duplicate path or name is an error, also across kinds.
    fn from_spec(version: Version, mut rest: spec::Config) -> Result<Self, IgnitionError> {
        let mut config = Self::new(version);
        let mut storage = rest.storage.take().unwrap_or_default();
        for mut file in storage.files.take().unwrap_or_default() {
            let path = file.path.clone();
            let resources = file.contents.iter_mut().chain(file.append.iter_mut().flatten());
            for resource in resources {
                let problem = "are not a data URL";
                let fail = || IgnitionError::Contents { path: path.clone(), problem };
                dataurl::canonical(resource).ok_or_else(fail)?;
            }
            config.claim(&path)?;
            config.files.insert(path, file);
        }
        for directory in storage.directories.take().unwrap_or_default() {
            config.claim(&directory.path)?;
            config.directories.insert(directory.path.clone(), directory);
        }
        for link in storage.links.take().unwrap_or_default() {
            config.claim(&link.path)?;
            config.links.insert(link.path.clone(), link);
        }
        rest.storage = Some(storage).filter(|storage| *storage != spec::Storage::default());
        for mut unit in rest.systemd.take().and_then(|systemd| systemd.units).unwrap_or_default() {
            if let Some(dropins) = unit.dropins.take() {
                let dropins = by_name(dropins, |dropin| &dropin.name)?;
                unit.dropins = Some(dropins.into_values().collect());
            }
            insert(&mut config.units, unit.name.clone(), unit)?;
        }
        let passwd = rest.passwd.take().unwrap_or_default();
        for mut user in passwd.users.unwrap_or_default() {
            [&mut user.ssh_authorized_keys, &mut user.groups].into_iter().flatten().for_each(sort);
            insert(&mut config.users, user.name.clone(), user)?;
        }
        for group in passwd.groups.unwrap_or_default() {
            insert(&mut config.groups, group.name.clone(), group)?;
        }
        rest.ignition.version = spec::Config::default().ignition.version;
        config.rest = rest;
        Ok(config)
    }
}

fn by_name<T>(items: Vec<T>, name: impl Fn(&T) -> &String) -> Result<BTreeMap<String, T>, IgnitionError> {
    let mut found = BTreeMap::new();
    for item in items {
        insert(&mut found, name(&item).clone(), item)?;
    }
    Ok(found)
}

fn insert<T>(map: &mut BTreeMap<String, T>, name: String, item: T) -> Result<(), IgnitionError> {
    match map.insert(name.clone(), item) {
        Some(_) => Err(IgnitionError::Twice { what: name }),
        None => Ok(()),
    }
}

/// Sorts and removes duplicates.
pub(super) fn sort(list: &mut Vec<String>) {
    list.sort();
    list.dedup();
}

/// The value without nulls, empty lists and empty maps, which mean nothing; none if nothing is left.
pub(super) fn prune(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().filter_map(prune).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(map) => {
            let map: serde_json::Map<String, Value> =
                map.into_iter().filter_map(|(key, value)| Some((key, prune(value)?))).collect();
            (!map.is_empty()).then_some(Value::Object(map))
        }
        value => Some(value),
    }
}
