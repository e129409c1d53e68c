//! `generations` and `rollback`: builds of `cluster` that are kept, and which of them `result` points to.

use std::path::PathBuf;

use serde::Serialize;

use super::build::{object_path, point};
use super::{ClusterDir, Env, OpsError, Result, workspace};
use crate::base::digest::ObjectId;
use crate::engine::store::{Roots, Session, Store, StoreError};
use crate::openshift::workspace::RESULT;

#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub number: u64,
    /// When it was made.
    pub time: String,
    /// The `cluster` object.
    pub object: ObjectId,
    /// Where that is; none if it is gone.
    pub path: Option<PathBuf>,
    /// Whether `result` points to it.
    pub current: bool,
    /// How many derivations it had.
    pub derivations: usize,
}

fn open(env: Env<'_>) -> Result<(ClusterDir, Store, Roots)> {
    let directory = ClusterDir::open(env.directory)?;
    let store = workspace::open_store(env.store, directory.path())?;
    let roots = store.roots_of(directory.path());
    Ok((directory, store, roots))
}

/// All generations, oldest first.
pub(crate) fn generations(env: Env<'_>) -> Result<Vec<Listed>> {
    let (_, store, roots) = open(env)?;
    let current = roots.current()?;
    roots
        .generations()?
        .into_iter()
        .map(|generation| {
            Ok(Listed {
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

/// Where `result` points now.
#[derive(Debug, Serialize)]
pub(crate) struct RolledBack {
    pub from: Option<u64>,
    pub to: u64,
    pub path: PathBuf,
}

/// Makes an earlier generation current: the one of that number, or the one before the current.
pub(crate) fn rollback(env: Env<'_>, number: Option<u64>) -> Result<RolledBack> {
    let (directory, store, roots) = open(env)?;
    let from = roots.current()?;
    let numbers = roots.numbers()?;
    let to = match number {
        Some(number) => number,
        None => {
            *numbers.iter().rev().find(|number| Some(**number) < from).ok_or_else(|| OpsError::Usage {
                message: "there is no generation before the current one".into(),
                advice: Some("`tinderbox generations` lists what is kept".into()),
            })?
        }
    };
    let generation = roots.generation(to)?;
    let Some(path) = object_path(&store, generation.object)? else {
        return Err(StoreError::NoSuchObject { prefix: generation.object.to_string() }.into());
    };
    let session = Session::open(&store, None)?;
    roots.set_current(&session, to, generation.object)?;
    point(&directory.file(RESULT), &path)?;
    Ok(RolledBack { from, to, path })
}
