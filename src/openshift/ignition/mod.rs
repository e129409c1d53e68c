//! Ignition configs: parsed strictly, merged by meaning, written in one canonical form.
//!
//! | part | rule |
//! |---|---|
//! | reading | specs 3.0 to 3.5; a key that the spec lacks is an error, and so is a duplicate path or name |
//! | in memory | the types of spec 3.5, which has every field of the older ones; without nulls and empty values |
//! | contents | text is a percent-encoded data URL as the machine-config operator writes it, anything else base64 |
//! | merging | files, directories and links by path, units and their drop-ins by name, users and groups by name |
//! | writing | keys sorted, lists sorted by path or name, no spaces, one newline at the end |
//!
//! Invariant: configs with the same meaning have the same text, and `parse(emit(x)) = x`. Errors contain places and
//! never values, because configs contain secrets.

mod dataurl;
mod emit;
mod manifest;
mod merge;
mod parse;
mod served;
#[cfg(test)]
mod tests;
mod unit;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use dataurl::encode;
#[cfg(test)]
pub(crate) use dataurl::gzip;
pub(crate) use dataurl::{Compression, Contents, decode, escape};
pub(crate) use ignition_config::v3_5 as spec;
pub(crate) use manifest::{Manifest, Origin, OriginKind, UNITS, Written, unit_path};
pub(crate) use served::{CONTENT_PATH, ENCAPSULATED_PATH, served};
pub(crate) use unit::{Unit, unit};

use crate::base::hint::Hint;

/// A supported version of the spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    minor: u8,
}

impl Version {
    pub const LAST: Self = Self { minor: 5 };
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{}.0", self.minor)
    }
}

impl FromStr for Version {
    type Err = IgnitionError;

    fn from_str(text: &str) -> Result<Self, IgnitionError> {
        let minor = text.strip_prefix("3.").and_then(|rest| rest.strip_suffix(".0"));
        let minor = minor.and_then(|minor| minor.parse().ok()).filter(|minor| *minor <= Self::LAST.minor);
        minor.map(|minor| Self { minor }).ok_or_else(|| IgnitionError::Version { found: text.to_owned() })
    }
}

/// A config. Entries with a path or name are indexed by it, so there are no duplicates.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub version: Version,
    pub files: BTreeMap<String, spec::File>,
    pub directories: BTreeMap<String, spec::Directory>,
    pub links: BTreeMap<String, spec::Link>,
    /// By name; their drop-ins are sorted.
    pub units: BTreeMap<String, spec::Unit>,
    /// By name; their keys and groups are sorted.
    pub users: BTreeMap<String, spec::User>,
    pub groups: BTreeMap<String, spec::Group>,
    /// Everything else: other configs to fetch, kernel arguments, disks, file systems.
    pub rest: spec::Config,
}

impl Config {
    pub fn new(version: Version) -> Self {
        Self {
            version,
            files: BTreeMap::new(),
            directories: BTreeMap::new(),
            links: BTreeMap::new(),
            units: BTreeMap::new(),
            users: BTreeMap::new(),
            groups: BTreeMap::new(),
            rest: spec::Config::default(),
        }
    }

    /// Adds a file with these bytes, which overwrites the file on the node.
    pub fn write(
        &mut self,
        path: &str,
        mode: u32,
        bytes: &[u8],
        compression: Compression,
    ) -> Result<&mut spec::File, IgnitionError> {
        let mut file = spec::File::new(path.to_owned());
        file.mode = Some(i64::from(mode));
        file.overwrite = Some(true);
        file.contents = Some(dataurl::resource(bytes, compression));
        self.claim(path)?;
        Ok(self.files.entry(path.to_owned()).or_insert(file))
    }

    pub fn directory(&mut self, path: &str, mode: u32) -> Result<(), IgnitionError> {
        let mut directory = spec::Directory::new(path.to_owned());
        directory.mode = Some(i64::from(mode));
        self.claim(path)?;
        self.directories.insert(path.to_owned(), directory);
        Ok(())
    }

    pub fn link(&mut self, path: &str, target: &str) -> Result<(), IgnitionError> {
        let mut link = spec::Link::new(path.to_owned());
        link.target = Some(target.to_owned());
        link.overwrite = Some(true);
        self.claim(path)?;
        self.links.insert(path.to_owned(), link);
        Ok(())
    }

    /// Whether it has a file, directory or link at that path.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.directories.contains_key(path) || self.links.contains_key(path)
    }

    fn claim(&self, path: &str) -> Result<(), IgnitionError> {
        match self.has(path) {
            true => Err(IgnitionError::Twice { what: path.to_owned() }),
            false => Ok(()),
        }
    }
}

/// Why a config is invalid, or two cannot be merged. No message contains a value of a config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IgnitionError {
    /// Not JSON, or not valid in the spec.
    #[error("line {line}, column {column}: not valid in spec {version}")]
    Shape {
        /// `3.x` while it is unknown.
        version: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    #[error("unknown spec version `{}`", found.escape_debug())]
    Version { found: String },
    #[error("spec {version} has no `{}`", field.escape_debug())]
    Unknown { field: String, version: Version },
    #[error("`{}` occurs twice", what.escape_debug())]
    Twice {
        /// A path, or the name of a unit or user.
        what: String,
    },
    /// A part that only one of two merged configs can have.
    #[error("both configs have `{what}`")]
    Both { what: &'static str },
    #[error("the contents of `{}` {problem}", path.escape_debug())]
    Contents { path: String, problem: &'static str },
    #[error("the MachineConfig {problem}")]
    MachineConfig { problem: &'static str },
}

impl Hint for IgnitionError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Version { .. } => Some(format!("known: 3.0.0 to {}", Version::LAST)),
            Self::Twice { .. } => {
                Some("keep one of them; to replace an entry of the base, set `replace` in the recipe".into())
            }
            _ => None,
        }
    }
}
