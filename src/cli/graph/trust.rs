//! `graph --trust`: what nodes and kubeconfigs present to each other, and who accepts it, before and after the pivot.
//!
//! Looks at what nodes really get, with all patches and recipes of the user: the built `ignition/*`. No check has to
//! pass for that, so a cluster that `check/hand-over` rejects can be inspected too.

use std::collections::BTreeMap;

use super::Format;
use crate::base::event::Event;
use crate::base::fs;
use crate::cli::{Error, Result};
use crate::compare::picture;
use crate::engine::store::Object;
use crate::engine::tree::EntryKind;
use crate::openshift::trust::{self, Machine, Pool, Trust};
use crate::openshift::workspace::{self, Env, Missing, Workspace};

/// The folder of nodes' configurations.
const NODES: &str = "ignition";
/// The directories in their outputs that contain credentials and trust anchors.
const PARTS: [&str; 2] = ["tree/etc/kubernetes", "tree/opt/openshift/manifests"];

/// Every verification between the nodes of this cluster.
pub(super) fn trust(env: Env<'_>) -> Result<Trust> {
    let workspace = Workspace::load(env, Missing::Imagine)?;
    Ok(Trust::of(&machines(env, &workspace)?, workspace.trust_edges()?))
}

/// How many of them fail, for people.
pub(super) fn summary(trust: &Trust) -> Event {
    let Trust { verifications, failing, .. } = trust;
    match failing {
        0 => Event::Notice { text: format!("all {verifications} verifications hold") },
        _ => {
            let names = trust.refused().join(", ");
            Event::Warning { text: format!("{failing} of {verifications} verifications fail: {names}") }
        }
    }
}

pub(super) fn draw(trust: &Trust, format: Format) -> String {
    match format {
        Format::Text => picture::trust_text(trust),
        Format::Mermaid | Format::Stages => trust::mermaid(trust),
        Format::Dot => trust::dot(trust),
        Format::Svg => picture::trust(trust).file(),
        Format::Json => serde_json::to_string_pretty(trust).map(|text| text + "\n").unwrap_or_default(),
    }
}

/// All machines with the relevant files, as built.
fn machines(env: Env<'_>, workspace: &Workspace) -> Result<Vec<Machine>> {
    let not_built = || Error::NotBuilt { target: NODES.to_owned() };
    let store =
        workspace::open_store_if_there(env.store, workspace.directory.path())?.ok_or_else(not_built)?;
    let targets = workspace.select(&[NODES.to_owned()])?;
    let plan = workspace.plan(env, &store, &targets)?;
    let mut machines = Vec::new();
    for node in &workspace.cluster.nodes {
        let at = workspace.find(&format!("{NODES}/{}", node.name))?;
        let done = plan.done.get(&at).ok_or_else(not_built)?;
        machines.push(machine(
            &node.name,
            Pool::of(&workspace.cluster, &node.name),
            &store.object(done.output.object)?,
        )?);
    }
    Ok(machines)
}

pub(in crate::cli) fn machine(name: &str, pool: Pool, object: &Object) -> Result<Machine> {
    Ok(Machine { name: name.to_owned(), pool, files: files(object)? })
}

fn files(object: &Object) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let leaves = PARTS.into_iter().flat_map(|part| object.listing.leaves(part));
    for (path, _) in leaves.filter(|(_, entry)| matches!(entry.kind, EntryKind::File { .. })) {
        let bytes = fs::read(&object.path.join(path))?;
        if let (Some(on_node), Ok(text)) = (path.strip_prefix("tree"), String::from_utf8(bytes)) {
            files.insert(on_node.to_owned(), text);
        }
    }
    Ok(files)
}
