//! The entries of a node's configuration, each with its origin.

use schemars::JsonSchema;
use serde::Serialize;

use super::artifact::{self, Artifact, FileText, near_file};
use super::output::{size, table};
use super::{Error, Result};
use crate::base::fs;
use crate::engine::recipe::GraphNode;
use crate::engine::store::{Object, StoreError};
use crate::openshift::ignition::{Manifest, Origin, OriginKind, Written, unit_path};

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct NodeEntry {
    /// `directory`, `file`, `link`, `unit`, `drop-in` or `user`.
    pub kind: &'static str,
    /// Path on the node, or the name of a unit or user.
    pub path: String,
    /// Permission bits, as `0600`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// If it is not root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// For a unit `enabled`, `disabled` or `masked`; for a link its target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub secret: bool,
    /// In bytes; absent for secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The derivations, templates and fields that it comes from.
    pub from: Vec<String>,
    /// The same in the recipe's terms.
    #[serde(skip)]
    pub origins: Vec<Origin>,
}

impl NodeEntry {
    fn new(kind: &'static str, written: Written, node: Option<&GraphNode>) -> Self {
        let Written { path, mode, owner, size, state, secret, from } = written;
        let kind = if kind == "unit" && path.contains('/') { "drop-in" } else { kind };
        let named = |origin: &Origin| node.map_or_else(|| origin.name.clone(), |node| name(node, origin));
        let names = from.iter().map(named).collect();
        Self { kind, path, mode, owner, state, secret, size, from: names, origins: from }
    }

    /// Its path on the node.
    pub(super) fn on_node(&self) -> String {
        match self.kind {
            "unit" | "drop-in" => unit_path(&self.path),
            _ => self.path.clone(),
        }
    }
}

pub(super) fn print(entries: &[NodeEntry]) {
    let rows = entries.iter().map(|entry| {
        let state = entry.mode.as_ref().or(entry.state.as_ref()).filter(|_| entry.kind != "link");
        let target = entry.state.as_ref().filter(|_| entry.kind == "link");
        vec![
            entry.kind.to_owned(),
            state.cloned().unwrap_or_default(),
            if entry.secret { "secret" } else { "" }.to_owned(),
            entry.size.map(size).unwrap_or_default(),
            target.map_or_else(|| entry.path.clone(), |target| format!("{} -> {target}", entry.path)),
            entry.from.join(", "),
        ]
    });
    table(&["KIND", "MODE", "", "SIZE", "PATH", "FROM"], &rows.collect::<Vec<_>>());
}

/// The name of an origin outside its recipe.
fn name(node: &GraphNode, origin: &Origin) -> String {
    match origin.kind {
        OriginKind::Base | OriginKind::Input | OriginKind::MachineConfig => {
            match node.inputs.get(&origin.name) {
                Some(edge) => {
                    let paths = [edge.path.as_deref().unwrap_or_default(), &origin.path];
                    let path =
                        paths.into_iter().filter(|path| !path.is_empty()).collect::<Vec<_>>().join("/");
                    if path.is_empty() { edge.from.clone() } else { format!("{}:{path}", edge.from) }
                }
                None => origin.name.clone(),
            }
        }
        OriginKind::Template => node.files.get(&origin.name).unwrap_or(&origin.name).clone(),
        OriginKind::Config => {
            let read = node.reads.iter().find(|(alias, ..)| *alias == origin.name);
            read.map_or_else(|| origin.name.clone(), |(_, path, _)| path.clone())
        }
        OriginKind::Recipe => node.recipe.clone(),
    }
}

/// The entries of a node's configuration; empty for any other derivation.
pub(super) fn entries(found: &Artifact) -> Result<Vec<NodeEntry>> {
    let node = found.node();
    if node.builder.0 != "ignition" {
        return Ok(Vec::new());
    }
    list(&found.object, Some(node))
}

/// The entries of a node's object; without its recipe, origins keep their internal names.
pub(super) fn list(object: &Object, node: Option<&GraphNode>) -> Result<Vec<NodeEntry>> {
    let path = object.path.join(Manifest::FILE);
    let manifest: Manifest = serde_json::from_str(&fs::read_text(&path)?)
        .map_err(|source| StoreError::Unreadable { path, source })?;
    let Manifest { version: _, directories, files, links, units, users } = manifest;
    let lists =
        [("directory", directories), ("file", files), ("link", links), ("unit", units), ("user", users)];
    let of = |(kind, list): (&'static str, Vec<Written>)| {
        list.into_iter().map(move |written| NodeEntry::new(kind, written, node)).collect::<Vec<_>>()
    };
    Ok(lists.into_iter().flat_map(of).collect())
}

/// The entry at a path of the node.
pub(super) fn find<'e>(entries: &'e [NodeEntry], target: &str, path: &str) -> Result<&'e NodeEntry> {
    let paths: Vec<String> = entries.iter().map(NodeEntry::on_node).collect();
    paths.iter().position(|one| one == path).map(|at| &entries[at]).ok_or_else(|| {
        let advice = Some(near_file(target, path, paths.iter().map(String::as_str)));
        Error::NoPath { target: target.to_owned(), path: path.to_owned(), advice }
    })
}

/// One file as the node gets it.
pub(super) fn file(
    object: &Object,
    target: &str,
    path: &str,
    entries: &[NodeEntry],
    reveal: bool,
) -> Result<FileText> {
    let entry = find(entries, target, path)?;
    let inside = format!("tree{path}");
    if object.listing.get(&inside).is_some() && entry.kind != "directory" {
        return Ok(FileText { path: path.to_owned(), ..artifact::file(object, target, &inside, reveal)? });
    }
    let content = match (entry.kind, &entry.state) {
        ("link", Some(to)) => format!("link to {to}"),
        (kind, state) => {
            let words = [Some(kind), entry.mode.as_deref(), state.as_deref()];
            words.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    };
    Ok(FileText { path: path.to_owned(), content, masked: false })
}
