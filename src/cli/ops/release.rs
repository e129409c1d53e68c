//! The release: where it comes from, what it is (`release info`), and copies of it (`release mirror`).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Env, OpsError, Result, Workspace};
use crate::base::event::Event;
use crate::base::fs;
use crate::engine::exec::{self, Options};
use crate::engine::registry::{self, ImageName, Platforms, Reference, Sha256, Target, copy_image};
use crate::engine::store::Object;
use crate::openshift::lock::LockedRelease;
use crate::openshift::workspace::{access, read_release_image, release_named};

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

/// Looks into a release; without a reference, into the pinned one.
pub(crate) fn info(env: Env<'_>, reference: Option<&str>) -> Result<Info> {
    let release = release_named(env, reference)?;
    let workspace = Workspace::load_release(env, &release)?;
    let (manifest, config) =
        read_release_image(workspace.opened()?, &digest_of(&release)?, &release.architecture)?;
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
    let release = release_named(env, reference)?;
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
