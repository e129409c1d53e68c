//! What a cache is made of: documents under names, and blobs by digest. Whatever can keep these can be a cache: what is
//! signed, and what is verified on arrival, is the same for all.

use std::io::Read;
use std::time::Duration;

use super::{CacheUrl, Scheme, reapi};
use crate::base::fs;
use crate::engine::registry::{Access, Descriptor, ImageName, Images, RegistryError, Remote, Sha256, Target};

/// Opens the bytes of a blob, as often as somebody has to read them.
pub(super) type Open<'a> = dyn Fn() -> std::result::Result<Box<dyn Read + 'a>, fs::Error> + 'a;

type Result<T, E = RegistryError> = std::result::Result<T, E>;

pub(super) trait Storage: Send + Sync {
    /// The document that a name has now. Its answer must begin within `first`.
    fn tagged(&self, name: &ImageName, first: Duration) -> Result<Vec<u8>>;

    /// All names, as tags; a cache that cannot list them has none.
    fn tags(&self, place: &ImageName) -> Result<Vec<String>>;

    /// The document of this digest, under whatever name.
    fn manifest(&self, name: &ImageName, digest: &Sha256) -> Result<Vec<u8>>;

    /// The bytes of a blob that a document names, verified while they stream.
    fn blob<'a>(&'a self, name: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>>;

    /// Whether a blob is there now, whatever documents say.
    fn has_blob(&self, name: &ImageName, blob: &Descriptor) -> Result<bool>;

    /// Stores a blob. One that does not match its digest is rejected and leaves nothing behind.
    fn put_blob(&self, name: &ImageName, blob: &Descriptor, open: &Open<'_>) -> Result<()>;

    /// Gives a document its name. All blobs that it names are there.
    fn put_manifest(&self, name: &ImageName, media_type: &str, bytes: &[u8], tag: &str) -> Result<()>;
}

/// Prepares everything, but does not connect yet.
pub(super) fn open(url: &CacheUrl, access: Access) -> Result<Box<dyn Storage>> {
    match url.scheme {
        Scheme::Oci => Ok(Box::new(Remote::new(access)?)),
        Scheme::Grpc | Scheme::Grpcs => Ok(Box::new(reapi::Farm::new(url, access)?)),
    }
}

impl Storage for Remote {
    fn tags(&self, place: &ImageName) -> Result<Vec<String>> {
        Self::tags(self, place)
    }

    fn tagged(&self, name: &ImageName, first: Duration) -> Result<Vec<u8>> {
        Self::tagged(self, name, first)
    }

    fn manifest(&self, name: &ImageName, digest: &Sha256) -> Result<Vec<u8>> {
        Images::manifest(self, name, digest).map(|(_, bytes)| bytes)
    }

    fn blob<'a>(&'a self, name: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        Images::blob(self, name, blob)
    }

    fn has_blob(&self, name: &ImageName, blob: &Descriptor) -> Result<bool> {
        Target::has_blob(self, name, blob)
    }

    fn put_blob(&self, name: &ImageName, blob: &Descriptor, open: &Open<'_>) -> Result<()> {
        Target::put_blob(self, name, blob, &mut open()?)
    }

    fn put_manifest(&self, name: &ImageName, media_type: &str, bytes: &[u8], tag: &str) -> Result<()> {
        Target::put_manifest(self, name, &media_type.to_owned(), bytes, Some(tag))
    }
}
