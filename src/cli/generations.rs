//! `generations`: the retained builds of `cluster`, and which of them `result` points to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented};
use super::output::table;
use super::{Error, Printer, Result};
use crate::base::digest::{Digest, DrvId, ObjectId};
use crate::base::event::Event;
use crate::base::fs;
use crate::engine::exec::{self, BuildContext, Outcome};
use crate::engine::store::{ObjectName, Roots, Store};
use crate::openshift::workspace::{self, ClusterDir, Env, Workspace};

/// List the builds of `cluster` that are kept
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Vec<Kept>>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let all = generations(env)?;
        Ok(printer.answer(&all, || {
            let rows = all.iter().map(|one| {
                let mark = if one.current { " (current)" } else { "" };
                let path = one.path.as_ref().map_or("(gone)".to_owned(), |path| path.display().to_string());
                vec![format!("{}{mark}", one.number), one.time.clone(), path]
            });
            table(&["GENERATION", "MADE", "PATH"], &rows.collect::<Vec<_>>());
        }))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Kept {
    number: u64,
    time: String,
    /// The `cluster` object.
    object: ObjectId,
    /// None if it was collected.
    path: Option<PathBuf>,
    current: bool,
    derivations: usize,
}

/// The directory, its store, and its roots there.
pub(super) fn open(env: Env<'_>) -> Result<(ClusterDir, Store, Roots)> {
    let directory = env.cluster_dir()?;
    let store = workspace::open_store(env.store, directory.path())?;
    let roots = store.roots_of(directory.home());
    Ok((directory, store, roots))
}

/// All generations, oldest first.
fn generations(env: Env<'_>) -> Result<Vec<Kept>> {
    let (_, store, roots) = open(env)?;
    let current = roots.current()?;
    roots
        .generations()?
        .into_iter()
        .map(|generation| {
            Ok(Kept {
                number: generation.number,
                path: object_path(&store, generation.object)?,
                current: Some(generation.number) == current,
                derivations: generation.names.len(),
                time: generation.time,
                object: generation.object,
            })
        })
        .collect()
}

/// Records what was built, creates a generation for a new `cluster`, and points `result` to it.
pub(super) fn keep(
    workspace: &Workspace,
    context: BuildContext<'_>,
    outcome: &Outcome,
    no_link: bool,
) -> Result<Option<u64>> {
    let nodes = workspace.graph.nodes();
    let names: BTreeMap<String, (DrvId, ObjectId)> = outcome
        .done
        .iter()
        .map(|(at, done)| (nodes[*at].name.clone(), (done.drv, done.output.object)))
        .collect();
    let cluster = workspace.graph.find("cluster").and_then(|at| outcome.done.get(&at));
    let roots = workspace.roots(context.session.store());
    workspace.keep_downloads(context.session)?;
    let state = state(&names);
    let link = workspace.directory.result();
    let path = cluster.map(|done| exec::path_of(context, &done.output));
    let linked =
        no_link || path.as_ref().is_none_or(|path| fs::read_link(&link).is_ok_and(|there| there == *path));
    if linked && roots.is_recorded(state)? {
        let current = roots.current_object()?;
        let same =
            |(number, object)| cluster.is_some_and(|done| done.output.object == object).then_some(number);
        if cluster.is_none() || current.and_then(same).is_some() {
            return Ok(current.and_then(same));
        }
    }
    if context.session.is_reading() {
        let text = "the store is read-only: this build is not kept as a generation".to_owned();
        context.events.emit(Event::Notice { text });
        return Ok(None);
    }
    let mut record = roots.record()?;
    record.update(names, outcome.done.len() == nodes.len());
    roots.set_record(context.session, &record, state)?;
    let (Some(done), Some(path)) = (cluster, path) else { return Ok(None) };
    let closure = workspace.graph.closure(&workspace.graph.select("cluster"));
    let named = closure.iter().filter_map(|at| record.names.get_key_value(&nodes[*at].name));
    let named = named.map(|(name, named)| (name.clone(), named.clone())).collect();
    let number = roots.advance(context.session, done.output.object, &exec::now(), &named)?;
    if !no_link {
        point(&link, &path)?;
    }
    Ok(Some(number))
}

/// A digest of all names: if it is equal, nothing needs to be recorded.
fn state(names: &BTreeMap<String, (DrvId, ObjectId)>) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for (name, (drv, object)) in names {
        hasher.update(name.as_bytes()).update(b"\0").update(drv.0.as_bytes()).update(object.0.as_bytes());
    }
    hasher.finalize().into()
}

/// Points `result` to a store path.
pub(super) fn point(link: &Path, path: &Path) -> Result<()> {
    let there = fs::optional(fs::metadata(link))?;
    if there.is_some_and(|there| !there.is_symlink()) {
        let advice = "move it away: `result` is the link that `build` keeps";
        return Err(Error::Exists { path: link.to_owned(), advice });
    }
    fs::replace_link(path, link).map_err(|source| Error::Result { path: link.to_owned(), source })
}

/// The object of a generation, if it still exists.
pub(super) fn object_path(store: &Store, object: ObjectId) -> Result<Option<PathBuf>> {
    let hint = ObjectName { id: object, name: "cluster".into() };
    Ok(store.find(object, &hint.name)?)
}
