//! Caches blobs and manifests by digest, so that releases with common layers download them once.
//!
//! ```text
//! <near>/sha256/<64 digits>    complete and verified
//! <near>/tmp/<random>          in progress; leftovers of killed processes may be removed at any time
//! ```
//!
//! A blob is written while it streams to the caller, in one pass, and gets its name once it is complete and its digest
//! matches. Several processes may share a cache: at worst they fetch a blob twice, and rename the same bytes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::image::media_type_of;
use super::{Descriptor, ImageName, Images, Located, MediaType, Result, Sha256, Verified, verify};
use crate::base::fs;

/// Images from `far`; everything with a digest is cached in `near`.
pub struct Cached {
    near: PathBuf,
    far: Arc<dyn Images>,
}

impl Cached {
    /// Creates the directory if needed.
    pub fn new(near: impl Into<PathBuf>, far: Arc<dyn Images>) -> Result<Self> {
        let near = near.into();
        fs::create_dirs(&near.join("sha256"))?;
        fs::create_dirs(&near.join("tmp"))?;
        Ok(Self { near, far })
    }

    fn path(&self, digest: &Sha256) -> PathBuf {
        self.near.join("sha256").join(digest.hex())
    }
}

impl Images for Cached {
    fn resolve(&self, image: &ImageName) -> Result<Sha256> {
        self.far.resolve(image)
    }

    fn manifest(&self, image: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)> {
        let path = self.path(digest);
        if let Some(bytes) = fs::optional(fs::read(&path))? {
            match verify::manifest(image, digest, bytes) {
                Ok(bytes) => return Ok((media_type_of(&bytes), bytes)),
                Err(_) => fs::remove_file(&path)?, // damaged on disk: a miss
            }
        }
        let (media_type, bytes) = self.far.manifest(image, digest)?;
        fs::replace(&path, &bytes, 0o644)?;
        Ok((media_type, bytes))
    }

    fn locate(&self, image: &ImageName, digest: &Sha256) -> Result<Located> {
        self.far.locate(image, digest)
    }

    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        let path = self.path(&blob.digest);
        if let Some(found) = fs::optional(fs::metadata(&path))? {
            if found.len() == blob.size {
                let file = Verified::new(fs::open(&path)?, image, blob);
                return Ok(Box::new(Near { file, path }));
            }
            let _ = fs::remove_file(&path); // damaged; another process may remove it too
        }
        let temporary = self.near.join("tmp").join(fs::random_name());
        let file = fs::create_new(&temporary, 0o644)?;
        let kept = Some(Kept { file, temporary, path });
        // `Images` guarantees that a reader reaches the end only if the digest matches; checking once is enough.
        Ok(Box::new(Tee { inner: self.far.blob(image, blob)?, kept }))
    }
}

/// A cached blob. If it turns out to be damaged it is removed, so that the next attempt fetches it again.
struct Near {
    file: Verified<File>,
    path: PathBuf,
}

impl Read for Near {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer).inspect_err(|error| {
            if error.kind() == io::ErrorKind::InvalidData {
                let _ = fs::remove_file(&self.path); // the reader's error is reported
            }
        })
    }
}

/// A file that either joins the cache or is removed.
struct Kept {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.temporary); // already gone if it was renamed
    }
}

/// Passes the bytes to the caller and to the cache. Failing to write the cache does not fail the read.
struct Tee<R> {
    inner: R,
    kept: Option<Kept>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if buffer.is_empty() {
            return Ok(0);
        }
        let Some(kept) = &mut self.kept else { return Ok(count) };
        if count > 0 {
            if kept.file.write_all(&buffer[..count]).is_err() {
                self.kept = None;
            }
            return Ok(count);
        }
        if kept.file.sync_data().is_ok() {
            let _ = fs::rename(&kept.temporary, &kept.path); // if it fails, it is not cached
        }
        self.kept = None;
        Ok(0)
    }
}
