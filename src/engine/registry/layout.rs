//! OCI layouts: images in a directory, or in a tar of one.
//!
//! ```text
//! oci-layout                 {"imageLayoutVersion": "1.0.0"}
//! index.json                 names images: descriptors with the annotation org.opencontainers.image.ref.name, and with
//!                            io.containerd.image.name where the image has a name in a registry
//! blobs/sha256/<64 digits>   manifests, configurations and layers
//! ```
//!
//! An image is found by digest whatever its repository name, so one layout can hold a release and all its components.
//! The index may point to further indexes; names in all of them count.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use super::image::{MANIFEST_LIMIT, media_type_of};
use super::{
    Descriptor, ImageName, Images, Located, MediaType, Reference, RegistryError, Result, Sha256, Verified,
    archive, directory, verify,
};

pub(super) const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The whole name of an image, with its registry.
pub(super) const IMAGE_NAME: &str = "io.containerd.image.name";

/// Maximum nesting of indexes.
const DEPTH: usize = 4;

/// Access to the files of a layout.
pub(super) trait Files: Send + Sync {
    /// The file of this name and its size; none if it does not exist.
    fn open(&self, name: &str) -> Result<Option<(Box<dyn Read + Send>, u64)>>;
}

/// An OCI layout on disk, read-only. See [`super::Directory`] for a writable one.
pub struct Layout {
    place: String,
    files: Box<dyn Files>,
}

