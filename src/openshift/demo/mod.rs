//! The demo release: one of every minor version, assembled in memory from this project's own files, so that everything
//! works without a network, a pull secret or root. Real shapes, small content; it declares itself a demo wherever it is shown.
//!
//! ```text
//! files/common, files/4.19-, files/4.19      of all versions, from 4.19 on, of 4.19; a more specific file overrides others
//! ├── release/                       the release image's own base layer: the cluster-version operator's manifests
//! ├── payload/                       manifests that only the payload contains
//! ├── cluster-config-api/            that image; the payload contains its manifests too
//! └── machine-config-operator/       that image's templates; its programs are in mco/, with scripts in the image
//! ```
//!
//! Assembly is deterministic: fixed times and owners, sorted entries, no compression. The digests depend only on these
//! files, not on compiler or machine; a test pins them.

mod files;
mod layer;
mod mco;
mod payload;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::OnceLock;

use crate::engine::registry::{
    self, Descriptor, ImageName, Images, MediaType, Reference, RegistryError, Result, Sha256, Target,
};
use layer::{Blob, Image};
pub(crate) use mco::{Call, run};

#[derive(Clone, Copy)]
pub struct Demo {
    about: &'static Version,
}

/// A version, and its images once they are needed.
struct Version {
    name: &'static str,
    content: OnceLock<Content>,
}

struct Content {
    release: Sha256,
    /// Every component, including those without content.
    components: BTreeMap<&'static str, Sha256>,
    manifests: BTreeMap<Sha256, Vec<u8>>,
    blobs: BTreeMap<Sha256, Blob>,
}

const NAMES: [&str; 7] = ["4.18", "4.19", "4.20", "4.21", "4.22", "4.23", "5.0"];

static VERSIONS: [Version; NAMES.len()] = {
    let [a, b, c, d, e, f, g] = NAMES;
    [version(a), version(b), version(c), version(d), version(e), version(f), version(g)]
};

const fn version(name: &'static str) -> Version {
    Version { name, content: OnceLock::new() }
}

/// The available versions, as in `demo:VERSION`.
pub fn versions() -> &'static [&'static str] {
    &NAMES
}

/// The demo release of this version (`4.18`), if it exists. Assembles nothing yet.
pub fn open(version: &str) -> Option<Demo> {
    VERSIONS.iter().find(|known| known.name == version).map(|about| Demo { about })
}

impl Version {
    /// The release's own name.
    fn full(&self) -> String {
        format!("{}.0-demo", self.name)
    }

    /// The one that can be updated to this one.
    fn previous(&self) -> Option<&'static Self> {
        let at = VERSIONS.iter().position(|known| known.name == self.name)?;
        VERSIONS.get(at.checked_sub(1)?)
    }

    fn content(&self) -> &Content {
        self.content.get_or_init(|| payload::assemble(self))
    }

    /// The image of a component, or of the release. The registry does not exist, by RFC 2606.
    fn image(&self, component: &str, digest: Sha256) -> ImageName {
        let repository = if component == "release" { "release" } else { "components" };
        ImageName {
            registry: "demo.invalid".to_owned(),
            repository: format!("openshift/{repository}"),
            reference: Reference::Digest(digest),
        }
    }
}

impl Demo {
    /// For example `4.18`.
    pub fn version(&self) -> &'static str {
        self.about.name
    }

    pub fn release(&self) -> (ImageName, Sha256) {
        let digest = self.content().release;
        (self.about.image("release", digest), digest)
    }

    /// Every image that has content, `release` first: what a copy of this release contains.
    pub fn images(&self) -> Vec<(String, ImageName, Sha256)> {
        let content = self.content();
        let components =
            content.components.iter().filter(|(_, digest)| content.manifests.contains_key(digest));
        std::iter::once(("release", &content.release))
            .chain(components.map(|(name, digest)| (*name, digest)))
            .map(|(name, digest)| (name.to_owned(), self.about.image(name, *digest), *digest))
            .collect()
    }

    /// Every component that the release names, with or without content.
    pub fn components(&self) -> Vec<(String, ImageName)> {
        let components = &self.content().components;
        components
            .iter()
            .map(|(name, digest)| ((*name).to_owned(), self.about.image(name, *digest)))
            .collect()
    }

    /// Copies every image that has content; tags the release with its version, components with their name.
    pub fn copy_to(&self, target: &dyn Target) -> Result<()> {
        let mut images = self.images();
        // The release refers to the others, so it comes last.
        images.rotate_left(1);
        for (component, name, digest) in images {
            let manifest = registry::image(self, &name, &digest, layer::ARCHITECTURE)?;
            for blob in std::iter::once(&manifest.config).chain(&manifest.layers) {
                if !target.has_blob(&name, blob)? {
                    target.put_blob(&name, blob, &mut self.blob(&name, blob)?)?;
                }
            }
            let tag = if component == "release" { self.about.full() } else { component };
            target.put_manifest(&name, &manifest.media_type, &manifest.bytes, Some(&tag))?;
        }
        Ok(())
    }

    fn content(&self) -> &'static Content {
        self.about.content()
    }

    fn missing(&self, image: &ImageName, digest: &Sha256, what: &str) -> RegistryError {
        let component = self.content().components.iter().find(|(_, known)| *known == digest);
        RegistryError::NotFound {
            image: image.to_string(),
            what: what.to_owned(),
            place: match component {
                Some((name, _)) => format!("the demo release has no content for this component, {name}"),
                // The demo is part of the program: another version of the program may have another demo.
                None => format!(
                    "this tinderbox has another demo release; to use it, run `tinderbox lock --update release=demo:{}`",
                    self.about.name
                ),
            },
        }
    }
}

impl Images for Demo {
    fn resolve(&self, image: &ImageName) -> Result<Sha256> {
        let content = self.content();
        match &image.reference {
            Reference::Digest(digest) => Ok(*digest),
            Reference::Tag(tag) if *tag == self.about.full() || tag == self.about.name => Ok(content.release),
            Reference::Tag(tag) => {
                content.components.get(tag.as_str()).copied().ok_or_else(|| RegistryError::NotFound {
                    image: image.to_string(),
                    what: format!("tag {tag}"),
                    place: format!("the demo release {}", self.about.full()),
                })
            }
        }
    }

    fn manifest(&self, image: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)> {
        match self.content().manifests.get(digest) {
            Some(bytes) => Ok((layer::MANIFEST.to_owned(), bytes.clone())),
            None => Err(self.missing(image, digest, &format!("manifest {digest}"))),
        }
    }

    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        match self.content().blobs.get(&blob.digest) {
            // Verified by construction: stored under the digest of these very bytes.
            Some(bytes) => Ok(Box::new(bytes.as_slice())),
            None => Err(self.missing(image, &blob.digest, &format!("blob {}", blob.digest))),
        }
    }
}

impl Content {
    fn add(&mut self, image: Image) -> Sha256 {
        self.blobs.extend(image.blobs);
        let digest = Sha256::of(&image.manifest);
        self.manifests.insert(digest, image.manifest);
        digest
    }
}
