//! Shell completion of what only a cluster directory knows: targets, files in them, nodes, config fields.
//!
//! The shell runs this program with its words, so it must be quick, silent and change nothing: any problem means no
//! candidates.

use std::ffi::OsStr;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::artifact::Artifact;
use super::{Result, environment, node_entries};
use crate::base::cancel::Cancel;
use crate::engine::registry::ProxySettings;
use crate::openshift::workspace::{Env, Missing, Network, StoreChoice, Workspace};

/// A derivation, a folder of them, or a file in one.
pub(super) fn target() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        candidates(current, |env, word| match word.split_once(':') {
            Some((name, _)) => files(env, name),
            None => targets(env),
        })
    })
}

pub(super) fn node() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        candidates(current, |env, _| {
            let nodes = Workspace::load(env, Missing::Unneeded)?.cluster.nodes;
            Ok(nodes.into_iter().map(|node| (node.name, node.role.as_str().to_owned())).collect())
        })
    })
}

/// The name of a schema.
pub(super) fn schema() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let names = super::schema::documents().into_iter();
        candidates(current, |_, _| Ok(names.map(|one| (one.name.replace(' ', "-"), one.command)).collect()))
    })
}

/// A field of the cluster model.
pub(super) fn field() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        candidates(current, |env, _| {
            let fields = Workspace::load(env, Missing::Unneeded)?.fields;
            let place = |origins: &crate::engine::fields::Origins| origins.first().map(ToString::to_string);
            Ok(fields.leaves().map(|(path, origins)| (path, place(origins).unwrap_or_default())).collect())
        })
    })
}

/// Words, each with a sentence.
type Words = Vec<(String, String)>;

/// Those of the words that begin with the current one.
fn candidates(
    current: &OsStr,
    find: impl FnOnce(Env<'_>, &str) -> Result<Words>,
) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let (directory, store) = environment::of_completed_line();
    let store = StoreChoice { named: store, data: environment::data_directory(), ..StoreChoice::default() };
    let env = Env {
        directory: &directory,
        store: &store,
        events: &(),
        cancel: &Cancel::default(),
        proxy: &ProxySettings::default(),
        programs: &environment::programs(),
        executable: None,
        identity: None,
        seed: None,
        config: None,
        network: Network::Nothing,
        site: None,
    };
    let words = find(env, current).unwrap_or_default();
    let begin = words.into_iter().filter(|(word, _)| word.starts_with(current));
    begin.map(|(word, help)| CompletionCandidate::new(word).help(Some(help.into()))).collect()
}

/// All derivations and folders.
fn targets(env: Env<'_>) -> Result<Words> {
    let workspace = Workspace::load(env, Missing::Unneeded)?;
    let mut words: Words = Vec::new();
    for node in workspace.graph.nodes().iter() {
        if let Some((folder, _)) = node.name.split_once('/')
            && words.iter().all(|(word, _)| word != folder)
        {
            words.push((folder.to_owned(), "a folder".to_owned()));
        }
        words.push((node.name.clone(), node.summary.clone()));
    }
    words.sort();
    Ok(words)
}

/// The files of a built derivation; of a node's configuration, also by their paths on the node.
fn files(env: Env<'_>, name: &str) -> Result<Words> {
    let found = Artifact::find(env, name)?;
    let paths = found.object.listing.leaves("").map(|(path, _)| path.to_owned());
    let on_node = node_entries::entries(&found)?.into_iter().map(|entry| entry.path);
    Ok(paths.chain(on_node).map(|path| (format!("{name}:{path}"), String::new())).collect())
}
