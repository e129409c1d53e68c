//! Manifests: what an image is made of.

use serde::Deserialize;

use super::{ImageName, Images, RegistryError, Result, Sha256};

/// A media type, as manifests and registries write it.
pub type MediaType = String;

/// Architectures as OCI names them: `amd64`, `arm64`, `ppc64le`, `s390x`.
pub type Architecture = str;

/// Names some bytes: what they are, how many, and their digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// What they are.
    pub media_type: MediaType,
    /// Which.
    pub digest: Sha256,
    /// How many.
    pub size: u64,
}

/// The manifest of one image for one platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its own digest.
    pub digest: Sha256,
    /// Its media type.
    pub media_type: MediaType,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The image's configuration.
    pub config: Descriptor,
    /// Its layers, lowest first.
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

/// The image of this digest; of a manifest list, the one for linux on that architecture.
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
            "its manifest has schema version {}, and only 2 is known",
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
