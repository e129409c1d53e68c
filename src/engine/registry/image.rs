//! Image manifests.

use std::io::Read as _;

use serde::Deserialize;

use super::{ImageName, Images, RegistryError, Result, Sha256, media_types};

/// A media type, as manifests and registries write it.
pub(crate) type MediaType = String;

/// Architectures as OCI names them: `amd64`, `arm64`, `ppc64le`, `s390x`.
pub(crate) type Architecture = str;

/// Maximum size of a manifest: registries reject larger ones, and so do we before they fill the memory.
pub(super) const MANIFEST_LIMIT: u64 = 8 << 20;

/// Maximum size of an image configuration.
const CONFIG_LIMIT: u64 = 8 << 20;

/// Media types of manifests and manifest lists, Docker's and OCI's.
pub(super) const MANIFEST_TYPES: [&str; 4] = [
    media_types::IMAGE_MANIFEST_MEDIA_TYPE,
    media_types::IMAGE_MANIFEST_LIST_MEDIA_TYPE,
    media_types::OCI_IMAGE_MEDIA_TYPE,
    media_types::OCI_IMAGE_INDEX_MEDIA_TYPE,
];

/// The media type that a manifest declares, else OCI's by its shape.
pub(crate) fn media_type_of(bytes: &[u8]) -> MediaType {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Shape {
        media_type: Option<String>,
        manifests: Option<serde::de::IgnoredAny>,
    }
    let [.., manifest, index] = MANIFEST_TYPES;
    match serde_json::from_slice(bytes) {
        Ok(Shape { media_type: Some(own), .. }) => own,
        Ok(Shape { manifests: Some(_), .. }) => index.to_owned(),
        _ => manifest.to_owned(),
    }
}

/// Identifies a blob: media type, size and digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    pub media_type: MediaType,
    pub digest: Sha256,
    pub size: u64,
}

/// The manifest of one image for one platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub digest: Sha256,
    pub media_type: MediaType,
    pub bytes: Vec<u8>,
    pub config: Descriptor,
    /// Lowest first.
    pub layers: Vec<Descriptor>,
}

impl Manifest {
    /// The image's configuration, JSON.
    pub(crate) fn read_config(&self, images: &dyn Images, name: &ImageName) -> Result<Vec<u8>> {
        let malformed = |problem: String| RegistryError::Malformed { image: name.to_string(), problem };
        let mut bytes = Vec::new();
        images.blob(name, &self.config)?.take(CONFIG_LIMIT).read_to_end(&mut bytes).map_err(|error| {
            let unreadable = |error| malformed(format!("its configuration cannot be read: {error}"));
            RegistryError::from_io(error).unwrap_or_else(unreadable)
        })?;
        match Sha256::of(&bytes) == self.config.digest {
            true => Ok(bytes),
            false => Err(malformed("its configuration is not what its digest says".into())),
        }
    }

