//! The source of a release, how to reach it, and what its image declares.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::{Env, Result};
use crate::engine::registry::{
    self, Access, Cached, Layout, Manifest, MirrorRule, Opened, RegistryError, Sha256,
};
use crate::openshift::config::{Cluster, Release, SourcePolicy};
use crate::openshift::lock::LockedRelease;
use crate::openshift::release;

/// Marks an image as a release, with its version.
const RELEASE_LABEL: &str = "io.openshift.release";

/// The source of a release, and how to reach it.
pub(crate) struct ReleaseSource {
    release: Release,
    directory: PathBuf,
    access: Access,
    /// The cache of downloaded blobs; none before there is a store.
    blobs: Option<PathBuf>,
}

/// The configuration of a release image.
#[derive(Debug, Deserialize)]
pub(crate) struct ImageConfig {
    #[serde(default)]
    pub created: Option<String>,
    #[serde(default)]
    config: ImageSettings,
}

#[derive(Debug, Default, Deserialize)]
struct ImageSettings {
    #[serde(rename = "Labels", default)]
    labels: Option<BTreeMap<String, String>>,
}

/// Parses a release reference.
pub(crate) fn parse_release(reference: &str) -> Result<Release> {
    Ok(reference.parse()?)
}

/// The registry access that the cluster's files define.
pub(crate) fn access(env: Env<'_>, cluster: &Cluster) -> Access {
    let mirrors = cluster.mirrors.iter().map(|mirror| MirrorRule {
        source: mirror.source.clone(),
        mirrors: mirror.mirrors.clone(),
        never_contact_source: mirror.policy == Some(SourcePolicy::Never),
    });
    Access {
        pull_secret: Some(cluster.pull_secret.clone()),
        ca: cluster.trust_bundle.clone(),
        mirrors: mirrors.collect(),
        proxy: env.proxy.clone(),
        offline: env.network == super::Network::Nothing,
        cancel: env.cancel.clone(),
        ..Access::default()
    }
}

impl ReleaseSource {
    /// The source of a reference, with the access that the cluster's files define. Does not contact it yet.
    pub(crate) fn new(env: Env<'_>, directory: &Path, cluster: &Cluster, release: Release) -> Self {
        Self {
            release,
            directory: directory.to_owned(),
            access: access(env, cluster),
            blobs: super::open_store(env.store, directory).ok().map(|store| store.blobs()),
        }
    }

    /// Opens it. Downloads are cached, so that releases with common layers download them once.
    fn open(&self) -> registry::Result<Opened> {
        let opened = release::open(&self.release, &self.directory, self.access.clone())?;
        match (&self.release, &self.blobs) {
            (Release::Registry { .. }, Some(blobs)) => {
                Ok(Opened { images: Arc::new(Cached::new(blobs.clone(), opened.images)?), name: opened.name })
            }
            _ => Ok(opened),
        }
    }

    /// Opens it for a build: rejects a demo release of another tinderbox, with a hint.
    pub(crate) fn open_pinned(&self, pinned: &str) -> registry::Result<Opened> {
        let opened = self.open()?;
        if let Release::Demo { version } = &self.release {
            let digest = opened.images.resolve(&opened.name)?;
            if pinned.split_once('@').is_none_or(|(_, pinned)| pinned != digest.to_string()) {
                return Err(RegistryError::Malformed {
                    image: pinned.to_owned(),
                    problem: format!(
                        "cluster.lock pins the demo release {version} of another tinderbox; \
                         `tinderbox lock --update release` pins this one's"
                    ),
                });
            }
        }
        Ok(opened)
    }

    /// Where nodes pull a release that we read from a layout: as the user says, as the layout says, or the one source of
    /// mirrors that is called like a release. The path of a layout is in no artifact, unless nobody knows better.
    fn repository(&self, cluster: &Cluster, digest: &Sha256) -> Result<Option<String>> {
        let Release::Layout { directory, .. } = &self.release else { return Ok(None) };
        if let Some(repository) = &cluster.release_repository {
            return Ok(Some(repository.clone()));
        }
        if let Some(repository) = Layout::open(&self.directory.join(directory))?.repository_of(digest)? {
            return Ok(Some(repository));
        }
        let sources: BTreeSet<&str> = cluster.mirrors.iter().map(|mirror| mirror.source.as_str()).collect();
        let mut named =
            sources.into_iter().filter(|source| source.contains('/') && source.ends_with("release"));
        Ok(named.next().filter(|_| named.next().is_none()).map(str::to_owned))
    }

    /// The current digest of the release.
    pub(crate) fn pin(&self, cluster: &Cluster) -> Result<LockedRelease> {
        let architecture = cluster.architecture.as_str();
        let opened = self.open()?;
        let digest = opened.images.resolve(&opened.name)?;
        let (_, config) = read_release_image(&opened, &digest, architecture)?;
        Ok(LockedRelease {
            reference: self.release.to_string(),
            image: match self.repository(cluster, &digest)? {
                Some(repository) => format!("{repository}@{digest}"),
                None => opened.name.at(digest).to_string(),
            },
            version: config.config.labels.unwrap_or_default().remove(RELEASE_LABEL).unwrap_or_default(),
            architecture: architecture.to_owned(),
        })
    }
}

/// An image's manifest and configuration; fails if it is not for this architecture.
pub(super) fn read_image(
    opened: &Opened,
    digest: &Sha256,
    architecture: &str,
) -> Result<(Manifest, ImageConfig)> {
    let Opened { images, name } = opened;
    let manifest = registry::image(images.as_ref(), name, digest, architecture)?;
    let malformed = |problem: String| RegistryError::Malformed { image: name.to_string(), problem };
    manifest.check_architecture(images.as_ref(), name, architecture)?;
    let config: ImageConfig = serde_json::from_slice(&manifest.read_config(images.as_ref(), name)?)
        .map_err(|error| malformed(format!("its configuration is not JSON: {error}")))?;
    Ok((manifest, config))
}

/// The release image's manifest and configuration; fails if it is not a release for this architecture.
pub(crate) fn read_release_image(
    opened: &Opened,
    digest: &Sha256,
    architecture: &str,
) -> Result<(Manifest, ImageConfig)> {
    let (manifest, config) = read_image(opened, digest, architecture)?;
    let malformed = |problem: String| RegistryError::Malformed { image: opened.name.to_string(), problem };
    let labels = config.config.labels.as_ref();
    let Some(version) = labels.and_then(|labels| labels.get(RELEASE_LABEL)).filter(|text| !text.is_empty())
    else {
        return Err(malformed(format!("it is not a release image: it has no label {RELEASE_LABEL}")).into());
    };
    // It is shown, and becomes part of names. The cluster-version operator takes no others.
    if semver::Version::parse(version).is_err() {
        let problem = format!("its version `{}` is not a version such as 4.19.3", version.escape_debug());
        return Err(malformed(problem).into());
    }
    Ok((manifest, config))
}
