//! A source of images of which some come from elsewhere.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use super::{Descriptor, ImageName, Images, Located, MediaType, Opened, Result, Sha256, image};

/// Manifests and blobs of certain images come from their own sources, by digest; everything else from the usual one.
pub(crate) struct Replaced {
    usual: Arc<dyn Images>,
    others: BTreeMap<Sha256, Opened>,
}

impl Replaced {
    pub(crate) fn new(usual: Arc<dyn Images>) -> Self {
        Self { usual, others: BTreeMap::new() }
    }

    /// Takes this image, for one architecture, from its own source.
    pub(crate) fn add(&mut self, from: &Opened, digest: Sha256, architecture: &str) -> Result<()> {
        let manifest = image(from.images.as_ref(), &from.name, &digest, architecture)?;
        let layers = manifest.layers.iter().map(|layer| layer.digest);
        for digest in layers.chain([digest, manifest.digest, manifest.config.digest]) {
            self.others.insert(digest, from.clone());
        }
        Ok(())
    }
}

impl Images for Replaced {
    fn resolve(&self, image: &ImageName) -> Result<Sha256> {
        self.usual.resolve(image)
    }

    fn manifest(&self, image: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)> {
        match self.others.get(digest) {
            Some(other) => other.images.manifest(&other.name, digest),
            None => self.usual.manifest(image, digest),
        }
    }

    fn locate(&self, image: &ImageName, digest: &Sha256) -> Result<Located> {
        self.usual.locate(image, digest)
    }

    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        match self.others.get(&blob.digest) {
            Some(other) => other.images.blob(&other.name, blob),
            None => self.usual.blob(image, blob),
        }
    }
}
