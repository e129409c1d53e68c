//! `release mirror`: copies a release, so that a build needs no other access.

use std::collections::BTreeSet;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::digest_of;
use super::info::info;
use crate::base::event::Event;
use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, line, size};
use crate::cli::{Error, Printer, Result};
use crate::engine::registry::{
    self, CopiedSignatures, ImageName, Images, Instance, Opened, Platforms, Reference, RegistryError, Sha256,
    Target, copy_image, copy_signatures, instances,
};
use crate::openshift::lock::{LockedRelease, RELEASE};
use crate::openshift::workspace::{Env, Workspace, access, release_named};

/// Copy a release and its signatures to a registry or a layout; a build needs nothing but the copy
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

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Mirrored>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = mirror(env, self.reference.as_deref(), &self.destination, self.all)?;
        Ok(printer.answer(&done, || show(&done)))
    }
}

fn show(done: &Mirrored) {
    line(format!("{} at {}", count(done.images.len(), "image"), done.destination));
    line(format!("{} blobs sent ({}), {} already there", done.blobs, size(done.bytes), done.skipped));
    line(match done.unsigned.len() {
        0 => format!("{} signatures, of every image", done.signatures),
        all if all == done.images.len() => "none of these images is signed".to_owned(),
        _ => format!("{} signatures; unsigned: {}", done.signatures, done.unsigned.join(", ")),
    });
    if !done.absent.is_empty() {
        line(format!(
            "not at the source, and missed by nodes that pull from the copy: {}",
            done.absent.join(", ")
        ));
    }
    if !done.kept.is_empty() {
        let kept = done.kept.join(", ");
        line(format!(
            "other signatures at the destination were left alone, and the release's not copied: {kept}"
        ));
    }
    if !done.image_digest_sources.is_empty() {
        line("To build from the copy alone, put into install-config.yaml:");
        line("imageDigestSources:");
        for (source, mirror) in &done.image_digest_sources {
            line(format!("- source: {source}"));
            line(format!("  mirrors: [{mirror}]"));
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Mirrored {
    destination: String,
    /// By component.
    images: Vec<String>,
    blobs: u64,
    bytes: u64,
    /// Blobs that the target already had.
    skipped: u64,
    /// Images whose signatures are at the destination now; those of a manifest list count for themselves.
    signatures: u64,
    /// Images that nobody signed, by component.
    unsigned: Vec<String>,
    /// Images that have other signatures at the destination, which were left alone.
    kept: Vec<String>,
    /// Images for nodes that the source does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    absent: Vec<String>,
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
    let images = opened.images.as_ref();
    let mut needed = unpacked(&workspace);
    let node_os = node_os(&workspace)?;
    let streams = os_images(env, &workspace)?;
    needed.extend(
        info.components.iter().filter(|(_, spec)| streams.contains(*spec)).map(|(name, _)| name.as_str()),
    );
    let (destination, to) = destination_of(env, &workspace, destination, &release)?;
    let mut done = Mirrored {
        destination: to.to_string(),
        images: Vec::new(),
        blobs: 0,
        bytes: 0,
        skipped: 0,
        signatures: 0,
        unsigned: Vec::new(),
        kept: Vec::new(),
        absent: Vec::new(),
        image_digest_sources: Vec::new(),
    };
    let mut jobs = vec![release_job(opened, &release, &to)?];
    for (component, spec) in &info.components {
        let is_needed = needed.contains(component.as_str());
        if !all && !is_needed && node_os != Some(component.as_str()) {
            continue;
        }
        let from: ImageName = spec.parse().map_err(|error: registry::NameError| Error::Usage {
            message: error.to_string(),
            advice: None,
        })?;
        if to.registry != registry::LAYOUT {
            let pair = (
                format!("{}/{}", from.registry, from.repository),
                format!("{}/{}", to.registry, to.repository),
            );
            if !done.image_digest_sources.contains(&pair) {
                done.image_digest_sources.push(pair);
            }
        }
        let Reference::Digest(digest) = from.reference else { continue };
        jobs.push(CopyJob {
            component: component.clone(),
            from,
            to: to.at(digest),
            digest,
            optional: !all && !is_needed,
        });
    }
    let platforms = Platforms::Only(&release.architecture);
    for job in jobs {
        env.events.emit(Event::Started { name: job.component.clone(), builder: "mirror".into() });
        job.run(images, &destination, platforms, &mut done)?;
        env.events.emit(Event::Built {
            executor: None,
            name: job.component,
            object: job.digest.to_string(),
            milliseconds: 0,
        });
    }
    Ok(done)
}

/// One image to copy, with its signatures.
struct CopyJob {
    component: String,
    from: ImageName,
    to: ImageName,
    digest: Sha256,
    /// Whether a source without it is good enough.
    optional: bool,
}

fn release_job(opened: &Opened, release: &LockedRelease, to: &ImageName) -> Result<CopyJob> {
    let digest = digest_of(release)?;
    // A layout keeps the repository that nodes pull the release from.
    let to = match (&to.reference, release.image.parse::<ImageName>()) {
        (Reference::Tag(_), Ok(name)) if to.registry == registry::LAYOUT => {
            ImageName { reference: to.reference.clone(), ..name }
        }
        _ => to.clone(),
    };
    let (component, from) = (RELEASE.to_owned(), opened.name.at(digest));
    Ok(CopyJob { component, from, to, digest, optional: false })
}

impl CopyJob {
    fn run(
        &self,
        images: &dyn Images,
        destination: &Destination,
        platforms: Platforms<'_>,
        done: &mut Mirrored,
    ) -> Result<()> {
        let Self { component, from, to, digest, optional } = self;
        let copied = match copy_image(images, destination.target(), from, to, digest, platforms, &mut |_| {})
        {
            Err(RegistryError::NotFound { .. }) if *optional => {
                done.absent.push(component.clone());
                return Ok(());
            }
            copied => copied?,
        };
        done.blobs += copied.blobs;
        done.bytes += copied.bytes;
        done.skipped += copied.skipped;
        done.images.push(component.clone());
        // From where it is pulled: elsewhere may be others.
        let from = images.locate(from, digest)?.name;
        let before = done.signatures;
        let mut kept = false;
        for Instance { digest, .. } in instances(images, &from, digest, platforms)? {
            match copy_signatures(images, destination.target(), destination.images(), &from, to, &digest)? {
                CopiedSignatures::There => done.signatures += 1,
                CopiedSignatures::Kept => kept = true,
                CopiedSignatures::Unsigned => {}
            }
        }
        match kept {
            true => done.kept.push(component.clone()),
            false if done.signatures == before => done.unsigned.push(component.clone()),
            false => {}
        }
        Ok(())
    }
}

/// Components of the release whose content derivations of `cluster` unpack.
fn unpacked(workspace: &Workspace) -> BTreeSet<&str> {
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

/// The node image. No build reads it, so a copy that was made for builds may lack it, but machines start from it: a bootstrap node
/// whose boot image lacks programs, and in every release a node that bootstraps itself.
fn node_os(workspace: &Workspace) -> Result<Option<&str>> {
    let overlay = workspace.knowledge.boot_images.get()?.overlay();
    let starts = workspace.cluster.is_in_place() || workspace.graph.find(overlay).is_some();
    let stream = workspace.cluster.os_image_stream.as_deref();
    let name = workspace.knowledge.components.get()?.node_os(workspace.release(), stream);
    Ok(name.filter(|_| starts))
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

/// Where a copy goes.
enum Destination {
    Registry(registry::Remote),
    Layout(registry::Directory, registry::Layout),
}

impl Destination {
    fn target(&self) -> &dyn Target {
        match self {
            Self::Registry(remote) => remote,
            Self::Layout(directory, _) => directory,
        }
    }

    /// What is there already.
    fn images(&self) -> &dyn Images {
        match self {
            Self::Registry(remote) => remote,
            Self::Layout(_, layout) => layout,
        }
    }
}

/// The destination, and the release's name there.
fn destination_of(
    env: Env<'_>,
    workspace: &Workspace,
    destination: &str,
    release: &LockedRelease,
) -> Result<(Destination, ImageName)> {
    if let Some(place) = destination.strip_prefix("oci:") {
        let (path, tag) = place.rsplit_once(':').unwrap_or((place, &release.version));
        if path.is_empty() || tag.is_empty() {
            return Err(Error::usage(
                format!("`{destination}` names no {}", if path.is_empty() { "directory" } else { "tag" }),
                "write oci:DIR or oci:DIR:TAG; `oci:.` is this directory",
            ));
        }
        // Relative to the cluster directory, like `release: oci:DIR`.
        let target = registry::Directory::create(&workspace.directory.path().join(path))?;
        let name = ImageName {
            registry: registry::LAYOUT.to_owned(),
            repository: path.to_owned(),
            reference: Reference::Tag(tag.to_owned()),
        };
        let images = target.images()?;
        return Ok((Destination::Layout(target, images), name));
    }
    let tagged = match destination.rsplit_once('/').is_some_and(|(_, leaf)| leaf.contains(':')) {
        true => destination.to_owned(),
        false => format!("{destination}:{}", release.version),
    };
    let name: ImageName = tagged.parse().map_err(|error: registry::NameError| {
        Error::usage(error.to_string(), "write oci:DIR, or registry/repository")
    })?;
    Ok((Destination::Registry(registry::Remote::new(access(env, &workspace.cluster))?), name))
}
