//! Removes common files and units from two Ignition configs in JSON, so that only the others are parsed.
//!
//! Invariant: as in [`super::narrow`]. A config of another shape is parsed as a whole.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::data::{Data, Map};
use super::read;

type Raw<'t> = Option<&'t RawValue>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Config<'t> {
    #[serde(borrow)]
    ignition: &'t RawValue,
    #[serde(borrow, default)]
    kernel_arguments: Raw<'t>,
    #[serde(borrow, default)]
    passwd: Raw<'t>,
    #[serde(borrow, default)]
    storage: Option<Storage<'t>>,
    #[serde(borrow, default)]
    systemd: Option<Systemd<'t>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Storage<'t> {
    #[serde(borrow, default)]
    directories: Raw<'t>,
    #[serde(borrow, default)]
    disks: Raw<'t>,
    #[serde(borrow, default)]
    files: Vec<&'t RawValue>,
    #[serde(borrow, default)]
    filesystems: Raw<'t>,
    #[serde(borrow, default)]
    links: Raw<'t>,
    #[serde(borrow, default)]
    luks: Raw<'t>,
    #[serde(borrow, default)]
    raid: Raw<'t>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Systemd<'t> {
    #[serde(borrow, default)]
    units: Vec<&'t RawValue>,
}

/// Both configs without common parts; none if they are not plain configs.
pub(super) fn configs(old: &str, new: &str) -> Option<[Data; 2]> {
    let read = |text: &str| text.trim_start().starts_with('{') && text.contains("\"ignition\"");
    if !read(old) || !read(new) {
        return None;
    }
    let (mut old, mut new): (Config<'_>, Config<'_>) =
        (serde_json::from_str(old).ok()?, serde_json::from_str(new).ok()?);
    if let (Some(one), Some(two)) = (&mut old.storage, &mut new.storage) {
        drop_shared(&mut one.files, &mut two.files);
    }
    if let (Some(one), Some(two)) = (&mut old.systemd, &mut new.systemd) {
        drop_shared(&mut one.units, &mut two.units);
    }
    Some([data(old)?, data(new)?])
}

fn drop_shared(old: &mut Vec<&RawValue>, new: &mut Vec<&RawValue>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    old.iter().for_each(|raw| *counts.entry(raw.get()).or_default() += 1);
    let mut shared: BTreeMap<&str, usize> = BTreeMap::new();
    new.retain(|raw| match counts.get_mut(raw.get()).filter(|count| **count > 0) {
        Some(count) => {
            *count -= 1;
            *shared.entry(raw.get()).or_default() += 1;
            false
        }
        None => true,
    });
    old.retain(|raw| match shared.get_mut(raw.get()).filter(|count| **count > 0) {
        Some(count) => {
            *count -= 1;
            false
        }
        None => true,
    });
}

fn data(config: Config<'_>) -> Option<Data> {
    let Config { ignition, kernel_arguments, passwd, storage, systemd } = config;
    let mut map =
        fields([("ignition", Some(ignition)), ("kernelArguments", kernel_arguments), ("passwd", passwd)])?;
    if let Some(storage) = storage {
        let Storage { directories, disks, files, filesystems, links, luks, raid } = storage;
        let mut inner = fields([
            ("directories", directories),
            ("disks", disks),
            ("filesystems", filesystems),
            ("links", links),
            ("luks", luks),
            ("raid", raid),
        ])?;
        inner.insert("files".into(), list(&files)?);
        map.insert("storage".into(), Data::Map(inner));
    }
    if let Some(systemd) = systemd {
        map.insert("systemd".into(), Data::Map(Map::from([("units".into(), list(&systemd.units)?)])));
    }
    Some(Data::Map(map))
}

fn list(items: &[&RawValue]) -> Option<Data> {
    items.iter().map(|raw| read::json(raw.get()).ok()).collect::<Option<_>>().map(Data::List)
}

fn fields<const N: usize>(fields: [(&str, Raw<'_>); N]) -> Option<Map> {
    let field = |(key, raw): (&str, Raw<'_>)| Some((key.to_owned(), read::json(raw?.get()).ok()));
    fields.into_iter().filter_map(field).map(|(key, data)| Some((key, data?))).collect()
}
