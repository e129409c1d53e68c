//! What a file, object or artifact is for: the answer of the tables below `recipes/knowledge/`, and an honest one where
//! they have none.

use super::Result;
use super::artifact::Artifact;
use super::node_entries::NodeEntry;
use crate::base::fs;
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source};
use crate::engine::exec;
use crate::engine::recipe::NodeIndex;
use crate::engine::tree::EntryKind;
use crate::openshift::ignition::OriginKind;
use crate::openshift::knowledge::{About, Known, Purpose};
use crate::openshift::patch::Identity;
use crate::openshift::trust::Pool;
use crate::openshift::workspace::Workspace;

/// The derivation with the user's own manifests.
const USER: &str = "user/manifests";

/// The tables, for one cluster.
#[derive(Clone, Copy)]
pub(super) struct Purposes<'w> {
    pub(super) workspace: &'w Workspace,
}

impl Purposes<'_> {
    /// What an entry of a node's configuration is for. `text` is its content, if it has one; a manifest is answered by
    /// its objects.
    pub(super) fn entry(&self, node: &str, entry: &NodeEntry, text: Option<&str>) -> Result<Vec<About>> {
        let Workspace { knowledge, graph, .. } = self.workspace;
        let path = if entry.kind == "user" { format!("user {}", entry.path) } else { entry.on_node() };
        if let Some(purpose) = knowledge.node_file(self.workspace.release(), self.pool(node), &path)? {
            return Ok(vec![About { subject: path, known: Known::Table, purpose }]);
        }
        let recipe = graph.find(&format!("ignition/{node}")).map(|at| &graph.nodes()[at]);
        for origin in entry.origins.iter().filter(|origin| origin.kind == OriginKind::Input) {
            let Some(edge) = recipe.and_then(|recipe| recipe.inputs.get(&origin.name)) else { continue };
            let file = if origin.path.is_empty() { edge.path.as_deref() } else { Some(origin.path.as_str()) };
            let file = file.map(|file| file.rsplit('/').next().unwrap_or(file));
            let found = self.file(edge.node, file.unwrap_or_default(), text)?;
            if found.iter().any(|one| one.known != Known::Unknown) {
                return Ok(found);
            }
        }
        let mine = self.workspace.machine_configs_with(&entry.path)?;
        Ok(vec![if mine.is_empty() { self.unknown(path)? } else { yours(path, &mine.join(", ")) }])
    }

    /// What a file of a derivation is for, or the whole derivation if `path` is empty. Objects answer for themselves.
    pub(super) fn file(&self, at: NodeIndex, path: &str, text: Option<&str>) -> Result<Vec<About>> {
        let node = &self.workspace.graph.nodes()[at];
        let objects = match text {
            Some(text) if yaml::is_manifest(path) => self.objects(node.name == USER, path, text)?,
            _ => Vec::new(),
        };
        if objects.iter().any(|one| one.known != Known::Unknown) {
            return Ok(objects);
        }
        let file = Some(path).filter(|path| !path.is_empty());
        let release = self.workspace.release();
        let row = self.workspace.knowledge.artifact(release, &node.name, file, &node.summary)?;
        let subject = match file {
            Some(file) => format!("{}:{file}", node.name),
            None => node.name.clone(),
        };
        match row {
            Some(purpose) => Ok(vec![About { subject, known: Known::Table, purpose }]),
            None if !objects.is_empty() => Ok(objects),
            // A recipe of the user's own.
            None if !node.recipe.starts_with("built-in") => Ok(vec![yours(subject, &node.recipe)]),
            None => Ok(vec![self.unknown(subject)?]),
        }
    }

    /// What each object of a manifest is for.
    fn objects(&self, is_users: bool, path: &str, text: &str) -> Result<Vec<About>> {
        let mut found = Vec::new();
        for document in yaml::documents(Source { name: path, text }, &mut Problems::default()) {
            let object = Identity::of(&document);
            if object.missing().is_some() {
                continue;
            }
            let kind = match object.group() {
                "" => object.kind.clone(),
                group => format!("{}.{group}", object.kind),
            };
            let name = match object.namespace.as_str() {
                "" => object.name.clone(),
                namespace => format!("{namespace}/{}", object.name),
            };
            let row = self.workspace.knowledge.object(self.workspace.release(), &kind, &name)?;
            // The object `version` has no namespace, but installers give it one.
            let row = match row {
                None => self.workspace.knowledge.object(self.workspace.release(), &kind, &object.name)?,
                row => row,
            };
            let subject = format!("{kind} {name}");
            found.push(match row {
                Some(purpose) => About { subject, known: Known::Table, purpose },
                None if is_users => yours(subject, &format!("manifests/{path}:{}", document.line)),
                None => self.unknown(subject)?,
            });
        }
        Ok(found)
    }

    fn pool(&self, node: &str) -> Pool {
        Pool::of(&self.workspace.cluster, node)
    }

    fn unknown(&self, subject: String) -> Result<About> {
        let described = self.workspace.knowledge.described()?;
        let purpose = Purpose {
            purpose: format!("Not in the tables of this tinderbox, which describe {described}."),
            reader: "unknown".to_owned(),
            without: "unknown".to_owned(),
            checks: Vec::new(),
        };
        Ok(About { subject, known: Known::Unknown, purpose })
    }
}

/// Something that the user added.
fn yours(subject: String, place: &str) -> About {
    let purpose = Purpose {
        purpose: format!("Yours: {place}."),
        reader: "whatever you made it for".to_owned(),
        without: "only you know: OpenShift does not need it".to_owned(),
        checks: Vec::new(),
    };
    About { subject, known: Known::Yours, purpose }
}

/// The derivation that wrote a file, and the file's path in it.
pub(super) fn writer(found: &Artifact, mut at: NodeIndex, mut path: String) -> (NodeIndex, String) {
    let graph = &found.workspace.graph;
    let listing = |at: NodeIndex| Some(found.store.object(found.done.get(&at)?.output.object).ok()?.listing);
    loop {
        let node = &graph.nodes()[at];
        if let Some(before) = exec::unchanged(graph, at, &path, listing) {
            (at, path) = before;
        } else if let (true, Some(edge)) = (node.builder.0 == "patch", node.inputs.get("tree")) {
            at = edge.node;
        } else {
            return (at, path);
        }
    }
}

/// The text of a file, for us to read: it may be secret.
pub(super) fn content(found: &Artifact, path: &str) -> Option<String> {
    let entry = found.object.listing.get(path)?;
    matches!(entry.kind, EntryKind::File { .. }).then(|| fs::read_text(&found.object.path.join(path)).ok())?
}

/// What a file of an artifact is for, by the derivation that wrote it.
pub(super) fn of(found: &Artifact, path: &str) -> Result<Vec<About>> {
    let (at, inside) = writer(found, found.at(), path.to_owned());
    let file = inside.rsplit('/').next().unwrap_or_default();
    Purposes { workspace: &found.workspace }.file(at, file, content(found, path).as_deref())
}
