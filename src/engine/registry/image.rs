//! Image manifests.

use serde::Deserialize;

use super::{ImageName, Images, RegistryError, Result, Sha256};

/// A media type, as manifests and registries write it.
pub(crate) type MediaType = String;

/// Architectures as OCI names them: `amd64`, `arm64`, `ppc64le`, `s390x`.
pub(crate) type Architecture = str;

/// Maximum size of a manifest: registries reject larger ones, and so do we before they fill the memory.
pub(super) const MANIFEST_LIMIT: u64 = 8 << 20;

/// Media types of manifests and manifest lists, Docker's and OCI's.
pub(super) const MANIFEST_TYPES: [&str; 4] = [
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
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

/// The image of this digest; from a manifest list, the one for linux on that architecture.
pub fn image(
    images: &dyn Images,
    name: &ImageName,
    digest: &Sha256,
    architecture: &Architecture,
) -> Result<Manifest> {
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
        return image(images, name, &choose(name, &list, architecture)?, architecture);
    }
    let (Some(config), Some(layers)) = (raw.config, raw.layers) else {
        return Err(malformed("its manifest has no config or no layers".into()));
    };
    let descriptor = |raw: RawDescriptor| {
        let digest = raw
            .digest
            .parse()
            .map_err(|_| malformed(format!("`{}` in its manifest is not a digest", raw.digest)))?;
        Ok(Descriptor { media_type: raw.media_type, digest, size: raw.size })
    };
    Ok(Manifest {
        digest: *digest,
        media_type,
        bytes,
        config: descriptor(config)?,
        layers: layers.into_iter().map(descriptor).collect::<Result<_>>()?,
    })
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
