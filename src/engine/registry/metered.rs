//! What all images of one build may cost together. Each image has limits of its own (builder `image`); this one is for many.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Descriptor, ImageName, Images, Located, MediaType, RegistryError, Result, Sha256};

/// Bytes of all blobs that a build may read. The images of a whole release have less than half of that.
const BUILD: u64 = 64 << 30;

/// A source that ends when so many bytes were read from it, as descriptors tell: readers hold blobs to their descriptors.
pub(super) struct Metered {
    inner: Arc<dyn Images>,
    left: AtomicU64,
}

impl Metered {
    /// For one build.
    pub(super) fn new(inner: Arc<dyn Images>) -> Self {
        Self { inner, left: AtomicU64::new(BUILD) }
    }
}

impl Images for Metered {
    fn resolve(&self, image: &ImageName) -> Result<Sha256> {
        self.inner.resolve(image)
    }

    fn manifest(&self, image: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)> {
        self.inner.manifest(image, digest)
    }

    fn locate(&self, image: &ImageName, digest: &Sha256) -> Result<Located> {
        self.inner.locate(image, digest)
    }

    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        let taken =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(blob.size));
        if taken.is_err() {
            let problem = format!(
                "with blob {} of {} bytes, the images of this build have more than {} GiB",
                blob.digest,
                blob.size,
                BUILD >> 30
            );
            return Err(RegistryError::Malformed { image: image.to_string(), problem });
        }
        self.inner.blob(image, blob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has every blob, and says that it is empty.
    struct Anything;

    impl Images for Anything {
        fn locate(&self, image: &ImageName, _: &Sha256) -> Result<Located> {
            Ok(Located::by_its_name(image))
        }

        fn resolve(&self, _: &ImageName) -> Result<Sha256> {
            Ok(Sha256::of(b""))
        }

        fn manifest(&self, _: &ImageName, _: &Sha256) -> Result<(MediaType, Vec<u8>)> {
            Ok((MediaType::new(), Vec::new()))
        }

        fn blob<'a>(&'a self, _: &ImageName, _: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
            Ok(Box::new(std::io::empty()))
        }
    }

    #[test]
    fn all_blobs_of_a_build_count() {
        let opened = || {
            let name: ImageName = "quay.io/a:1".parse().unwrap();
            Ok(super::super::Opened { images: Arc::new(Anything), name })
        };
        let source = super::super::Deferred::new(opened);
        let opened = source.get().unwrap();
        let blob = |size| Descriptor { media_type: MediaType::new(), digest: Sha256::of(b"x"), size };
        let read = |size| opened.images.blob(&opened.name, &blob(size)).map(drop);
        for _ in 0..4 {
            read(16 << 30).unwrap();
        }
        read(0).unwrap();
        let error = read(1).unwrap_err().to_string();
        assert!(error.ends_with("the images of this build have more than 64 GiB"), "{error}");
        // Sizes that no sum can hold.
        assert!(read(u64::MAX).is_err());
    }
}
