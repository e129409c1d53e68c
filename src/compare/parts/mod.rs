//! The parts of an artifact that people ask about, by its format: fields of certificates and kubeconfigs, directives of
//! units, blocks of haproxy.cfg, elements of XML, functions of scripts, sections of Ignition. Pure: text in, parts out.
//!
//! | file | responsibility |
//! |---|---|
//! | `certificate` | certificates, field by field |
//! | `document` | kubeconfigs and Ignition configs |
//! | `lines` | formats that are read line by line: units and keyfiles, HAProxy, scripts, XML |
//!
//! Values of secret artifacts are not read here: callers pass only text that may be shown, or ask for names alone.

mod certificate;
mod document;
mod lines;

use schemars::JsonSchema;
use serde::Serialize;

/// A part of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Part {
    /// What `--explain` calls it.
    pub(crate) name: String,
    pub(crate) value: String,
    /// First and last line, from 1; 0 if it has none of its own.
    pub(crate) lines: (usize, usize),
    /// The comment above it; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) comment: String,
    /// Whether each line of the value is an item of a list.
    #[serde(skip)]
    pub(crate) is_list: bool,
}

impl Part {
    /// The items of a list with more than one.
    pub(crate) fn items(&self) -> Option<Vec<&str>> {
        let items: Vec<&str> = self.value.lines().collect();
        (self.is_list && items.len() > 1).then_some(items)
    }
}

/// How an artifact is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Certificate,
    Kubeconfig,
    /// Units, drop-ins, and NetworkManager's keyfiles.
    Unit,
    Haproxy,
    Xml,
    Script,
    Ignition,
}

impl Format {
    /// The format of a file; none if it has no parts of its own, or is YAML.
    pub(crate) fn of(path: &str, text: &str) -> Option<Self> {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let units = ["service", "target", "mount", "path", "socket", "nmconnection"];
        match extension {
            "crt" | "pem" if text.contains("-----BEGIN CERTIFICATE-----") => Some(Self::Certificate),
            "kubeconfig" => Some(Self::Kubeconfig),
            "ign" => Some(Self::Ignition),
            "xml" => Some(Self::Xml),
            "cfg" if path.contains("haproxy") => Some(Self::Haproxy),
            "conf" if path.contains("/etc/systemd/") || path.contains("NetworkManager") => Some(Self::Unit),
            _ if units.contains(&extension) => Some(Self::Unit),
            _ if text.starts_with("#!") => Some(Self::Script),
            _ if path.ends_with("/kubeconfig") => Some(Self::Kubeconfig),
            _ => None,
        }
    }

    /// Its name in `fields.toml`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::Kubeconfig => "kubeconfig",
            Self::Unit => "unit",
            Self::Haproxy => "haproxy",
            Self::Xml => "xml",
            Self::Script => "script",
            Self::Ignition => "ignition",
        }
    }

    /// The parts of a text, in its order. Empty if it cannot be parsed.
    pub(crate) fn parts(self, text: &str) -> Vec<Part> {
        match self {
            Self::Certificate => certificate::parts(text),
            Self::Kubeconfig => document::kubeconfig(text),
            Self::Unit => lines::unit(text),
            Self::Haproxy => lines::haproxy(text),
            Self::Xml => lines::xml(text),
            Self::Script => lines::script(text),
            Self::Ignition => document::ignition(text),
        }
    }
}
