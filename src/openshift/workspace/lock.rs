//! Reads cluster.lock, or writes it for the first time; pins releases by digest.

use super::{
    ClusterDir, Env, LOCK, Missing, ReleaseSource, Result, WorkspaceError, boot_images, parse_release,
    read_cluster, this_second,
};
use crate::base::event::Event;
use crate::base::fs;
use crate::openshift::config::{Cluster, Release};
use crate::openshift::lock::{Lock, LockedRelease};

/// The lock. An existing lock is only read, and must pin the release that cluster.yaml names.
pub(super) fn read(
    env: Env<'_>,
    directory: &ClusterDir,
    cluster: &Cluster,
    missing: Missing,
) -> Result<Lock> {
    let path = directory.file(LOCK);
    let asked = cluster.release.to_string();
    if let Some(text) = fs::optional(fs::read_text(&path))? {
        let lock = Lock::parse(LOCK, &text)?;
        return match &lock.release {
            _ if missing == Missing::Imagine => Ok(lock),
            None => Err(WorkspaceError::Unpinned { asked }),
            Some(release) if release.asked != asked => {
                Err(WorkspaceError::Moved { asked, pinned: release.asked.clone() })
            }
            Some(LockedRelease { image, .. }) => match &cluster.release_repository {
                Some(asked) if !image.starts_with(&format!("{asked}@")) => {
                    Err(WorkspaceError::Repository { asked: asked.clone(), pinned: image.clone() })
                }
                _ => Ok(lock),
            },
        };
    }
    match missing {
        Missing::Imagine => Ok(Lock::new(this_second())),
        Missing::Make => {
            let lock = first(env, directory, cluster)?;
            fs::write_whole(&path, lock.encode().as_bytes(), 0o644)?;
            let version = lock.release.as_ref().map(|release| release.version.as_str()).unwrap_or_default();
            let text = format!("wrote {LOCK}: the epoch and release {version} are pinned; commit this file");
            env.events.emit(Event::Notice { text });
            Ok(lock)
        }
    }
}

/// The release that the lock pins, if any.
fn pinned(directory: &ClusterDir) -> Result<Option<LockedRelease>> {
    match fs::optional(fs::read_text(&directory.file(LOCK)))? {
        Some(text) => Ok(Lock::parse(LOCK, &text)?.release),
        None => Ok(None),
    }
}

/// A lock for a directory without one.
fn first(env: Env<'_>, directory: &ClusterDir, cluster: &Cluster) -> Result<Lock> {
    let release = pin_release(env, directory, cluster, cluster.release.clone())?;
    let rhcos = boot_images::pin(env, &release)?;
    Ok(Lock { release: Some(release), rhcos, ..Lock::new(this_second()) })
}

/// Resolves a reference to its current digest.
pub(crate) fn pin_release(
    env: Env<'_>,
    directory: &ClusterDir,
    cluster: &Cluster,
    release: Release,
) -> Result<LockedRelease> {
    ReleaseSource::new(env, directory.path(), cluster, release).pin(cluster)
}

/// The pinned release, or the current release of a reference.
pub(crate) fn release_named(env: Env<'_>, reference: Option<&str>) -> Result<LockedRelease> {
    let directory = ClusterDir::open(env.directory)?;
    let cluster = read_cluster(&directory)?;
    let pinned = pinned(&directory)?;
    match (reference, pinned) {
        (None, Some(pinned)) => Ok(pinned),
        // A pinned reference is not resolved again: a tag may have moved.
        (Some(reference), Some(pinned)) if pinned.reference == reference => Ok(pinned),
        (reference, _) => {
            let release = reference.map_or_else(|| Ok(cluster.release.clone()), parse_release)?;
            pin_release(env, &directory, &cluster, release)
        }
    }
}
