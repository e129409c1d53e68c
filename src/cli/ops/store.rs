//! `store …`: what is in the store, whether it is sound, and what can go.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use super::build::{self, BuildRequest};
use super::{Env, OpsError, Result, WorkspaceError, workspace};
use crate::base::digest::ObjectId;
use crate::base::event::Event;
use crate::base::fs;
use crate::engine::store::{GcOptions, GcPlan, ObjectName, Session, Store, Verification};

/// One object of the store.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub object: ObjectId,
    pub name: String,
    pub path: PathBuf,
    /// Bytes in its files.
    pub size: u64,
    pub files: usize,
    /// Whether it is secret.
    pub secret: bool,
}

fn open(env: Env<'_>) -> Result<Store> {
    Ok(workspace::open_store(env.store, env.directory)?)
}

/// All objects, by name.
pub(crate) fn ls(env: Env<'_>) -> Result<Vec<Listed>> {
    let store = open(env)?;
    let mut all = Vec::new();
    for name in store.objects()? {
        let object = store.object(name.id)?;
        all.push(Listed {
            object: name.id,
            path: store.path_of(&name),
            size: object.listing.size(),
            files: object.listing.leaves("").count(),
            secret: object.listing.root().secret,
            name: name.name,
        });
    }
    all.sort_by(|one, other| one.name.cmp(&other.name).then(one.object.cmp(&other.object)));
    Ok(all)
}

/// What the store takes.
#[derive(Debug, Serialize)]
pub(crate) struct Usage {
    pub store: PathBuf,
    pub objects: usize,
    /// Bytes, if equal files counted every time.
    pub apparent: u64,
    /// Bytes that are really there.
    pub stored: u64,
}

/// How large the store is, with and without sharing.
pub(crate) fn du(env: Env<'_>) -> Result<Usage> {
    let store = open(env)?;
    let mut inodes = BTreeMap::new();
    let mut apparent = 0;
    let names = store.objects()?;
    for name in &names {
        let object = store.object(name.id)?;
        for (path, entry) in object.listing.leaves("") {
            apparent += entry.size();
            if let Some(found) = fs::optional(fs::metadata(&object.path.join(path)))? {
                inodes.insert(found.ino(), found.size());
            }
        }
    }
    Ok(Usage {
        store: store.root().to_owned(),
        objects: names.len(),
        apparent,
        stored: inodes.values().sum(),
    })
}

/// Where an object is: by id, by the beginning of one, or by directory name.
pub(crate) fn path(env: Env<'_>, prefix: &str) -> Result<(ObjectName, PathBuf)> {
    let store = open(env)?;
    let name = store.by_prefix(prefix)?;
    let path = store.path_of(&name);
    Ok((name, path))
}

/// Puts a file or directory into the store. Nothing keeps it from gc but its use.
pub(crate) fn add(env: Env<'_>, source: &Path) -> Result<(ObjectId, PathBuf)> {
    let store = match &env.store.named {
        Some(named) => Store::open_or_create(named)?,
        None => open(env)?,
    };
    let session = Session::open(&store, None)?;
    let tree = session.stage(false)?;
    tree.copy_from(source, "").map_err(crate::engine::store::StoreError::from)?;
    let name = source.file_name().and_then(|name| name.to_str()).unwrap_or("source");
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    let staged = session.finish(tree, &plain)?;
    session.sync()?;
    let output = session.publish(&staged)?;
    let path = store.path_of(&ObjectName { id: output.object, name: output.name });
    Ok((output.object, path))
}

pub(crate) fn verify(env: Env<'_>) -> Result<Verification> {
    Ok(open(env)?.verify()?)
}

#[derive(Debug, Serialize)]
pub(crate) struct Repaired {
    /// Objects that were bad and are gone.
    pub removed: Vec<ObjectId>,
    /// Names that were built again.
    pub rebuilt: Vec<String>,
    /// Bad objects that this cluster directory does not make, with the directories that may.
    pub elsewhere: Vec<(ObjectId, Vec<PathBuf>)>,
    /// What is still wrong.
    pub left: Verification,
}

/// Removes what is bad, and builds again what this cluster directory makes of it.
pub(crate) fn repair(env: Env<'_>, jobs: usize) -> Result<Repaired> {
    let store = open(env)?;
    let found = store.verify()?;
    let bad: BTreeSet<ObjectId> = found.findings.iter().filter_map(|finding| finding.object).collect();
    if !found.findings.is_empty() {
        store.remove_bad(&found)?;
    }
    let mut rebuilt = Vec::new();
    if !bad.is_empty() {
        let request =
            BuildRequest { targets: Vec::new(), jobs, keep_going: true, check: false, no_link: false };
        match build::build(env, &request) {
            Ok(report) => rebuilt = report.built.unwrap_or_default(),
            Err(OpsError::Workspace(WorkspaceError::NotACluster { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    let there: BTreeSet<ObjectId> = store.objects()?.into_iter().map(|name| name.id).collect();
    let mut elsewhere = Vec::new();
    for object in bad.iter().filter(|object| !there.contains(object)) {
        let mut owners = Vec::new();
        for roots in store.all_roots()? {
            if roots.keeps(*object)? {
                owners.push(roots.directory.clone());
            }
        }
        if !owners.is_empty() {
            elsewhere.push((*object, owners));
        }
    }
    Ok(Repaired { removed: bad.into_iter().collect(), rebuilt, elsewhere, left: store.verify()? })
}

/// Removes what no root needs; with `dry_run`, only says what it would remove.
#[expect(clippy::disallowed_methods, reason = "ages are counted from now; gc is no derivation")]
pub(crate) fn gc(env: Env<'_>, options: &GcOptions, dry_run: bool) -> Result<GcPlan> {
    let store = open(env)?;
    let options = GcOptions { now: Some(SystemTime::now()), ..options.clone() };
    let plan = if dry_run { store.plan_gc(&options)? } else { store.gc(&options)? };
    for directory in &plan.gone {
        let text = format!("`{}` is gone; its generations are no longer kept", directory.display());
        env.events.emit(Event::Notice { text });
    }
    Ok(plan)
}
