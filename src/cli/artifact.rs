//! A built derivation: its current output, and the texts in it. Secrets are masked unless requested.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Error, Result};
use crate::base::digest::DrvId;
use crate::base::fs;
use crate::base::hint::near;
use crate::base::secret::MASK;
use crate::engine::exec::Done;
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::engine::store::{Object, Store};
use crate::engine::tree::EntryKind;
use crate::openshift::workspace::{self, Env, Missing, Workspace};

pub(super) struct Artifact {
    pub(super) workspace: Workspace,
    at: NodeIndex,
    pub(super) drv: DrvId,
    pub(super) object: Object,
    /// The outputs of everything that it needs.
    pub(super) done: BTreeMap<NodeIndex, Done>,
    pub(super) store: Store,
}

impl Artifact {
    /// Finds the output of a derivation for the current files.
    pub(super) fn find(env: Env<'_>, name: &str) -> Result<Self> {
        let workspace = Workspace::load(env, Missing::Imagine)?;
        let at = workspace.find(name)?;
        let not_built = || Error::NotBuilt { target: name.to_owned() };
        let store =
            workspace::open_store_if_there(env.store, workspace.directory.path())?.ok_or_else(not_built)?;
        let plan = workspace.plan(env, &store, &[at])?;
        let done = plan.done.get(&at).ok_or_else(not_built)?;
        let (drv, object) = (done.drv, store.object(done.output.object)?);
        Ok(Self { workspace, at, drv, object, done: plan.done, store })
    }

    /// The same for a file of it, whose content is verified because it is about to leave the store. Of a folder, the derivation
    /// that has such a file, if it is the only one.
    pub(super) fn find_with(env: Env<'_>, name: &str, path: Option<&str>) -> Result<Self> {
        let found = Self::find_in(env, name, path)?;
        let part = path.filter(|path| found.object.listing.get(path).is_some()).unwrap_or_default();
        found.store.verify_part(&found.object, part)?;
        Ok(found)
    }

    fn find_in(env: Env<'_>, name: &str, path: Option<&str>) -> Result<Self> {
        let workspace = Workspace::load(env, Missing::Imagine)?;
        let members = workspace.graph.select(name);
        if workspace.graph.find(name).is_some() || members.is_empty() {
            return Self::find(env, name);
        }
        let names: Vec<&str> = members.iter().map(|at| workspace.graph.nodes()[*at].name.as_str()).collect();
        let mut having = Vec::new();
        for member in &names {
            let Ok(found) = Self::find(env, member) else { continue };
            if path.is_some_and(|path| found.object.listing.get(path).is_some()) {
                having.push(found);
            }
        }
        if having.len() == 1 {
            return having.pop().ok_or_else(|| Error::NotBuilt { target: name.to_owned() });
        }
        let which = match having.as_slice() {
            [] => names,
            several => several.iter().map(|found| found.node().name.as_str()).collect(),
        };
        let shown = which.iter().take(6).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let more = if which.len() > 6 { format!(", and {} more", which.len() - 6) } else { String::new() };
        Err(Error::usage(
            format!("`{name}` is a folder of {} derivations", members.len()),
            format!("name one of {shown}{more}"),
        ))
    }

    pub(super) fn at(&self) -> NodeIndex {
        self.at
    }

    pub(super) fn node(&self) -> &GraphNode {
        &self.workspace.graph.nodes()[self.at]
    }

    pub(super) fn users(&self) -> impl Iterator<Item = &str> {
        let mut users = self.workspace.graph.users();
        std::mem::take(&mut users[self.at])
            .into_iter()
            .map(|user| self.workspace.graph.nodes()[user].name.as_str())
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FileText {
    pub(super) path: String,
    /// Its text, or the placeholder.
    pub(super) content: String,
    /// Whether the text is hidden.
    pub(super) masked: bool,
}

/// Advice about a file that an artifact does not have.
pub(super) fn near_file<'a>(target: &str, path: &str, paths: impl IntoIterator<Item = &'a str>) -> String {
    match near(path, paths) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`tinderbox show {target}` lists its files"),
    }
}

pub(super) fn file(object: &Object, target: &str, path: &str, reveal: bool) -> Result<FileText> {
    let no_path = |advice| Error::NoPath { target: target.to_owned(), path: path.to_owned(), advice };
    if path.starts_with('/') {
        let advice = "a path with a leading `/` is a path on a node, and only `ignition/…` has those";
        return Err(no_path(Some(advice.to_owned())));
    }
    let Some(entry) = object.listing.get(path) else {
        let paths = object.listing.leaves("").map(|(path, _)| path);
        return Err(no_path(Some(near_file(target, path, paths))));
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
    Ok(FileText { path: path.to_owned(), content, masked })
}
