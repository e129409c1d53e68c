//! The release: where it comes from, what it is (`release info`), and copies of it (`release mirror`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::workspace::read_cluster;
use super::{Env, OpsError, Result, Workspace};
use crate::base::event::Event;
use crate::base::fs;
use crate::engine::exec::{self, Options};
use crate::engine::registry::{
    self, Access, Cached, ImageName, Manifest, MirrorRule, Opened, Platforms, Reference, RegistryError,
    Sha256, Target, copy_image,
};
use crate::engine::store::Object;
use crate::openshift::config::{Cluster, Release, SourcePolicy};
use crate::openshift::lock::LockedRelease;
use crate::openshift::release;

/// Says that an image is a release, and of which version.
const RELEASE_LABEL: &str = "io.openshift.release";

/// No configuration of an image is larger.
const CONFIG_LIMIT: u64 = 8 << 20;

/// Where a release comes from, and how to get there.
pub(super) struct Origin {
    release: Release,
    directory: PathBuf,
    access: Access,
    /// Where downloaded blobs are kept; none before there is a store.
    blobs: Option<PathBuf>,
}

/// What the configuration of a release image says.
#[derive(Debug, Deserialize)]
struct ImageConfig {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    created: Option<String>,
    #[serde(default)]
    config: ImageSettings,
}

#[derive(Debug, Default, Deserialize)]
struct ImageSettings {
    #[serde(rename = "Labels", default)]
    labels: Option<std::collections::BTreeMap<String, String>>,
}

/// A release reference, or why it is none.
pub(super) fn parse(reference: &str) -> Result<Release> {
    reference.parse().map_err(|error: crate::openshift::config::ReleaseError| OpsError::Usage {
        message: error.to_string(),
        advice: Some(
            "write demo:4.18, registry/repository:tag, registry/repository@sha256:…, or oci:DIR:TAG".into(),
        ),
    })
}

/// The access that the cluster's files give.
fn access(env: Env<'_>, cluster: &Cluster) -> Access {
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
        ..Access::default()
    }
}

impl Origin {
    /// What a reference names, with the access that the cluster's files give. Nothing is asked yet.
    pub(super) fn new(env: Env<'_>, directory: &Path, cluster: &Cluster, release: Release) -> Self {
        Self {
            release,
            directory: directory.to_owned(),
            access: access(env, cluster),
            blobs: super::workspace::open(env.store, directory).ok().map(|store| store.blobs()),
        }
    }

    /// Opens it. What comes over a network is kept, so that releases that share layers download them once.
    fn open(&self) -> registry::Result<Opened> {
        let opened = release::open(&self.release, &self.directory, self.access.clone())?;
        match (&self.release, &self.blobs) {
            (Release::Registry { .. }, Some(blobs)) => {
                Ok(Opened { images: Arc::new(Cached::new(blobs.clone(), opened.images)?), name: opened.name })
            }
            _ => Ok(opened),
        }
    }

