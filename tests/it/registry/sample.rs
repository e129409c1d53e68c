//! A small image and a manifest list with it, and ways to put them somewhere.

use std::path::Path;

use tinderbox::internals::registry::{Descriptor, Directory, ImageName, Sha256, Target};

pub(crate) const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub(crate) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const TAG: &str = "4.18.1";

/// An image for amd64 with two layers, in a list that also names one for arm64.
pub(crate) struct Sample {
    pub(crate) blobs: Vec<(Descriptor, Vec<u8>)>,
    pub(crate) manifests: Vec<(String, Vec<u8>)>,
    pub(crate) image: Sha256,
    pub(crate) list: Sha256,
}

/// Bytes that do not repeat soon.
pub(crate) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

pub(crate) fn descriptor(media_type: &str, bytes: &[u8]) -> Descriptor {
    Descriptor { media_type: media_type.into(), digest: Sha256::of(bytes), size: bytes.len() as u64 }
}

fn text(blob: &Descriptor) -> String {
    format!(r#"{{"mediaType":"{}","digest":"{}","size":{}}}"#, blob.media_type, blob.digest, blob.size)
}

impl Sample {
    pub(crate) fn new() -> Self {
        let mut blobs = Vec::new();
        let mut manifests = Vec::new();
        for (number, architecture) in [(1, "amd64"), (2, "arm64")] {
            let config = format!(r#"{{"architecture":"{architecture}","os":"linux"}}"#).into_bytes();
            let shared = noise(3_000_000, 7);
            let own = noise(70_000, number);
            let layer = "application/vnd.docker.image.rootfs.diff.tar.gzip";
            let parts: Vec<_> =
                [("application/vnd.docker.container.image.v1+json", config), (layer, shared), (layer, own)]
                    .into_iter()
                    .map(|(media_type, bytes)| (descriptor(media_type, &bytes), bytes))
                    .collect();
            let manifest = format!(
                r#"{{"schemaVersion":2,"mediaType":"{DOCKER_MANIFEST}","config":{},"layers":[{},{}]}}"#,
                text(&parts[0].0),
                text(&parts[1].0),
                text(&parts[2].0)
            );
            blobs.extend(parts);
            manifests.push((DOCKER_MANIFEST.to_owned(), manifest.into_bytes()));
        }
        let entry = |manifest: &[u8], architecture: &str| {
            let base = text(&descriptor(DOCKER_MANIFEST, manifest));
            let platform = format!(r#","platform":{{"os":"linux","architecture":"{architecture}"}}}}"#);
            base.trim_end_matches('}').to_owned() + &platform
        };
        let list = format!(
            r#"{{"schemaVersion":2,"manifests":[{},{}]}}"#,
            entry(&manifests[0].1, "amd64"),
            entry(&manifests[1].1, "arm64")
        )
        .into_bytes();
        let (image, digest) = (Sha256::of(&manifests[0].1), Sha256::of(&list));
        manifests.push((OCI_INDEX.to_owned(), list));
        Self { blobs, manifests, image, list: digest }
    }

    /// All of it, the list under [`TAG`].
    pub(crate) fn put(&self, to: &dyn Target, name: &ImageName) {
        for (blob, bytes) in &self.blobs {
            to.put_blob(name, blob, &mut bytes.as_slice()).unwrap();
        }
        for (media_type, bytes) in &self.manifests {
            to.put_manifest(name, media_type, bytes, (media_type == OCI_INDEX).then_some(TAG)).unwrap();
        }
    }

    /// A layout of it.
    pub(crate) fn layout(&self, path: &Path) -> Directory {
        let directory = Directory::create(path).unwrap();
        self.put(&directory, &name("oci.example.com/x"));
        directory
    }
}

/// An image name with [`TAG`].
pub(crate) fn name(repository: &str) -> ImageName {
    format!("{repository}:{TAG}").parse().unwrap()
}
