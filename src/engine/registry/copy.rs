//! Images from one place to another, byte for byte: the digests stay, and what is there already is not sent again.

use std::collections::BTreeSet;

use super::image::{children, image};
use super::{Architecture, Descriptor, ImageName, Images, Reference, RegistryError, Result, Sha256, Target};

/// How often a blob is sent before its target counts as out of reach.
const TRIES: usize = 3;

/// Which images of a manifest list are copied.
#[derive(Debug, Clone, Copy)]
pub enum Platforms<'a> {
    All,
    /// Only the one for linux on this architecture. The list itself is copied too, so that its digest is still found; a
    /// registry that insists on complete lists refuses it.
    Only(&'a Architecture),
}

/// What a copy is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A blob is there already.
    Skipped(&'a Descriptor),
    /// A blob is sent now.
    Sending(&'a Descriptor),
    /// A blob has arrived.
    Sent(&'a Descriptor),
}

/// What a copy did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Blobs that were sent.
    pub blobs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blobs that were there already.
    pub skipped: u64,
    pub manifests: u64,
}

/// Copies the image of this digest (of a manifest list, its images) and, if `name_to` has a tag, gives it that tag.
///
/// Blobs go first and manifests last, so that whatever has a manifest at the target is complete.
pub fn copy_image(
    from: &dyn Images,
    to: &dyn Target,
    name_from: &ImageName,
    name_to: &ImageName,
    digest: &Sha256,
    platforms: Platforms<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Copied> {
    let mut job = Job { from, to, name_from, name_to, platforms, progress, done: Copied::default() };
    let tag = match &name_to.reference {
        Reference::Tag(tag) => Some(tag.as_str()),
        Reference::Digest(_) => None,
    };
    job.manifest(digest, tag)?;
    Ok(job.done)
}

struct Job<'a> {
    from: &'a dyn Images,
    to: &'a dyn Target,
    name_from: &'a ImageName,
    name_to: &'a ImageName,
    platforms: Platforms<'a>,
    progress: &'a mut dyn FnMut(Progress<'_>),
    done: Copied,
}

impl Job<'_> {
    fn manifest(&mut self, digest: &Sha256, tag: Option<&str>) -> Result<()> {
        let (media_type, bytes) = self.from.manifest(self.name_from, digest)?;
        let only = match self.platforms {
            Platforms::All => None,
            Platforms::Only(architecture) => Some(architecture),
        };
        match children(self.name_from, &bytes, only)? {
            Some(children) => {
                for child in children {
                    self.manifest(&child, None)?;
                }
            }
            None => {
                // Not a list, so the architecture plays no part.
                let manifest = image(self.from, self.name_from, digest, "")?;
                let mut seen = BTreeSet::new();
                for blob in manifest.layers.iter().chain([&manifest.config]) {
                    if seen.insert(blob.digest) {
                        self.blob(blob)?;
                    }
                }
            }
        }
        self.to.put_manifest(self.name_to, &media_type, &bytes, tag)?;
        self.done.manifests += 1;
        Ok(())
    }

    fn blob(&mut self, blob: &Descriptor) -> Result<()> {
        if self.to.has_blob(self.name_to, blob)? {
            self.done.skipped += 1;
            (self.progress)(Progress::Skipped(blob));
            return Ok(());
        }
        (self.progress)(Progress::Sending(blob));
        for left in (0..TRIES).rev() {
            // A stream cannot be sent twice, so every try reads its source again.
            let mut bytes = self.from.blob(self.name_from, blob)?;
            match self.to.put_blob(self.name_to, blob, &mut bytes) {
                Err(RegistryError::Unreachable { .. }) if left > 0 => {}
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        self.done.blobs += 1;
        self.done.bytes += blob.size;
        (self.progress)(Progress::Sent(blob));
        Ok(())
    }
}
