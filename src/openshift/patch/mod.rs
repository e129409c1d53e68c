//! Patches of Kubernetes objects: which object, and what becomes of it.
//!
//! ```yaml
//! target: {kind: DNS, name: cluster}   # any of kind, name, namespace, group, apiVersion; or `file: manifests/x.yml`
//! patch:                               # a list is an RFC 6902 JSON patch, a map an RFC 7396 merge patch
//! - {op: test, path: /spec/baseDomain, value: ocp4.example.com}
//! - {op: replace, path: /spec/publicZone, value: {id: x}}
//! ```
//!
//! Stricter than both RFCs in one point: a patch that changes nothing is an error, because it was written to change
//! something. Kubernetes' strategic merge is not among the formats: how it merges a list depends on the Go type, which
//! only the API server knows; a JSON patch says the same without guessing.
//!
//! An engine of our own and not a crate (`json-patch`), because those work on `serde_json::Value`: it sorts keys, or keeps
//! their order in the whole program; it forgets how a scalar was written (`0644`, `4.10`, a number beyond 64 bits); and its
//! errors cannot say what is there instead. Here everything is a [`YamlNode`], which also knows its line.

mod apply;
mod identity;
mod parse;
mod pointer;
#[cfg(test)]
mod tests;

pub(crate) use apply::apply;
pub(crate) use identity::Identity;
pub(crate) use parse::parse;
pub(crate) use pointer::Pointer;

use crate::base::yaml::YamlNode;

/// One patch of a file.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    /// Its line, from 1.
    pub line: usize,
    /// What it is for.
    pub target: Target,
    pub change: Change,
}

/// Which objects a patch is for: those that agree with everything that is given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    /// Path of the file.
    pub file: Option<String>,
    /// API group; empty for the core group.
    pub group: Option<String>,
    pub api_version: Option<String>,
    pub kind: Option<String>,
    pub name: Option<String>,
    pub namespace: Option<String>,
    /// Whether it may be more than one.
    pub all: bool,
}

/// What becomes of an object.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Operations(Vec<Operation>),
    Merge(YamlNode),
}

/// One operation of a JSON patch.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub line: usize,
    pub path: Pointer,
    pub action: Action,
}

/// What an operation does at its path.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// It must be this.
    Test(YamlNode),
    /// A new entry or item; an entry that is there is replaced.
    Add(YamlNode),
    Remove,
    Replace(YamlNode),
    /// It comes from there.
    Move(Pointer),
    /// It becomes the same as there.
    Copy(Pointer),
}

/// Why a patch does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Line of the patch file.
    pub line: usize,
    pub message: String,
    pub hint: Option<String>,
}

impl Target {
    /// Whether an object is meant.
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

/// As a person would call it: `DNS cluster`, `ConfigMap in kube-system`, `manifests/x.yml`.
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
