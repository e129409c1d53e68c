//! The installer's state file: a JSON object of assets by Go type. An asset has its files as `{Filename, Data}`, in base64.
//!
//! Errors say where, never what: the file has every key of the cluster.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::openshift::knowledge::InstallerState;

pub(super) struct State {
    assets: BTreeMap<String, Value>,
}

/// A file as the installer generated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Generated {
    pub(super) bytes: Vec<u8>,
    /// Whether it may be the user's, read back from the directory.
    pub(super) read_back: bool,
}

/// What identifies the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClusterId {
    pub infra_id: String,
    pub uuid: String,
}

impl State {
    /// Parses the file; the error says where it is damaged.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let assets = serde_json::from_slice(bytes).map_err(|error| {
            format!(
                "it is not a state file of openshift-install: line {}, column {}",
                error.line(),
                error.column()
            )
        })?;
        Ok(Self { assets })
    }

    pub(super) fn install_config(&self, names: &InstallerState) -> Option<String> {
        let data = self.assets.get(&names.install_config)?.get("file")?.get("Data")?.as_str()?;
        String::from_utf8(STANDARD.decode(data).ok()?).ok()
    }

    pub(super) fn cluster_id(&self, names: &InstallerState) -> Option<ClusterId> {
        let asset = self.assets.get(&names.cluster_id)?;
        let text = |key: &str| asset.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Some(ClusterId { infra_id: text("InfraID")?, uuid: text("UUID")? })
    }

    /// The release image that the installer would install.
    pub(super) fn release(&self, names: &InstallerState) -> Option<&str> {
        self.assets.get(&names.release)?.get("PullSpec")?.as_str().filter(|text| !text.is_empty())
    }

    /// Every file of every asset by its path, the installer's own copy first.
    pub(super) fn generated(&self, names: &InstallerState) -> BTreeMap<String, Generated> {
        let mut found = BTreeMap::new();
        for (name, asset) in &self.assets {
            collect(asset, names.collected.contains(name), &mut found);
        }
        found
    }
}

fn collect(value: &Value, read_back: bool, found: &mut BTreeMap<String, Generated>) {
    match value {
        Value::Object(map) => {
            let text = |key: &str| map.get(key).and_then(Value::as_str);
            if let (Some(name), Some(Ok(bytes))) =
                (text("Filename"), text("Data").map(|data| STANDARD.decode(data)))
            {
                let known = found.get(name).is_some_and(|other: &Generated| !other.read_back);
                if !known {
                    found.insert(name.to_owned(), Generated { bytes, read_back });
                }
            }
            map.values().for_each(|value| collect(value, read_back, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, read_back, found)),
        _ => {}
    }
}
