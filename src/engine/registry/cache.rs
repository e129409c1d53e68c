//! Blobs and manifests kept by digest, so that two releases that share layers download them once.
//!
//! ```text
//! <near>/sha256/<64 digits>    whole and verified, or not there
//! <near>/tmp/<random>          on its way; what a killed process leaves here may be removed at any time
//! ```
//!
//! A blob is written while it streams to the caller, in one pass, and gets its name when its end was reached and its
//! digest was right. Several processes may use one cache: they fetch a blob twice at worst, and rename the same bytes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::image::media_type_of;
use super::{Descriptor, ImageName, Images, MediaType, Result, Sha256, Verified, verify};
use crate::base::fs;

/// Images from `far`, with everything that has a digest kept `near`.
pub struct Cached {
    near: PathBuf,
    far: Arc<dyn Images>,
}

impl Cached {
    /// Makes the directory if need be.
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
                Err(_) => fs::remove_file(&path)?, // damaged on disk: as if it had not been there
            }
        }
        let (media_type, bytes) = self.far.manifest(image, digest)?;
        fs::replace(&path, &bytes, 0o644)?;
        Ok((media_type, bytes))
    }

    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        let path = self.path(&blob.digest);
        if let Some(found) = fs::optional(fs::metadata(&path))? {
            if found.len() == blob.size {
                let file = Verified::new(fs::open(&path)?, image, blob);
                return Ok(Box::new(Near { file, path }));
            }
            let _ = fs::remove_file(&path); // damaged, or removed by someone who saw the same
        }
        let beside = self.near.join("tmp").join(fs::random_name());
        let file = fs::create_new(&beside, 0o644)?;
        let kept = Some(Kept { file, beside, path });
        // Its end is reached only if the digest was right: every `Images` promises that, and once is enough.
        Ok(Box::new(Tee { inner: self.far.blob(image, blob)?, kept }))
    }
}

/// A kept blob. One that turns out to be damaged is removed, so that the next try fetches it anew.
struct Near {
    file: Verified<File>,
    path: PathBuf,
}

impl Read for Near {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer).inspect_err(|error| {
            if error.kind() == io::ErrorKind::InvalidData {
                let _ = fs::remove_file(&self.path); // the error that counts is the reader's
            }
        })
    }
}

/// A file that becomes part of the cache, or is removed.
struct Kept {
    file: File,
    beside: PathBuf,
    path: PathBuf,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.beside); // gone already if it was renamed
    }
}

/// Gives what it reads to the caller and to the cache. A cache that cannot be written to is not an error of the blob's.
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
            let _ = fs::rename(&kept.beside, &kept.path); // not kept, then
        }
        self.kept = None;
        Ok(0)
    }
}
