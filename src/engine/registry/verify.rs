//! Verifies blobs while they stream: the end is only reached if the digest matches.

use std::io::{self, Read};

use sha2::Digest as _;

use super::{Descriptor, ImageName, RegistryError, Sha256};

/// A reader that checks size and SHA-256 of what passes through it.
///
/// The verdict comes at the end: a caller that stops earlier has read unverified bytes.
pub(crate) struct Verified<R> {
    inner: R,
    hasher: sha2::Sha256,
    seen: u64,
    done: bool,
    image: String,
    blob: Descriptor,
}

impl<R: Read> Verified<R> {
    /// Expects `inner` to yield exactly this blob of that image.
    pub(crate) fn new(inner: R, image: &ImageName, blob: &Descriptor) -> Self {
        let (image, blob) = (image.to_string(), blob.clone());
        Self { inner, hasher: sha2::Sha256::new(), seen: 0, done: false, image, blob }
    }

    fn mismatch(&self, found: String) -> io::Error {
        let Descriptor { digest, size, .. } = &self.blob;
        io::Error::new(
            io::ErrorKind::InvalidData,
            RegistryError::Mismatch {
                image: self.image.clone(),
                what: format!("blob {digest}"),
                expected: format!("{digest} ({size} bytes)"),
                found,
            },
        )
    }
}

impl<R: Read> Read for Verified<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.done {
            return Ok(0);
        }
        let count = self.inner.read(buffer)?;
        self.seen += count as u64;
        if self.seen > self.blob.size {
            return Err(self.mismatch(format!("more than {} bytes", self.blob.size)));
        }
        if count > 0 {
            self.hasher.update(&buffer[..count]);
            return Ok(count);
        }
        let found = Sha256::from_bytes(self.hasher.clone().finalize().into());
        if found != self.blob.digest || self.seen != self.blob.size {
            return Err(self.mismatch(format!("{found} ({} bytes)", self.seen)));
        }
        self.done = true;
        Ok(0)
    }
}

/// A manifest's bytes, if they match its digest.
pub(super) fn manifest(image: &ImageName, digest: &Sha256, bytes: Vec<u8>) -> super::Result<Vec<u8>> {
    let found = Sha256::of(&bytes);
    if found == *digest {
        return Ok(bytes);
    }
    Err(RegistryError::Mismatch {
        image: image.to_string(),
        what: "its manifest".into(),
        expected: digest.to_string(),
        found: found.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(expected: &[u8], given: &[u8]) -> Result<Vec<u8>, RegistryError> {
        let blob = Descriptor {
            media_type: String::new(),
            digest: Sha256::of(expected),
            size: expected.len() as u64,
        };
        let name = "quay.io/a:1".parse().unwrap();
        let mut bytes = Vec::new();
        match Verified::new(given, &name, &blob).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            // Wrapped twice, as by a tar reader.
            Err(error) => Err(RegistryError::from_io(io::Error::other(io::Error::other(error))).unwrap()),
        }
    }

    #[test]
    fn the_right_bytes_pass() {
        assert_eq!(read(b"hello", b"hello").unwrap(), b"hello");
        assert_eq!(read(b"", b"").unwrap(), b"");
    }

    #[test]
    fn other_bytes_do_not() {
        let text = |given| read(b"hello", given).unwrap_err().to_string();
        assert_eq!(
            text(b"hallo"),
            "quay.io/a:1: blob sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824 is not what \
             its digest says: expected \
             sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824 (5 bytes), found \
             sha256:d3751d33f9cd5049c4af2b462735457e4d3baf130bcbb87f389e349fbaeb20b9 (5 bytes)"
        );
        assert!(text(b"hell").ends_with("(4 bytes)"));
        assert!(text(b"hello!").ends_with("found more than 5 bytes"));
    }

    #[test]
    fn an_error_that_is_not_ours_comes_back_as_it_was() {
        let error = RegistryError::from_io(io::Error::other("something else")).unwrap_err();
        assert_eq!(error.to_string(), "something else");
    }
}