    /// Opens it for a build: a demo release of another tinderbox is refused with a word about how to go on.
    pub(super) fn open_pinned(&self, pinned: &str) -> registry::Result<Opened> {
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

    /// What the release is now, by digest.
    pub(super) fn pin(&self, cluster: &Cluster) -> Result<LockedRelease> {
        let architecture = cluster.architecture.as_str();
        let opened = self.open()?;
        let digest = opened.images.resolve(&opened.name)?;
        let (_, config) = read(&opened, &digest, architecture)?;
        Ok(LockedRelease {
            asked: cluster.release.to_string(),
            reference: self.release.to_string(),
            image: opened.name.at(digest).to_string(),
            version: config.config.labels.unwrap_or_default().remove(RELEASE_LABEL).unwrap_or_default(),
            architecture: architecture.to_owned(),
        })
    }
}

/// The release image's manifest and configuration; an error if it is not a release for this architecture.
fn read(opened: &Opened, digest: &Sha256, architecture: &str) -> Result<(Manifest, ImageConfig)> {
    let Opened { images, name } = opened;
    let manifest = registry::image(images.as_ref(), name, digest, architecture)?;
    let malformed = |problem: String| RegistryError::Malformed { image: name.to_string(), problem };
    let mut bytes = Vec::new();
    let mut blob = images.blob(name, &manifest.config)?.take(CONFIG_LIMIT);
    blob.read_to_end(&mut bytes).map_err(|error| {
        let unreadable = |error| malformed(format!("its configuration cannot be read: {error}"));
        RegistryError::from_io(error).unwrap_or_else(unreadable)
    })?;
    let config: ImageConfig = serde_json::from_slice(&bytes)
        .map_err(|error| malformed(format!("its configuration is not JSON: {error}")))?;
    if !config.architecture.is_empty() && config.architecture != architecture {
        let (image, wanted) = (name.to_string(), architecture.to_owned());
        let found = vec![format!("linux/{}", config.architecture)];
        return Err(RegistryError::Architecture { image, wanted, found }.into());
    }
    let labels = config.config.labels.as_ref();
    if labels.and_then(|labels| labels.get(RELEASE_LABEL)).is_none_or(String::is_empty) {
        return Err(malformed(format!("it is not a release image: it has no label {RELEASE_LABEL}")).into());
    }
    Ok((manifest, config))
}

/// What a release is.
#[derive(Debug, Serialize)]
pub(crate) struct Info {
    /// What was asked for.
    pub reference: String,
    /// The image by digest.
    pub image: String,
    /// The version that it says it is.
    pub version: String,
    /// Whose images of it are used.
    pub architecture: String,
    /// When it was made, as it says.
    pub created: Option<String>,
    /// Layers of the release image.
    pub layers: usize,
    /// Bytes of these layers, compressed.
    pub size: u64,
    /// Manifests of the payload.
    pub manifests: usize,
    /// CRDs that apply to this cluster.
    pub crds: usize,
    /// Components and their images.
    pub components: BTreeMap<String, String>,
}

/// The pinned release, or the one that a reference names now.
pub(super) fn named(env: Env<'_>, reference: Option<&str>) -> Result<LockedRelease> {
    let directory = super::ClusterDir::open(env.directory)?;
    let cluster = read_cluster(&directory)?;
    let pinned = super::workspace::pinned(&directory)?;
    match (reference, pinned) {
        (None, Some(pinned)) => Ok(pinned),
        // What is pinned is not asked for again: a tag may have moved.
        (Some(reference), Some(pinned)) if pinned.reference == reference => Ok(pinned),
        (reference, _) => {
            let release = reference.map_or_else(|| Ok(cluster.release.clone()), parse)?;
            Origin::new(env, directory.path(), &cluster, release).pin(&cluster)
        }
    }
}

/// Looks into a release; without a reference, into the pinned one.
pub(crate) fn info(env: Env<'_>, reference: Option<&str>) -> Result<Info> {
    let release = named(env, reference)?;
    let workspace = Workspace::load_release(env, &release)?;
    let (manifest, config) = read(workspace.opened()?, &digest_of(&release)?, &release.architecture)?;
    let session = workspace.session(env)?;
    let context = workspace.context(env, &session);
    let targets =
        workspace.select(&["release/payload".into(), "release/images".into(), "release/crds".into()])?;
    let outcome = exec::build(context, &targets, Options { jobs: 2, keep_going: false })?;
    if let Some((_, error)) = outcome.failed.into_iter().next() {
        return Err(OpsError::Failed(error));
    }
    let object = |name: &str| -> Result<Object> {
        let done = workspace.graph.find(name).and_then(|at| outcome.done.get(&at));
        let done = done.ok_or_else(|| OpsError::NotBuilt { target: name.to_owned() })?;
        Ok(session.store().object(done.output.object)?)
    };
    let images = object("release/images")?;
    let path = images.path.join("images.json");
    let components = serde_json::from_str(&fs::read_text(&path)?)
        .map_err(|source| crate::engine::store::StoreError::Unreadable { path, source })?;
    Ok(Info {
        layers: manifest.layers.len(),
        size: manifest.layers.iter().map(|layer| layer.size).sum(),
        created: config.created,
        manifests: object("release/payload")?.listing.leaves("manifests").count(),
        crds: object("release/crds")?.listing.leaves("").count(),
        components,
        reference: release.reference,
        image: release.image,
        version: release.version,
        architecture: release.architecture,
    })
}

fn digest_of(release: &LockedRelease) -> Result<Sha256> {
    let digest = release.image.split_once('@').map_or("", |(_, digest)| digest);
    digest.parse().map_err(|error: registry::NameError| OpsError::Usage {
        message: format!("cluster.lock: {error}"),
        advice: Some("`tinderbox lock --update release` pins it anew".into()),
    })
}

/// What a copy did.
#[derive(Debug, Serialize)]
pub(crate) struct Mirrored {
    /// Where the release is now.
    pub destination: String,
    /// Images that are there, by component.
    pub images: Vec<String>,
    /// Blobs that were sent.
    pub blobs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blobs that were there already.
    pub skipped: u64,
    /// What install-config needs to build from the copy alone; none for a layout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_digest_sources: Vec<(String, String)>,
}

/// Copies a release to a registry or a layout: the images that this cluster's build reads, or all.
pub(crate) fn mirror(
    env: Env<'_>,
    reference: Option<&str>,
    destination: &str,
    all: bool,
) -> Result<Mirrored> {
    let release = named(env, reference)?;
    let workspace = Workspace::load_release(env, &release)?;
    let info = info(env, Some(&release.reference))?;
    let opened = workspace.opened()?;
    let needed = needed(&workspace);
    let (target, to) = destination_of(env, &workspace, destination, &release)?;
    let mut done = Mirrored {
        destination: to.to_string(),
        images: Vec::new(),
        blobs: 0,
        bytes: 0,
        skipped: 0,
        image_digest_sources: Vec::new(),
    };
    let release_digest = digest_of(&release)?;
    let mut jobs = vec![("release".to_owned(), opened.name.at(release_digest), to.clone())];
    for (component, spec) in
        info.components.iter().filter(|(component, _)| all || needed.contains(component.as_str()))
    {
        let name: ImageName = spec.parse().map_err(|error: registry::NameError| OpsError::Usage {
            message: error.to_string(),
            advice: None,
        })?;
        if to.registry != registry::LAYOUT {
            let pair = (
                format!("{}/{}", name.registry, name.repository),
                format!("{}/{}", to.registry, to.repository),
            );
            if !done.image_digest_sources.contains(&pair) {
                done.image_digest_sources.push(pair);
            }
        }
        let Reference::Digest(digest) = name.reference else { continue };
        jobs.push((component.clone(), name, to.at(digest)));
    }
    for (component, from, to) in jobs {
        let Reference::Digest(digest) = from.reference else { continue };
        env.events.emit(Event::Started { name: component.clone(), builder: "mirror".into() });
        let platforms = Platforms::Only(&release.architecture);
        let copied =
            copy_image(opened.images.as_ref(), target.as_ref(), &from, &to, &digest, platforms, &mut |_| {})?;
        env.events.emit(Event::Built {
            name: component.clone(),
            object: digest.to_string(),
            milliseconds: 0,
        });
        done.blobs += copied.blobs;
        done.bytes += copied.bytes;
        done.skipped += copied.skipped;
        done.images.push(component);
    }
    Ok(done)
}

/// Components whose files the build of `cluster` reads.
fn needed(workspace: &Workspace) -> BTreeSet<&str> {
    let nodes = workspace.graph.nodes();
    let closure = workspace.graph.closure(&workspace.graph.select("cluster"));
    closure
        .iter()
        .filter(|at| nodes[**at].builder.0 == "image")
        .flat_map(|at| nodes[*at].inputs.values())
        .filter(|edge| edge.from == "release/images")
        .filter_map(|edge| edge.path.as_deref()?.strip_prefix("components/"))
        .collect()
}

/// The place to copy to, and the release's name there.
fn destination_of(
    env: Env<'_>,
    workspace: &Workspace,
    destination: &str,
    release: &LockedRelease,
) -> Result<(Box<dyn Target>, ImageName)> {
    if let Some(place) = destination.strip_prefix("oci:") {
        let (path, tag) = place.rsplit_once(':').unwrap_or((place, &release.version));
        // Relative to the cluster directory, as `release: oci:DIR` is.
        let target = registry::Directory::create(&workspace.directory.path().join(path))?;
        let name = ImageName {
            registry: registry::LAYOUT.to_owned(),
            repository: path.to_owned(),
            reference: Reference::Tag(tag.to_owned()),
        };
        return Ok((Box::new(target), name));
    }
    let tagged = match destination.rsplit_once('/').is_some_and(|(_, leaf)| leaf.contains(':')) {
        true => destination.to_owned(),
        false => format!("{destination}:{}", release.version),
    };
    let name: ImageName = tagged.parse().map_err(|error: registry::NameError| OpsError::Usage {
        message: error.to_string(),
        advice: Some("write oci:DIR, or registry/repository".into()),
    })?;
    Ok((Box::new(registry::Remote::new(access(env, &workspace.cluster))?), name))
}
