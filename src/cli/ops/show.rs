//! `show`: what an artifact holds, or one file of it. Secrets are masked unless they are asked for. Of a node's
//! configuration it is what the node gets, and a path with a leading `/` is one on the node.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::node::{self, NodeEntry};
use super::{Env, Missing, OpsError, Result, Workspace};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::fs;
use crate::base::hint::near;
use crate::base::secret::MASK;
use crate::engine::exec::{self, Done};
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::engine::store::{Object, Session, Store};
use crate::engine::tree::{EntryKind, TreeEntry};

#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    pub name: String,
    /// What it is and why it exists.
    pub summary: String,
    pub recipe: String,
    pub drv: DrvId,
    pub object: ObjectId,
    pub path: PathBuf,
    /// What is in it.
    pub entries: Vec<ShownEntry>,
    /// What a node gets, if this is a node's configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<NodeEntry>,
    /// The one file that was asked for, or that it holds: its path and its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<ShownFile>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ShownEntry {
    pub path: String,
    /// `file`, `executable`, `directory` or `link`.
    pub kind: &'static str,
    /// Whether it is secret.
    pub secret: bool,
    pub size: u64,
    /// BLAKE3, keyed if it is secret.
    pub digest: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ShownFile {
    pub path: String,
    /// Its text, or what stands in its place.
    pub content: String,
    /// Whether the text is hidden.
    pub masked: bool,
}

/// A derivation that is built, and what it is.
pub(super) struct Found {
    pub(super) workspace: Workspace,
    at: NodeIndex,
    drv: DrvId,
    pub(super) object: Object,
    /// The outputs of all that it needs.
    pub(super) done: BTreeMap<NodeIndex, Done>,
    pub(super) store: Store,
}

impl Found {
    /// Looks for the output of a derivation as the files are now.
    pub(super) fn find(env: Env<'_>, name: &str) -> Result<Self> {
        let workspace = Workspace::load(env, Missing::Imagine)?;
        let at = workspace.find(name)?;
        let not_built = || OpsError::NotBuilt { target: name.to_owned() };
        let store =
            super::workspace::open_if_there(env.store, workspace.directory.path())?.ok_or_else(not_built)?;
        let session = Session::reading(&store, Some(workspace.id_key()));
        let plan = exec::plan(workspace.context(env, &session), &[at])?;
        let done = plan.done.get(&at).ok_or_else(not_built)?;
        let (drv, object) = (done.drv, store.object(done.output.object)?);
        drop(session);
        Ok(Self { workspace, at, drv, object, done: plan.done, store })
    }

    /// Where it is in the graph.
    pub(super) fn at(&self) -> NodeIndex {
        self.at
    }

    /// Its place in the graph.
    pub(super) fn node(&self) -> &GraphNode {
        &self.workspace.graph.nodes()[self.at]
    }

    /// Derivations that use it.
    pub(super) fn users(&self) -> impl Iterator<Item = &str> {
        let mut users = self.workspace.graph.users();
        std::mem::take(&mut users[self.at])
            .into_iter()
            .map(|user| self.workspace.graph.nodes()[user].name.as_str())
    }
}

/// Looks at `NAME` or `NAME:PATH`.
pub(crate) fn show(env: Env<'_>, target: &str, reveal: bool) -> Result<Shown> {
    let (name, path) = target.split_once(':').map_or((target, None), |(name, path)| (name, Some(path)));
    let found = Found::find(env, name)?;
    let leaves: Vec<&str> = found.object.listing.leaves("").map(|(path, _)| path).collect();
    let node = node::entries(&found)?;
    let file = match (path, leaves.as_slice()) {
        (Some(path), _) if path.starts_with('/') && !node.is_empty() => {
            Some(node::file(&found.object, name, path, &node, reveal)?)
        }
        (Some(path), _) => Some(file(&found.object, name, path, reveal)?),
        (None, [only]) => Some(file(&found.object, name, only, reveal)?),
        (None, _) => None,
    };
    Ok(Shown {
        name: name.to_owned(),
        summary: found.node().summary.clone(),
        recipe: found.node().recipe.clone(),
        node,
        drv: found.drv,
        object: found.object.id,
        entries: found.object.listing.entries().skip(1).map(|(path, entry)| shown(path, entry)).collect(),
        path: found.object.path,
        file,
    })
}

fn shown(path: &str, entry: &TreeEntry) -> ShownEntry {
    let kind = match entry.kind {
        EntryKind::File { exec: false, .. } => "file",
        EntryKind::File { exec: true, .. } => "executable",
        EntryKind::Dir => "directory",
        EntryKind::Link { .. } => "link",
    };
    let digest = entry.digest.to_string();
    ShownEntry { path: path.to_owned(), kind, secret: entry.secret, size: entry.size(), digest }
}

pub(super) fn file(object: &Object, target: &str, path: &str, reveal: bool) -> Result<ShownFile> {
    let no_path = |advice| OpsError::NoPath { target: target.to_owned(), path: path.to_owned(), advice };
    if path.starts_with('/') {
        let advice = "a path with a leading `/` is a path on a node, and only `ignition/…` has those";
        return Err(no_path(Some(advice.to_owned())));
    }
    let Some(entry) = object.listing.get(path) else {
        let paths = object.listing.leaves("").map(|(path, _)| path);
        return Err(no_path(near(path, paths).map(|near| format!("did you mean `{near}`?"))));
    };
    let (content, masked) = match &entry.kind {
        EntryKind::Dir => return Err(no_path(Some("it is a directory: name a file in it".into()))),
        EntryKind::Link { target } => (format!("link to {target}"), false),
        EntryKind::File { .. } if entry.secret && !reveal => (MASK.to_owned(), true),
        EntryKind::File { size, .. } => match String::from_utf8(fs::read(&object.path.join(path))?) {
            Ok(text) => (text, false),
            Err(_) => (format!("(binary, {size} bytes)"), false),
        },
    };
    Ok(ShownFile { path: path.to_owned(), content, masked })
}
