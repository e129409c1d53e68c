//! `lock`: pins what the outside world says. Fills in what is missing; only `--update` changes what is there.

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::directory::LOCK;
use super::release::{self, Origin};
use super::rhcos;
use super::seed;
use super::workspace::{read_cluster, this_second};
use super::{ClusterDir, Env, OpsError, Result};
use crate::base::fs;
use crate::base::time::rfc3339;
use crate::openshift::config::{Cluster, Release};
use crate::openshift::lock::{Artifact, Lock, LockedRelease, Renewed, Rhcos};

/// What `lock` is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct LockRequest {
    /// `epoch`, `epoch=TIME`, `release`, `release=REFERENCE` or `rhcos`: to be changed although it is there.
    pub update: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Locked {
    pub moved: Vec<Moved>,
    /// Whether the seed was made.
    pub seed_made: bool,
}

/// One field of the lock that changed.
#[derive(Debug, Serialize)]
pub(crate) struct Moved {
    pub field: String,
    /// Before; none if it was missing.
    pub from: Option<String>,
    /// After; none if it is gone.
    pub to: Option<String>,
}

/// A field to change, and to what; without a value, to what the outside says now.
enum Update {
    Epoch(OffsetDateTime),
    Release(Option<Release>),
    Rhcos,
}

pub(crate) fn lock(env: Env<'_>, request: &LockRequest) -> Result<Locked> {
    let directory = ClusterDir::open(env.directory)?;
    let updates = request.update.iter().map(|update| parse_update(update)).collect::<Result<Vec<_>>>()?;
    let cluster = read_cluster(&directory)?;
    let path = directory.file(LOCK);
    let before = match fs::optional(fs::read_text(&path))? {
        Some(text) => Some(Lock::parse(LOCK, &text)?),
        None => None,
    };
    let mut after = before.clone().unwrap_or_else(|| Lock::new(this_second()));
    let wants_rhcos = updates.iter().any(|update| matches!(update, Update::Rhcos));
    for update in updates {
        match update {
            Update::Epoch(epoch) => after.epoch = epoch,
            Update::Release(release) => {
                let release = release.unwrap_or_else(|| cluster.release.clone());
                after.release = Some(pin(env, &directory, &cluster, release)?);
            }
            Update::Rhcos => {}
        }
    }
    let release = match after.release.take() {
        Some(release) => release,
        None => pin(env, &directory, &cluster, cluster.release.clone())?,
    };
    let moved_on = before.as_ref().and_then(|before| before.release.as_ref()) != Some(&release);
    if moved_on || wants_rhcos || after.rhcos == Rhcos::default() {
        after.rhcos = rhcos::pin(env, &release)?;
    }
    after.release = Some(release);
    if before.as_ref() != Some(&after) {
        fs::replace(&path, after.encode().as_bytes(), 0o644)?;
    }
    let seed_made = !seed::is_there(directory.path())?;
    if seed_made {
        seed::make(directory.path())?;
    }
    Ok(Locked { moved: moved(before.as_ref(), &after), seed_made })
}

/// A lock for a directory that has none.
pub(super) fn first(env: Env<'_>, directory: &ClusterDir, cluster: &Cluster) -> Result<Lock> {
    let release = pin(env, directory, cluster, cluster.release.clone())?;
    let rhcos = rhcos::pin(env, &release)?;
    Ok(Lock { release: Some(release), rhcos, ..Lock::new(this_second()) })
}

fn pin(env: Env<'_>, directory: &ClusterDir, cluster: &Cluster, release: Release) -> Result<LockedRelease> {
    Origin::new(env, directory.path(), cluster, release).pin(cluster)
}

pub(super) fn moved(before: Option<&Lock>, after: &Lock) -> Vec<Moved> {
    fn fields(lock: &Lock) -> Vec<(String, String)> {
        let mut fields = vec![("epoch".to_owned(), rfc3339(lock.epoch))];
        if let Some(LockedRelease { asked: _, reference, image, version, architecture }) = &lock.release {
            fields.push(("release.reference".to_owned(), reference.clone()));
            fields.push(("release.version".to_owned(), version.clone()));
            fields.push(("release.image".to_owned(), image.clone()));
            fields.push(("release.architecture".to_owned(), architecture.clone()));
        }
        for (field, artifact) in [("rhcos.iso", &lock.rhcos.iso), ("rhcos.qcow2", &lock.rhcos.qcow2)] {
            if let Some(Artifact { location, sha256 }) = artifact {
                fields.push((field.to_owned(), format!("{location} sha256:{sha256}")));
            }
        }
        for (name, Renewed { epoch, generation }) in &lock.certificates {
            let epoch = epoch.map(|epoch| ("epoch", rfc3339(epoch)));
            let generation = generation.map(|generation| ("generation", generation.to_string()));
            let own = epoch.into_iter().chain(generation);
            fields.extend(own.map(|(field, value)| (format!("certificates.{name}.{field}"), value)));
        }
        fields
    }
    let old = before.map(fields).unwrap_or_default();
    let new = fields(after);
    let find = |list: &[(String, String)], field: &str| {
        list.iter().find(|(known, _)| known == field).map(|(_, value)| value.clone())
    };
    let gone = old.iter().filter(|(field, _)| find(&new, field).is_none());
    let names = new.iter().filter(|field| !old.contains(field)).chain(gone).map(|(field, _)| field);
    names
        .map(|field| Moved { field: field.clone(), from: find(&old, field), to: find(&new, field) })
        .collect()
}

fn parse_update(update: &str) -> Result<Update> {
    let (field, value) = update.split_once('=').map_or((update, None), |(field, value)| (field, Some(value)));
    let usage =
        |message: String, advice: &str| Err(OpsError::Usage { message, advice: Some(advice.to_owned()) });
    match (field, value) {
        ("epoch", None) => Ok(Update::Epoch(this_second())),
        ("epoch", Some(value)) => match OffsetDateTime::parse(value, &Rfc3339) {
            Ok(time) => {
                let time = time.replace_nanosecond(0).unwrap_or(time);
                Ok(Update::Epoch(time.to_offset(time::UtcOffset::UTC)))
            }
            Err(_) => usage(format!("`{update}` does not give a time"), "write epoch=2026-11-16T00:00:00Z"),
        },
        ("release", value) => Ok(Update::Release(value.map(release::parse).transpose()?)),
        ("rhcos", None) => Ok(Update::Rhcos),
        _ => usage(format!("`{field}` is not in the lock"), "the lock has `epoch`, `release` and `rhcos`"),
    }
}
