//! The demo release: one of every minor version, assembled in memory from this project's own files, so that everything
//! works without a network, a pull secret or root. Real shapes, small content; it declares itself a demo wherever it is shown.
//!
//! ```text
//! files/common, files/4.19-, files/4.19      of all versions, from 4.19 on, of 4.19; a more specific file overrides others
//! ├── release/                       the release image's own base layer: the cluster-version operator's manifests
//! ├── payload/                       manifests that only the payload contains
//! ├── cluster-config-api/            that image; the payload contains its manifests too
//! └── machine-config-operator/       that image's templates; its programs, and that of cluster-node-tuning-operator, are in
//!                                    programs/, with scripts in the images
//! ```
//!
//! `demo:4.18` is for amd64. `demo:4.18-multi` has the same content as a manifest list for amd64 and arm64, and so have its
//! components, as in real multi-architecture releases. `demo:4.22-okd` has the names of OKD, and no image policy. The programs are text, so either runs on any machine.
//!
//! Assembly is deterministic: fixed times and owners, sorted entries, no compression. The digests depend only on these
//! files, not on compiler or machine; a test pins them.

mod files;
mod layer;
mod payload;
mod programs;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::OnceLock;

use crate::engine::registry::{
    Descriptor, ImageName, Images, Located, MediaType, Platforms, Reference, RegistryError, Result, Sha256,
    Target, copy_image, media_type_of,
};
use layer::{Blob, Layer};
pub(crate) use programs::{Call, run};

#[derive(Clone, Copy)]
pub struct Demo {
    about: &'static Version,
}

/// A version, and its images once they are needed.
struct Version {
    /// The minor version, `4.18`.
    name: &'static str,
    variant: Variant,
    content: OnceLock<Content>,
}

/// How a release is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// For amd64.
    Plain,
    /// Manifest lists for amd64 and arm64.
    Multi,
    /// OKD, for amd64.
    Okd,
}

impl Variant {
    /// After the version in a reference.
    fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Multi => "-multi",
            Self::Okd => "-okd",
        }
    }
}

struct Content {
    release: Sha256,
    /// Every component, including those without content.
    components: BTreeMap<&'static str, Sha256>,
    manifests: BTreeMap<Sha256, Vec<u8>>,
    blobs: BTreeMap<Sha256, Blob>,
}

const NAMES: [&str; 7] = ["4.18", "4.19", "4.20", "4.21", "4.22", "4.23", "5.0"];

static VERSIONS: [[Version; NAMES.len()]; 3] = [all(Variant::Plain), all(Variant::Multi), all(Variant::Okd)];

/// The versions that OKD has.
const OKD: [&str; 6] = ["4.18", "4.19", "4.20", "4.21", "4.22", "4.23"];

const fn all(variant: Variant) -> [Version; NAMES.len()] {
    const fn one(name: &'static str, variant: Variant) -> Version {
        Version { name, variant, content: OnceLock::new() }
    }
    let [a, b, c, d, e, f, g] = NAMES;
    [
        one(a, variant),
        one(b, variant),
        one(c, variant),
        one(d, variant),
        one(e, variant),
        one(f, variant),
        one(g, variant),
    ]
}

/// Why an image is not there.
pub(crate) const NO_CONTENT: &str = "the demo release has no content";

/// The available versions, as in `demo:VERSION`; each also with the suffix `-multi`, some with `-okd`.
pub fn versions() -> &'static [&'static str] {
    &NAMES
}

/// Those with the suffix `-okd`.
pub(crate) fn okd_versions() -> &'static [&'static str] {
    &OKD
}

/// The demo release of this version (`4.18`, `4.18-multi`, `4.18-okd`), if it exists. Assembles nothing yet.
pub fn open(version: &str) -> Option<Demo> {
    let exists = |known: &&Version| known.variant != Variant::Okd || OKD.contains(&known.name);
    let mut known = VERSIONS.iter().flatten().filter(exists);
    known.find(|known| known.reference() == version).map(|about| Demo { about })
}

impl Version {
    /// As in `demo:…`.
    fn reference(&self) -> String {
        format!("{}{}", self.name, self.variant.suffix())
    }

    /// Whether this is that version or a later one.
    fn is_at_least(&self, first: &str) -> bool {
        let parse = |text: &str| text.parse::<crate::base::version::Version>().ok();
        parse(self.name) >= parse(first)
    }

    /// The release's own name: that of a multi-architecture release is the same.
    fn full(&self) -> String {
        match self.variant {
            Variant::Okd => format!("{}.0-okd-scos.demo", self.name),
            Variant::Plain | Variant::Multi => format!("{}.0-demo", self.name),
        }
    }

    /// The tag of a copy, as real registries have them.
    fn tag(&self) -> String {
        let suffix = if self.variant == Variant::Multi { self.variant.suffix() } else { "" };
        format!("{}{suffix}", self.full())
    }

    /// The one that can be updated to this one.
    fn previous(&self) -> Option<&'static Self> {
        let alike = VERSIONS.iter().flatten().filter(|known| known.variant == self.variant);
        alike.take_while(|known| known.name != self.name).last()
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
            let tag = if component == "release" { self.about.tag() } else { component };
            let tagged = ImageName { reference: Reference::Tag(tag), ..name.clone() };
            copy_image(self, target, &name, &tagged, &digest, Platforms::All, &mut |_| {})?;
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
                Some((name, _)) => format!("{NO_CONTENT} for this component, {name}"),
                // The demo is part of the program: another version of the program may have another demo.
                None => format!(
                    "this tinderbox has another demo release; to use it, run `tinderbox lock --update release=demo:{}`",
                    self.about.reference()
                ),
            },
        }
    }
}

impl Images for Demo {
    fn locate(&self, image: &ImageName, _: &Sha256) -> Result<Located> {
        Ok(Located::by_its_name(image))
    }

    fn resolve(&self, image: &ImageName) -> Result<Sha256> {
        let content = self.content();
        match &image.reference {
            Reference::Digest(digest) => Ok(*digest),
            Reference::Tag(tag) if *tag == self.about.tag() || *tag == self.about.reference() => {
                Ok(content.release)
            }
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
            Some(bytes) => Ok((media_type_of(bytes), bytes.clone())),
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
    /// Adds an image of these layers, lowest first: one, or a list of one for each architecture.
    fn add(&mut self, variant: Variant, layers: &[&Layer], labels: &BTreeMap<&str, String>) -> Sha256 {
        let mut one = |architecture: &str| {
            let image = layer::image(layers, labels, architecture);
            self.blobs.extend(image.blobs);
            self.manifest(image.manifest)
        };
        match variant {
            Variant::Plain | Variant::Okd => one(layer::ARCHITECTURE).0,
            Variant::Multi => {
                let list = layer::ARCHITECTURES.map(|architecture| (architecture, one(architecture)));
                self.manifest(layer::index(&list)).0
            }
        }
    }

    /// Adds a manifest: its digest and size.
    fn manifest(&mut self, bytes: Vec<u8>) -> (Sha256, usize) {
        let added = (Sha256::of(&bytes), bytes.len());
        self.manifests.insert(added.0, bytes);
        added
    }
}
