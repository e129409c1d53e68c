//! Patches of Kubernetes objects: the target, and the change.
//!
//! ```yaml
//! target: {kind: DNS, name: cluster}   # any of kind, name, namespace, group, apiVersion; or `file: manifests/x.yml`
//! patch:                               # a list is an RFC 6902 JSON patch, a map an RFC 7396 merge patch
//! - {op: test, path: /spec/baseDomain, value: ocp4.example.com}
//! - {op: replace, path: /spec/publicZone, value: {id: x}}
//! ```
//!
//! Stricter than both RFCs in one point: a patch that changes nothing is an error, because it was meant to change
//! something. Kubernetes' strategic merge is not supported: how it merges a list depends on the Go type, which only the
//! API server knows; a JSON patch expresses the same without guessing.
//!
//! We do not use a crate (`json-patch`), because they work on `serde_json::Value`: it sorts keys, or keeps their order
//! in the whole program; it forgets the spelling of a scalar (`0644`, `4.10`, a number beyond 64 bits); and their
//! errors cannot say what exists instead. Here everything is a [`YamlNode`], which also knows its line.

mod apply;
mod between;
mod identity;
mod parse;
mod pointer;
#[cfg(test)]
mod tests;

pub(crate) use apply::apply;
pub(crate) use between::{Edit, between, change, file as patch_file};
pub(crate) use identity::Identity;
pub(crate) use parse::parse;
pub(crate) use pointer::Pointer;

use crate::base::yaml::YamlNode;

#[derive(Debug, Clone)]
pub(crate) struct Patch {
    /// From 1.
    pub line: usize,
    pub target: Target,
    pub change: Change,
}

/// Selects the objects that match all given fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    pub file: Option<String>,
    /// Empty for the core group.
    pub group: Option<String>,
    pub api_version: Option<String>,
    pub kind: Option<String>,
    pub name: Option<String>,
    pub namespace: Option<String>,
    /// Whether it may match more than one object.
    pub all: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Change {
    Operations(Vec<Operation>),
    Merge(YamlNode),
}

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub line: usize,
    pub path: Pointer,
    pub action: Action,
}

#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// Fails unless the value is equal.
    Test(YamlNode),
    /// Adds an entry or item; replaces an existing entry.
    Add(YamlNode),
    Remove,
    Replace(YamlNode),
    /// From this path.
    Move(Pointer),
    /// From this path.
    Copy(Pointer),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// In the patch file.
    pub line: usize,
    pub message: String,
    pub hint: Option<String>,
}

impl Target {
    pub(crate) fn matches(&self, file: &str, object: &Identity) -> bool {
        let Self { file: path, group, api_version, kind, name, namespace, all: _ } = self;
        let agrees =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|text| text == found);
        agrees(path, file)
            && agrees(group, object.group())
            && agrees(api_version, &object.api_version)
            && agrees(kind, &object.kind)
            && agrees(name, &object.name)
            && agrees(namespace, &object.namespace)
    }
}

/// A readable name: `DNS cluster`, `ConfigMap in kube-system`, `manifests/x.yml`.
impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(file) = &self.file {
            return f.write_str(file);
        }
        f.write_str(self.kind.as_deref().unwrap_or("object"))?;
        for (word, text) in [
            (" ", &self.name),
            (" in namespace ", &self.namespace),
            (" of group ", &self.group),
            (" of ", &self.api_version),
        ] {
            if let Some(text) = text {
                write!(f, "{word}`{text}`")?;
            }
        }
        Ok(())
    }
}