#[derive(Deserialize)]
struct RawIndex {
    #[serde(default)]
    manifests: Vec<RawEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEntry {
    #[serde(default)]
    media_type: String,
    digest: String,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

impl Layout {
    /// Opens a directory, or an oci-archive (a plain tar of such a directory).
    pub fn open(path: &Path) -> Result<Self> {
        let path = crate::base::fs::canonical(path)?;
        let files: Box<dyn Files> = match crate::base::fs::metadata(&path)?.is_dir() {
            true => Box::new(directory::Plain(path.clone())),
            false => Box::new(archive::Archive::open(&path)?),
        };
        let layout = Self { place: format!("oci:{}", path.display()), files };
        layout
            .small("index.json")?
            .ok_or_else(|| layout.malformed("it is not an OCI layout: it has no index.json".to_owned()))?;
        Ok(layout)
    }

    fn malformed(&self, problem: String) -> RegistryError {
        RegistryError::Malformed { image: self.place.clone(), problem }
    }

    /// A file that must be small; rejected if it is not.
    fn small(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some((file, size)) = self.files.open(name)? else { return Ok(None) };
        if size > MANIFEST_LIMIT {
            return Err(self.malformed(format!("{name} is too large ({size} bytes)")));
        }
        let mut bytes = Vec::new();
        file.take(MANIFEST_LIMIT).read_to_end(&mut bytes).map_err(|error| {
            RegistryError::Fs(crate::base::fs::Error::new("read", format!("{}/{name}", self.place), error))
        })?;
        Ok(Some(bytes))
    }

    /// The repository of an image in a registry, `quay.io/a/b`, if a name of it in the index has one.
    pub(crate) fn repository_of(&self, digest: &Sha256) -> Result<Option<String>> {
        let digest = digest.to_string();
        let entries = self.entries()?;
        let same = entries.iter().filter(|entry| entry.digest == digest);
        let mut names = same.flat_map(|entry| {
            [IMAGE_NAME, REF_NAME].into_iter().filter_map(|key| entry.annotations.get(key))
        });
        Ok(names.find_map(|name| {
            let ImageName { registry, repository, .. } = name.parse().ok()?;
            Some(format!("{registry}/{repository}"))
        }))
    }

    /// The image of a layout that has just one; else the names to choose from.
    pub(crate) fn only_image(&self) -> Result<Sha256> {
        let index = self.small("index.json")?.unwrap_or_default();
        let index: RawIndex = serde_json::from_slice(&index)
            .map_err(|error| self.malformed(format!("index.json is not an image index: {error}")))?;
        match index.manifests.as_slice() {
            [one] => one
                .digest
                .parse()
                .map_err(|_| self.malformed(format!("`{}` in index.json is not a digest", one.digest))),
            [] => Err(self.malformed("it has no image".into())),
            several => {
                let names = self.names()?;
                let names: Vec<String> = names.iter().map(|(name, _)| format!("`{name}`")).collect();
                let problem = format!(
                    "it has {} images; name one of them with `:TAG`: {}",
                    several.len(),
                    names.join(", ")
                );
                Err(self.malformed(problem))
            }
        }
    }

    /// Every named image, as (name, digest), in index order.
    fn names(&self) -> Result<Vec<(String, String)>> {
        let entries = self.entries()?.into_iter();
        Ok(entries
            .filter_map(|entry| Some((entry.annotations.get(REF_NAME)?.clone(), entry.digest)))
            .collect())
    }

    /// All entries of all indexes, those of an inner one before its own.
    fn entries(&self) -> Result<Vec<RawEntry>> {
        let mut entries = Vec::new();
        self.collect("index.json", DEPTH, &mut entries)?;
        Ok(entries)
    }

    fn collect(&self, file: &str, depth: usize, entries: &mut Vec<RawEntry>) -> Result<()> {
        let Some(bytes) = self.small(file)? else { return Ok(()) };
        let index: RawIndex = serde_json::from_slice(&bytes)
            .map_err(|error| self.malformed(format!("{file} is not an image index: {error}")))?;
        for entry in index.manifests {
            let nested =
                entry.media_type.contains("image.index") || entry.media_type.contains("manifest.list");
            if nested && depth > 0 {
                let digest: Sha256 = entry
                    .digest
                    .parse()
                    .map_err(|_| self.malformed(format!("`{}` in {file} is not a digest", entry.digest)))?;
                self.collect(&blob_name(&digest), depth - 1, entries)?;
            }
            entries.push(entry);
        }
        Ok(())
    }

    fn missing(&self, image: &ImageName, what: String) -> RegistryError {
        RegistryError::NotFound { image: image.to_string(), what, place: self.place.clone() }
    }
}

/// The path of a blob in a layout.
pub(super) fn blob_name(digest: &Sha256) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

impl Images for Layout {
    fn locate(&self, image: &ImageName, _: &Sha256) -> Result<Located> {
        Ok(Located::by_its_name(image))
    }

    fn resolve(&self, image: &ImageName) -> Result<Sha256> {
        let tag = match &image.reference {
            Reference::Digest(digest) => return Ok(*digest),
            Reference::Tag(tag) => tag,
        };
        let names = self.names()?;
        // Some tools write only the tag, others the whole name.
        let whole = |name: &str| name.rsplit_once(':').is_some_and(|(_, end)| end == tag);
        let found =
            names.iter().find(|(name, _)| name == tag).or_else(|| names.iter().find(|(name, _)| whole(name)));
        let Some((_, digest)) = found else {
            let is_image = |(name, _): &&(String, String)| !name.ends_with(".sig");
            let known: Vec<_> = names.iter().filter(is_image).map(|(name, _)| format!("`{name}`")).collect();
            let known = if known.is_empty() { "no named image".into() } else { known.join(", ") };
            return Err(RegistryError::NotFound {
                image: image.to_string(),
                what: format!("the tag `{tag}`"),
                place: format!("{}, which has {known}", self.place),
            });
        };
        digest.parse().map_err(|_| self.malformed(format!("`{digest}` in its index is not a digest")))
    }

    fn manifest(&self, image: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)> {
        let bytes = self
            .small(&blob_name(digest))?
            .ok_or_else(|| self.missing(image, format!("manifest {digest}")))?;
        let bytes = verify::manifest(image, digest, bytes)?;
        Ok((media_type_of(&bytes), bytes))
    }

    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        let (file, _) = self
            .files
            .open(&blob_name(&blob.digest))?
            .ok_or_else(|| self.missing(image, format!("blob {}", blob.digest)))?;
        Ok(Box::new(Verified::new(file, image, blob)))
    }
}
