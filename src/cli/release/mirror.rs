//! `release mirror`: copies a release, so that a build needs no other access.

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde::Serialize;

use super::digest_of;
use super::info::info;
use crate::base::event::Event;
use crate::base::fs;
use crate::cli::output::{line, size};
use crate::cli::{Error, Printer, Result};
use crate::engine::registry::{self, ImageName, Platforms, Reference, Target, copy_image};
use crate::openshift::lock::LockedRelease;
use crate::openshift::workspace::{Env, Workspace, access, release_named};

/// Copy a release to a registry or a layout; the copy builds with no other access
#[derive(Debug, clap::Args)]
#[command(
    allow_missing_positional = true,
    after_help = "Examples:
  tinderbox release mirror oci:mirror                     the pinned release, what a build needs of it
  tinderbox release mirror --all demo:4.19 registry.example.com:5000/ocp/release"
)]
pub(crate) struct Args {
    /// The release; default: the pinned one
    reference: Option<String>,
    /// Where to: `oci:DIR[:TAG]` or `registry/repository[:tag]`
    #[arg(required = true)]
    destination: String,
    /// All components, not only those that this cluster's build reads
    #[arg(long)]
    all: bool,
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = mirror(env, self.reference.as_deref(), &self.destination, self.all)?;
        Ok(printer.answer(&done, || show(&done)))
    }
}

fn show(done: &Mirrored) {
    line(format!("{} images at {}", done.images.len(), done.destination));
    line(format!("{} blobs sent ({}), {} already there", done.blobs, size(done.bytes), done.skipped));
    if !done.image_digest_sources.is_empty() {
        line("To build from the copy alone, put into install-config.yaml:\nimageDigestSources:");
        for (source, mirror) in &done.image_digest_sources {
            line(format!("- source: {source}\n  mirrors: [{mirror}]"));
        }
    }
}

#[derive(Debug, Serialize)]
struct Mirrored {
    destination: String,
    /// By component.
    images: Vec<String>,
    blobs: u64,
    bytes: u64,
    /// Blobs that the target already had.
    skipped: u64,
    /// What install-config needs to build from the copy; empty for a layout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    image_digest_sources: Vec<(String, String)>,
}

/// Copies a release to a registry or a layout: the images that this cluster's build reads, or all.
fn mirror(env: Env<'_>, reference: Option<&str>, destination: &str, all: bool) -> Result<Mirrored> {
    let release = release_named(env, reference)?;
    let workspace = Workspace::load_release(env, &release)?;
    let info = info(env, Some(&release.reference))?;
    let opened = workspace.opened()?;
    let mut needed = needed(&workspace);
    let streams = os_images(env, &workspace)?;
    needed.extend(
        info.components.iter().filter(|(_, spec)| streams.contains(*spec)).map(|(name, _)| name.as_str()),
    );
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
    // A layout keeps the repository that nodes pull the release from.
    let named = match (&to.reference, release.image.parse::<ImageName>()) {
        (Reference::Tag(_), Ok(name)) if to.registry == registry::LAYOUT => {
            ImageName { reference: to.reference.clone(), ..name }
        }
        _ => to.clone(),
    };
    let mut jobs = vec![("release".to_owned(), opened.name.at(release_digest), named)];
    for (component, spec) in
        info.components.iter().filter(|(component, _)| all || needed.contains(component.as_str()))
    {
        let name: ImageName = spec.parse().map_err(|error: registry::NameError| Error::Usage {
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

/// The OS images that the build asks about, by pull spec; none unless the release's gates make it ask.
fn os_images(env: Env<'_>, workspace: &Workspace) -> Result<Vec<String>> {
    let session = workspace.session(env)?;
    let at = workspace.find(OS_IMAGES)?;
    let outcome = workspace.build(env, &session, &[at])?;
    let Some(done) = outcome.done.get(&at) else { return Ok(Vec::new()) };
    let file = session.store().object(done.output.object)?.path.join("images");
    let text = fs::optional(fs::read_text(&file))?.unwrap_or_default();
    Ok(text.lines().map(str::to_owned).collect())
}

/// The derivation that asks registries about OS images.
const OS_IMAGES: &str = "release/os-images";

/// The target, and the release's name there.
fn destination_of(
    env: Env<'_>,
    workspace: &Workspace,
    destination: &str,
    release: &LockedRelease,
) -> Result<(Box<dyn Target>, ImageName)> {
    if let Some(place) = destination.strip_prefix("oci:") {
        let (path, tag) = place.rsplit_once(':').unwrap_or((place, &release.version));
        // Relative to the cluster directory, like `release: oci:DIR`.
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
    let name: ImageName = tagged.parse().map_err(|error: registry::NameError| {
        Error::usage(error.to_string(), "write oci:DIR, or registry/repository")
    })?;
    Ok((Box::new(registry::Remote::new(access(env, &workspace.cluster))?), name))
}
