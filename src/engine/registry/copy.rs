//! Copies images byte for byte: digests stay the same, and existing blobs are not sent again.

use std::collections::BTreeSet;

use super::image::{IMAGES, LISTS, children, image, too_many};
use super::{Architecture, Descriptor, ImageName, Images, Reference, RegistryError, Result, Sha256, Target};

/// How often to send a blob before giving up.
const TRIES: usize = 3;

/// Which images of a manifest list to copy.
#[derive(Debug, Clone, Copy)]
pub enum Platforms<'a> {
    All,
    /// Only linux on this architecture. The list itself is copied too, so that its digest can still be resolved; a
    /// registry that insists on complete lists rejects it.
    Only(&'a Architecture),
}

/// Progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// The target already has a blob.
    Skipped(&'a Descriptor),
    Sending(&'a Descriptor),
    Sent(&'a Descriptor),
}

/// The result of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    pub blobs: u64,
    /// Total size of the blobs that were sent.
    pub bytes: u64,
    /// Blobs that the target already had.
    pub skipped: u64,
    pub manifests: u64,
}

/// Copies the image of this digest (for a manifest list, its images) and tags it if `name_to` has a tag.
///
/// Blobs go first and manifests last, so that every manifest at the target is complete.
pub fn copy_image(
    from: &dyn Images,
    to: &dyn Target,
    name_from: &ImageName,
    name_to: &ImageName,
    digest: &Sha256,
    platforms: Platforms<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Copied> {
    let mut job = Job {
        from,
        to,
        name_from,
        name_to,
        platforms,
        progress,
        seen: BTreeSet::new(),
        done: Copied::default(),
    };
    let tag = match &name_to.reference {
        Reference::Tag(tag) => Some(tag.as_str()),
        Reference::Digest(_) => None,
    };
    job.manifest(digest, tag, 0)?;
    Ok(job.done)
}

struct Job<'a> {
    from: &'a dyn Images,
    to: &'a dyn Target,
    name_from: &'a ImageName,
    name_to: &'a ImageName,
    platforms: Platforms<'a>,
    progress: &'a mut dyn FnMut(Progress<'_>),
    /// Manifests that were begun: a list may name an image, or a list, more than once.
    seen: BTreeSet<Sha256>,
    done: Copied,
}

impl Job<'_> {
    fn manifest(&mut self, digest: &Sha256, tag: Option<&str>, depth: usize) -> Result<()> {
        if depth > LISTS {
            let problem = format!("its manifest lists are nested deeper than {LISTS}");
            return Err(RegistryError::Malformed { image: self.name_from.to_string(), problem });
        }
        if self.seen.len() > IMAGES {
            return Err(too_many(self.name_from));
        }
        let (media_type, bytes) = self.from.manifest(self.name_from, digest)?;
        let only = match self.platforms {
            Platforms::All => None,
            Platforms::Only(architecture) => Some(architecture),
        };
        match children(self.name_from, &bytes, only)? {
            Some(children) => {
                for child in children {
                    if self.seen.insert(child) {
                        self.manifest(&child, None, depth + 1)?;
                    }
                }
            }
            None => {
                // Not a list, so the architecture does not matter.
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
            // A stream cannot be rewound, so every attempt reads the source again.
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::{Located, MediaType, signature};
    use super::*;

    /// A list that names these, each of which is an image without layers.
    struct List(Vec<Sha256>);

    impl Images for List {
        fn locate(&self, image: &ImageName, _: &Sha256) -> Result<Located> {
            Ok(Located::by_its_name(image))
        }

        fn resolve(&self, _: &ImageName) -> Result<Sha256> {
            Ok(Sha256::of(b""))
        }

        fn manifest(&self, _: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)> {
            let json = match *digest == Sha256::of(b"") {
                true => {
                    let named: Vec<_> =
                        self.0.iter().map(|one| serde_json::json!({"digest": one.to_string()})).collect();
                    serde_json::json!({"schemaVersion": 2, "manifests": named})
                }
                false => {
                    let config = serde_json::json!({"digest": Sha256::of(b"{}").to_string(), "size": 2});
                    serde_json::json!({"schemaVersion": 2, "config": config, "layers": []})
                }
            };
            Ok(("x".to_owned(), serde_json::to_vec(&json).unwrap()))
        }

        fn blob<'a>(&'a self, _: &ImageName, _: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
            Ok(Box::new(std::io::empty()))
        }
    }

    /// Has every blob, and takes every manifest.
    struct Full;

    impl Target for Full {
        fn has_blob(&self, _: &ImageName, _: &Descriptor) -> Result<bool> {
            Ok(true)
        }

        fn put_blob(&self, _: &ImageName, _: &Descriptor, _: &mut dyn Read) -> Result<()> {
            Ok(())
        }

        fn put_manifest(&self, _: &ImageName, _: &MediaType, _: &[u8], _: Option<&str>) -> Result<()> {
            Ok(())
        }
    }

    /// Lists in lists multiply: five levels of a thousand names are more requests than anybody can wait for.
    #[test]
    fn a_list_names_each_image_once_and_not_too_many() {
        let (name, root) = ("quay.io/a:1".parse().unwrap(), Sha256::of(b""));
        let copy = |list: &List| copy_image(list, &Full, &name, &name, &root, Platforms::All, &mut |_| {});
        let instances = |list: &List| signature::instances(list, &name, &root, Platforms::All);
        let same = List(vec![Sha256::of(b"one"); 5000]);
        assert_eq!(copy(&same).unwrap().manifests, 2);
        assert_eq!(instances(&same).unwrap().len(), 2);
        let many = List((0..1200_u32).map(|at| Sha256::of(&at.to_le_bytes())).collect());
        let said = "quay.io/a:1: its manifest lists name more than 1000 images";
        assert_eq!(copy(&many).unwrap_err().to_string(), said);
        assert_eq!(instances(&many).unwrap_err().to_string(), said);
    }
}
