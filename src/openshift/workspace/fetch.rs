//! Downloads the pinned images of the node OS into the store: `lock --fetch`, and `realize` with a yes.
//!
//! That machines use a download is a fact of the lock ([`Artifact::fetch`]), so that what is built does not depend on which
//! machine has the file.

use std::collections::BTreeSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ClusterDir, Env, LOCK, Result, Workspace, WorkspaceError, access, lock, open_store_if_there, store,
};
use crate::base::fs;
use crate::engine::builders::{Files, Location};
use crate::engine::download::{self, Downloader, Wanted};
use crate::engine::registry::{Access, Remote, Sha256};
use crate::engine::store::{Session, Store};
use crate::openshift::config::{Cluster, Machines};
use crate::openshift::lock::{Artifact, Lock, Rhcos};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BootImage {
    Iso,
    Qcow2,
    Kernel,
    Initramfs,
    Rootfs,
}

impl BootImage {
    pub(crate) const ALL: [Self; 5] = [Self::Iso, Self::Qcow2, Self::Kernel, Self::Initramfs, Self::Rootfs];
    /// What machines that boot from the network need, all of it.
    pub(crate) const PXE: [Self; 3] = [Self::Kernel, Self::Initramfs, Self::Rootfs];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Iso => "iso",
            Self::Qcow2 => "qcow2",
            Self::Kernel => "kernel",
            Self::Initramfs => "initramfs",
            Self::Rootfs => "rootfs",
        }
    }

    fn of(self, rhcos: &Rhcos) -> Option<&Artifact> {
        match self {
            Self::Iso => rhcos.iso.as_ref(),
            Self::Qcow2 => rhcos.qcow2.as_ref(),
            Self::Kernel => rhcos.kernel.as_ref(),
            Self::Initramfs => rhcos.initramfs.as_ref(),
            Self::Rootfs => rhcos.rootfs.as_ref(),
        }
    }

    fn of_mut(self, rhcos: &mut Rhcos) -> Option<&mut Artifact> {
        match self {
            Self::Iso => rhcos.iso.as_mut(),
            Self::Qcow2 => rhcos.qcow2.as_mut(),
            Self::Kernel => rhcos.kernel.as_mut(),
            Self::Initramfs => rhcos.initramfs.as_mut(),
            Self::Rootfs => rhcos.rootfs.as_mut(),
        }
    }
}

/// An image that is on this machine now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FetchedImage {
    pub image: BootImage,
    pub path: PathBuf,
    /// Of this file.
    pub sha256: String,
    pub bytes: u64,
    /// Whether it was there already.
    pub cached: bool,
}

/// What would be downloaded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct PlannedDownload {
    pub image: BootImage,
    pub url: String,
    /// None if the server does not say.
    pub bytes: Option<u64>,
}

/// Downloads pinned images, and notes in the lock that machines use them.
pub(crate) fn fetch(env: Env<'_>, images: &[BootImage]) -> Result<Vec<FetchedImage>> {
    let directory = env.cluster_dir()?;
    let cluster = super::read_cluster(&directory)?;
    let mut lock = lock::parsed(&directory)?.unwrap_or_else(|| Lock::new(super::this_second()));
    let before = lock.clone();
    let store = store::open_or_create(env.store, directory.path())?;
    for image in images {
        let pinned = image.of_mut(&mut lock.rhcos);
        pinned.ok_or(WorkspaceError::NoBootImage { image: *image })?.ask();
    }
    // First: gc keeps what is begun.
    let session = Session::open(&store, None)?;
    store.roots_of(directory.home()).keep_downloads(&session, &wanted_downloads(&lock.rhcos))?;
    let remote = remote(env, &cluster)?;
    let downloader = Downloader { store: &store, remote: &remote, events: env.events, cancel: env.cancel };
    let mut fetched = Vec::new();
    for image in images {
        let Some(artifact) = image.of_mut(&mut lock.rhcos) else { continue };
        if let Some(path) = artifact.path() {
            let path = directory.path().join(path);
            let (sha256, bytes) = (artifact.sha256.clone(), fs::metadata(&fs::canonical(&path)?)?.len());
            fetched.push(FetchedImage { image: *image, path, sha256, bytes, cached: true });
            continue;
        }
        let done = downloader.fetch(&wanted(&cluster, artifact)?)?;
        if done.sha256.hex() != artifact.sha256 {
            artifact.uncompressed = Some(done.sha256.hex());
        }
        let (path, sha256) = (done.path, done.sha256.hex());
        fetched.push(FetchedImage { image: *image, path, sha256, bytes: done.bytes, cached: done.cached });
    }
    store.roots_of(directory.home()).keep_downloads(&session, &wanted_downloads(&lock.rhcos))?;
    if lock != before {
        fs::replace(&directory.file(LOCK), lock.encode().as_bytes(), 0o644)?;
    }
    Ok(fetched)
}

