//! What stands beside a config, for people and for checks: every entry with its mode and where it is from.

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
    /// What it is called, beside the config.
    pub(crate) const FILE: &str = "tree.json";
}

/// Where systemd looks for units that an administrator made.
pub(crate) const UNITS: &str = "/etc/systemd/system";

/// Where a unit, or a drop-in (`x.service/10-y.conf`), is on a node.
pub(crate) fn unit_path(name: &str) -> String {
    match name.split_once('/') {
        Some((unit, drop_in)) => format!("{UNITS}/{unit}.d/{drop_in}"),
        None => format!("{UNITS}/{name}"),
    }
}

/// One entry of a config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// Its path, or the name of a unit or user.
    pub path: String,
    /// Permission bits, as `0600`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Owner, as `user:group`, if it is not root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Bytes; not of secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// `enabled`, `disabled` or `masked`, of a unit; the target, of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Whether it is for root's eyes only.
    pub secret: bool,
    /// Where it is from; of a unit or user, all that it is put together from.
    pub from: Vec<Origin>,
}

/// Where an entry is from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// What kind of thing it is.
    pub kind: OriginKind,
    /// Its name in the recipe; empty for what the recipe itself says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The file in it, if it is a directory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Why it is on the node.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Why it may replace what the base has, if the base has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

/// What an entry is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OriginKind {
    /// The config that this one is based on.
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
