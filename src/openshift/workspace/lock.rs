//! Reads cluster.lock, or writes it for the first time; pins releases by digest.

use std::os::unix::fs::PermissionsExt;

use super::{
    CLUSTER, ClusterDir, Env, LOCK, Missing, ReleaseSource, Result, WorkspaceError, boot_images,
    parse_release, read_cluster, signatures, this_second,
};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::secret::Seed;
use crate::base::yaml;
use crate::openshift::config::{Cluster, Release};
use crate::openshift::lock::{Artifact, Lock, LockedRelease, Signatures};

/// The existing lock, if any. Where something is to be built, it must pin the release that cluster.yaml names.
pub(super) fn existing(directory: &ClusterDir, cluster: &Cluster, missing: Missing) -> Result<Option<Lock>> {
    let Some(lock) = parsed(directory)? else { return Ok(None) };
    check(&lock, directory, cluster, missing)?;
    Ok(Some(lock))
}

/// Whether a lock pins what cluster.yaml asks for, where something is to be built.
pub(super) fn check(lock: &Lock, directory: &ClusterDir, cluster: &Cluster, missing: Missing) -> Result<()> {
    let asked = cluster.release.to_string();
    match &lock.release {
        _ if missing != Missing::Make => {}
        None => return Err(WorkspaceError::Unpinned { asked }),
        Some(release) if release.reference != asked => {
            return Err(WorkspaceError::Moved { asked, pinned: release.reference.clone() });
        }
        Some(LockedRelease { architecture, .. }) if architecture != cluster.architecture.as_str() => {
            let (asked, pinned) = (cluster.architecture.as_str(), architecture.clone());
            return Err(WorkspaceError::Architecture { asked, pinned });
        }
        Some(LockedRelease { image, .. }) => match &cluster.release_repository {
            Some(asked) if !image.starts_with(&format!("{asked}@")) => {
                return Err(WorkspaceError::Repository { asked: asked.clone(), pinned: image.clone() });
            }
            _ => {}
        },
    }
    if missing == Missing::Make {
        node_os(cluster, lock)?;
        if let Some(release) = &lock.release
            && !signatures::used_own_keys(directory, cluster, release, lock.signatures.as_ref())?
        {
            return Err(WorkspaceError::NotVerified);
        }
    }
    Ok(())
}

/// Why a build would refuse the lock as it is, though it can be read: cluster.yaml asks for something else.
pub(crate) fn lock_is_behind(directory: &ClusterDir, cluster: &Cluster) -> Result<Option<WorkspaceError>> {
    match existing(directory, cluster, Missing::Make) {
        Ok(_) => Ok(None),
        Err(
            error @ (WorkspaceError::Moved { .. }
            | WorkspaceError::Unpinned { .. }
            | WorkspaceError::Architecture { .. }
            | WorkspaceError::Repository { .. }
            | WorkspaceError::NodeOs { .. }
            | WorkspaceError::NodeOsStream { .. }
            | WorkspaceError::NotVerified),
        ) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

/// The images of the node OS that cluster.yaml names must be those that the lock pins.
fn node_os(cluster: &Cluster, lock: &Lock) -> Result<()> {
    let (own, pinned) = (&cluster.rhcos, &lock.rhcos);
    for ((field, own), (_, pinned)) in own.files().into_iter().zip(pinned.images()) {
        let local = pinned.as_ref().and_then(Artifact::path);
        if own.as_deref() != local {
            let quoted =
                |name: Option<&str>| name.map_or_else(|| "nothing".into(), |name| format!("`{name}`"));
            let named = quoted(own.as_deref());
            let pinned = quoted(pinned.as_ref().map(|pinned| pinned.location.as_str()));
            return Err(WorkspaceError::NodeOs { field, named, pinned });
        }
    }
    let of_release = own
        .files()
        .into_iter()
        .zip(pinned.images())
        .any(|((_, own), (_, pinned))| own.is_none() && pinned.is_some());
    if of_release && pinned.stream != cluster.os_image_stream {
        let stream = |stream: &Option<String>| match stream {
            Some(name) => format!("`{name}`"),
            None => "the release's default".into(),
        };
        let (wanted, pinned) = (stream(&cluster.os_image_stream), stream(&pinned.stream));
        return Err(WorkspaceError::NodeOsStream { wanted, pinned });
    }
    Ok(())
}

/// The lock of a directory that has none: written, with a notice, where something is to be built.
pub(super) fn make(
    env: Env<'_>,
    directory: &ClusterDir,
    cluster: &Cluster,
    seed: &Seed,
    missing: Missing,
) -> Result<Lock> {
    if missing != Missing::Make {
        return Ok(Lock::new(this_second()));
    }
    let lock = Lock { seed: Some(seed.fingerprint()), ..first(env, directory, cluster)? };
    fs::write_whole(&directory.file(LOCK), lock.encode().as_bytes(), 0o644)?;
    let version = lock.release.as_ref().map(|release| release.version.as_str()).unwrap_or_default();
    let text = format!("wrote {LOCK}: the epoch and release {version} are pinned; commit this file");
    env.events.emit(Event::Notice { text });
    Ok(lock)
}

/// The lock as it stands in the directory.
pub(crate) fn parsed(directory: &ClusterDir) -> Result<Option<Lock>> {
    match fs::optional(directory.read(LOCK))? {
        Some(text) => Ok(Some(Lock::parse(LOCK, &text)?)),
        None => Ok(None),
    }
}

/// A lock for a directory without one.
pub(crate) fn first(env: Env<'_>, directory: &ClusterDir, cluster: &Cluster) -> Result<Lock> {
    let release = pin_release(env, directory, cluster, cluster.release.clone())?;
    let signatures = signatures::look(env, directory, cluster, &release)?;
    for text in signatures.as_ref().map(Signatures::doubts).unwrap_or_default() {
        env.events.emit(Event::Notice { text });
    }
    let rhcos = boot_images::pin(env, &release)?;
    Ok(Lock { release: Some(release), rhcos, signatures, ..Lock::new(this_second()) })
}

/// Writes a release into cluster.yaml, which alone says what is wanted: one value changes, and no other byte.
pub(crate) fn write_release(directory: &ClusterDir, release: &Release) -> Result<()> {
    // A link stays one: what it points to is edited.
    let path = fs::canonical(&directory.file(CLUSTER))?;
    let (text, wanted) = (fs::read_text(&path)?, release.to_string());
    let Some(edited) = yaml::replace_scalar(CLUSTER, &text, "release", &wanted) else {
        return Err(WorkspaceError::Uneditable { wanted });
    };
    let mode = fs::metadata(&path)?.permissions().mode() & 0o7777;
    Ok(fs::replace(&path, edited.as_bytes(), mode)?)
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
    let directory = env.cluster_dir()?;
    let cluster = read_cluster(&directory)?;
    let lock = match env.site {
        Some(site) => Some(site.lock.clone()),
        None => parsed(&directory)?,
    };
    let pinned = lock.and_then(|lock| lock.release);
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