impl Artifact {
    /// Notes that machines use this download; the user's own file is used anyway.
    fn ask(&mut self) {
        self.fetch = self.path().is_none();
    }
}

fn remote(env: Env<'_>, cluster: &Cluster) -> Result<Remote> {
    Ok(Remote::new(Access { pull_secret: None, ..access(env, cluster) })?)
}

fn digest(hex: &str) -> Result<Sha256> {
    format!("sha256:{hex}").parse().map_err(|_| WorkspaceError::Digest { text: hex.to_owned() })
}

/// The download of an artifact: from the user's mirror, else from where the release says.
fn wanted(cluster: &Cluster, artifact: &Artifact) -> Result<Wanted> {
    Ok(Wanted {
        name: artifact.file_name().to_owned(),
        url: url(cluster, artifact),
        sha256: digest(&artifact.sha256)?,
        unpacked: artifact.uncompressed.as_deref().map(digest).transpose()?,
    })
}

fn url(cluster: &Cluster, artifact: &Artifact) -> String {
    match &cluster.rhcos.mirror {
        Some(mirror) => format!("{}/{}", mirror.trim_end_matches('/'), artifact.file_name()),
        None => artifact.location.clone(),
    }
}

/// Everything that gc keeps for this lock: downloads, begun or complete, and what was packed in them.
pub(super) fn wanted_downloads(rhcos: &Rhcos) -> BTreeSet<Sha256> {
    let pinned = rhcos.images().into_iter().filter_map(|(_, image)| image.as_ref());
    let digests = pinned
        .filter(|artifact| artifact.fetch)
        .flat_map(|artifact| std::iter::once(&artifact.sha256).chain(&artifact.uncompressed));
    digests.filter_map(|hex| digest(hex).ok()).collect()
}

/// Where a pinned image is.
fn place(directory: &ClusterDir, store: Option<&Store>, artifact: &Artifact) -> Location {
    if let Some(path) = artifact.path() {
        return Location::Here(directory.path().join(path));
    }
    let there = digest(artifact.boots()).ok().zip(store);
    match there.and_then(|(sha256, store)| store.download(&sha256).ok().flatten()) {
        Some(path) => Location::Fetched(path),
        None => Location::Elsewhere(artifact.location.clone()),
    }
}

/// The images of the node OS, at the locations in the lock or in the store.
pub(super) fn files(env: Env<'_>, directory: &ClusterDir, rhcos: &Rhcos) -> Files {
    // A store that cannot be used is reported by those who use it.
    let store = open_store_if_there(env.store, directory.path()).ok().flatten();
    let pinned = rhcos.images().into_iter().filter_map(|(_, image)| image.as_ref());
    let located =
        pinned.map(|artifact| (artifact.boots().to_owned(), place(directory, store.as_ref(), artifact)));
    Files::new("rhcos", located)
}

impl Workspace {
    /// Makes gc keep the downloads that this lock names.
    pub(crate) fn keep_downloads(&self, session: &Session) -> Result<()> {
        Ok(self.roots(session.store()).keep_downloads(session, &wanted_downloads(&self.rhcos))?)
    }

    /// The sha256 of the image, if machines use it, here or not.
    pub(crate) fn used_image(&self, image: BootImage) -> Option<&str> {
        image.of(&self.rhcos).filter(|artifact| artifact.is_used()).map(Artifact::boots)
    }

    /// The image that machines use, as a file of this machine. A file of the user's may be missing.
    pub(crate) fn boot_image(&self, image: BootImage) -> Option<PathBuf> {
        match self.files.location(self.used_image(image)?)? {
            Location::Here(path) | Location::Fetched(path) => Some(path.clone()),
            Location::Elsewhere(_) => None,
        }
    }

    /// The image to download so that machines can boot: what the lock says, else the QEMU image, which needs no
    /// installation. None if the lock pins nothing that can be downloaded.
    pub(crate) fn missing_image(&self) -> Option<BootImage> {
        let remote = |image: &BootImage| image.of(&self.rhcos).is_some_and(|one| one.path().is_none());
        let chosen = |image: &BootImage| self.used_image(*image).is_some();
        let all: &[BootImage] = match self.cluster.machines {
            Machines::Libvirt => &[BootImage::Qcow2, BootImage::Iso],
            Machines::External => &[BootImage::Iso],
        };
        match all.iter().find(|image| chosen(image)) {
            Some(chosen) => Some(*chosen).filter(|image| remote(image) && self.boot_image(*image).is_none()),
            None => all.iter().copied().find(remote),
        }
    }

    /// Where an image would come from, and how large it is, if the server says so soon.
    pub(crate) fn planned_download(&self, env: Env<'_>, image: BootImage) -> Result<Option<PlannedDownload>> {
        let Some(artifact) = image.of(&self.rhcos) else { return Ok(None) };
        let url = url(&self.cluster, artifact);
        let bytes = download::size_of(&remote(env, &self.cluster)?, &url);
        Ok(Some(PlannedDownload { image, url, bytes }))
    }
}