    /// Fails if the image declares another architecture. A manifest that is not in a list says nothing about it: only
    /// the configuration does.
    pub(crate) fn check_architecture(
        &self,
        images: &dyn Images,
        name: &ImageName,
        wanted: &Architecture,
    ) -> Result<()> {
        #[derive(Deserialize)]
        struct Declared {
            #[serde(default)]
            architecture: String,
        }
        let Declared { architecture } =
            serde_json::from_slice(&self.read_config(images, name)?).map_err(|error| {
                RegistryError::Malformed {
                    image: name.to_string(),
                    problem: format!("its configuration is not JSON: {error}"),
                }
            })?;
        if architecture.is_empty() || architecture == wanted {
            return Ok(());
        }
        let (image, wanted) = (name.to_string(), wanted.to_owned());
        Err(RegistryError::Architecture { image, wanted, found: vec![format!("linux/{architecture}")] })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDescriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    #[serde(default)]
    size: u64,
    platform: Option<RawPlatform>,
}

#[derive(Deserialize)]
struct RawPlatform {
    architecture: String,
    os: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    schema_version: u32,
    config: Option<RawDescriptor>,
    layers: Option<Vec<RawDescriptor>>,
    manifests: Option<Vec<RawDescriptor>>,
}

/// Maximum depth of lists in lists; real images have one list.
pub(super) const LISTS: usize = 4;

/// Maximum number of images in a list and all lists in it; real lists have a dozen.
pub(super) const IMAGES: usize = 1000;

/// Maximum number of layers; container engines stop at 127.
const LAYERS: usize = 500;

/// The image of this digest; from a manifest list, the one for linux on that architecture.
pub fn image(
    images: &dyn Images,
    name: &ImageName,
    digest: &Sha256,
    architecture: &Architecture,
) -> Result<Manifest> {
    let mut digest = *digest;
    for _ in 0..=LISTS {
        match image_or_entry(images, name, &digest, architecture)? {
            Ok(image) => return Ok(image),
            Err(entry) => digest = entry,
        }
    }
    let problem = format!("its manifest lists are nested deeper than {LISTS}");
    Err(RegistryError::Malformed { image: name.to_string(), problem })
}

/// An image, or the entry of a list that leads to it.
fn image_or_entry(
    images: &dyn Images,
    name: &ImageName,
    digest: &Sha256,
    architecture: &Architecture,
) -> Result<std::result::Result<Manifest, Sha256>> {
    let (media_type, bytes) = images.manifest(name, digest)?;
    let malformed = |problem: String| RegistryError::Malformed { image: name.to_string(), problem };
    let raw: Raw = serde_json::from_slice(&bytes)
        .map_err(|error| malformed(format!("its manifest is not JSON: {error}")))?;
    if raw.schema_version != 2 {
        return Err(malformed(format!(
            "its manifest has schema version {}; only version 2 is supported",
            raw.schema_version
        )));
    }
    if let Some(list) = raw.manifests {
        return choose(name, &list, architecture).map(Err);
    }
    let (Some(config), Some(layers)) = (raw.config, raw.layers) else {
        return Err(malformed("its manifest has no config or no layers".into()));
    };
    if layers.len() > LAYERS {
        return Err(malformed(format!("its manifest has more than {LAYERS} layers")));
    }
    let descriptor = |raw: RawDescriptor| {
        let digest = raw
            .digest
            .parse()
            .map_err(|_| malformed(format!("`{}` in its manifest is not a digest", raw.digest)))?;
        Ok(Descriptor { media_type: raw.media_type, digest, size: raw.size })
    };
    Ok(Ok(Manifest {
        digest: *digest,
        media_type,
        bytes,
        config: descriptor(config)?,
        layers: layers.into_iter().map(descriptor).collect::<Result<_>>()?,
    }))
}

/// What is wrong with a list of more than [`IMAGES`].
pub(super) fn too_many(name: &ImageName) -> RegistryError {
    let problem = format!("its manifest lists name more than {IMAGES} images");
    RegistryError::Malformed { image: name.to_string(), problem }
}

/// The entries of a manifest list, all or those for linux on one architecture; none if it is not a list.
pub(super) fn children(
    name: &ImageName,
    bytes: &[u8],
    architecture: Option<&Architecture>,
) -> Result<Option<Vec<Sha256>>> {
    let malformed = |problem: String| RegistryError::Malformed { image: name.to_string(), problem };
    let raw: Raw = serde_json::from_slice(bytes)
        .map_err(|error| malformed(format!("its manifest is not JSON: {error}")))?;
    let Some(list) = raw.manifests else { return Ok(None) };
    if let Some(architecture) = architecture {
        return Ok(Some(vec![choose(name, &list, architecture)?]));
    }
    let digest = |one: &RawDescriptor| {
        let problem = || malformed(format!("`{}` in its manifest list is not a digest", one.digest));
        one.digest.parse().map_err(|_| problem())
    };
    list.iter().map(digest).collect::<Result<_>>().map(Some)
}

fn choose(name: &ImageName, list: &[RawDescriptor], architecture: &Architecture) -> Result<Sha256> {
    let wanted = list.iter().find(|one| {
        one.platform
            .as_ref()
            .is_some_and(|platform| platform.os == "linux" && platform.architecture == architecture)
    });
    match wanted {
        Some(one) => one.digest.parse().map_err(|_| RegistryError::Malformed {
            image: name.to_string(),
            problem: format!("`{}` in its manifest list is not a digest", one.digest),
        }),
        None => Err(RegistryError::Architecture {
            image: name.to_string(),
            wanted: architecture.to_owned(),
            found: list
                .iter()
                .flat_map(|one| &one.platform)
                .map(|p| format!("{}/{}", p.os, p.architecture))
                .collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Located;
    use super::*;

    /// Every manifest is a list that leads to another.
    struct Endless;

    impl Images for Endless {
        fn locate(&self, image: &ImageName, _: &Sha256) -> Result<Located> {
            Ok(Located::by_its_name(image))
        }

        fn resolve(&self, _: &ImageName) -> Result<Sha256> {
            Ok(Sha256::of(b""))
        }

        fn manifest(&self, _: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)> {
            let next = Sha256::of(digest.to_string().as_bytes());
            let list = format!(
                r#"{{"schemaVersion":2,"manifests":[{{"digest":"{next}","platform":{{"architecture":"amd64","os":"linux"}}}}]}}"#
            );
            Ok((MANIFEST_TYPES[3].to_owned(), list.into_bytes()))
        }

        fn blob<'a>(&'a self, _: &ImageName, _: &Descriptor) -> Result<Box<dyn std::io::Read + Send + 'a>> {
            Ok(Box::new(std::io::empty()))
        }
    }

    #[test]
    fn lists_in_lists_end() {
        let name = "quay.io/a:1".parse().unwrap();
        let error = image(&Endless, &name, &Sha256::of(b""), "amd64").unwrap_err();
        assert_eq!(error.to_string(), "quay.io/a:1: its manifest lists are nested deeper than 4");
    }
}
