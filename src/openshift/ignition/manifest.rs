//! Describes a config for people and checks: every entry with its mode and origin.

use serde::{Deserialize, Serialize};

/// All entries of a config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub version: String,
    pub directories: Vec<Written>,
    pub files: Vec<Written>,
    pub links: Vec<Written>,
    /// Units, and below each its drop-ins (`x.service/10-y.conf`), by name.
    pub units: Vec<Written>,
    pub users: Vec<Written>,
}

impl Manifest {
    /// Its file name, next to the config.
    pub(crate) const FILE: &str = "tree.json";
}

/// Where systemd looks for an administrator's units.
pub(crate) const UNITS: &str = "/etc/systemd/system";

/// The path on a node of a unit or drop-in (`x.service/10-y.conf`).
pub(crate) fn unit_path(name: &str) -> String {
    match name.split_once('/') {
        Some((unit, drop_in)) => format!("{UNITS}/{unit}.d/{drop_in}"),
        None => format!("{UNITS}/{name}"),
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// A path, or the name of a unit or user.
    pub path: String,
    /// Permission bits, as `0600`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// As `user:group`, if it is not root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// In bytes; absent for secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// For a unit `enabled`, `disabled` or `masked`; for a link its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Whether only root may read it.
    pub secret: bool,
    /// Its origin; for a unit or user, all its sources.
    pub from: Vec<Origin>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub kind: OriginKind,
    /// Its name in the recipe; empty for the recipe itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The file in it, if it is a directory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Why it is on the node.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Why it may replace the base's entry, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

/// The source of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OriginKind {
    /// The base config.
    Base,
    /// The output of another derivation.
    Input,
    /// A template of the recipe.
    Template,
    Config,
    /// The MachineConfig, as the Machine Config Server would serve it.
    MachineConfig,
    Recipe,
}
