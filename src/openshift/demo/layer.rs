//! Builds layers and manifests from files, deterministically.
//!
//! Entries are sorted, owned by root, with time 0; directories precede their content. Layers are not compressed: the
//! output of a compressor may change with its version, and the digest with it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde_json::json;
use tar::{Builder, EntryType, Header};

use crate::base::json::canonical;
use crate::engine::registry::Sha256;
use crate::engine::registry::media_types::{
    IMAGE_CONFIG_MEDIA_TYPE as CONFIG, IMAGE_LAYER_MEDIA_TYPE as LAYER, OCI_IMAGE_INDEX_MEDIA_TYPE as INDEX,
    OCI_IMAGE_MEDIA_TYPE as MANIFEST,
};

pub(super) type Blob = Vec<u8>;

pub(super) enum Entry {
    /// Content and mode.
    File(Vec<u8>, u32),
    /// A hard link to a file in this layer.
    Link(&'static str),
}

/// A layer: a tar archive.
pub(super) type Layer = Blob;

pub(super) struct Image {
    pub(super) manifest: Vec<u8>,
    pub(super) blobs: Vec<(Sha256, Blob)>,
}

/// The architecture that images outside of a list declare. They contain only text, so they are the same on every machine.
pub(super) const ARCHITECTURE: &str = "amd64";

/// The architectures of a list.
pub(super) const ARCHITECTURES: [&str; 2] = [ARCHITECTURE, "arm64"];

/// A layer of these files, with the directories that they need (mode 0755 unless `directories` says otherwise).
pub(super) fn layer(entries: &BTreeMap<String, Entry>, directories: &BTreeMap<&str, u32>) -> Layer {
    // Writing to memory cannot fail, and the paths are ours.
    archive(entries, directories).unwrap_or_default()
}

fn archive(entries: &BTreeMap<String, Entry>, directories: &BTreeMap<&str, u32>) -> io::Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    let mut made = BTreeSet::new();
    for (path, entry) in entries {
        for (slash, _) in path.match_indices('/') {
            let parent = &path[..slash];
            if made.insert(parent) {
                let mut header =
                    header(EntryType::Directory, directories.get(parent).copied().unwrap_or(0o755));
                tar.append_data(&mut header, format!("{parent}/"), io::empty())?;
            }
        }
        match entry {
            Entry::File(bytes, mode) => {
                let mut header = header(EntryType::Regular, *mode);
                header.set_size(bytes.len() as u64);
                tar.append_data(&mut header, path, bytes.as_slice())?;
            }
            Entry::Link(target) => tar.append_link(&mut header(EntryType::Link, 0o755), path, target)?,
        }
    }
    tar.into_inner()
}

fn header(kind: EntryType, mode: u32) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(0);
    header
}

/// An image of these layers, lowest first.
pub(super) fn image(layers: &[&Layer], labels: &BTreeMap<&str, String>, architecture: &str) -> Image {
    let config = json!({
        "architecture": architecture,
        "config": {"Labels": labels},
        "created": "1970-01-01T00:00:00Z",
        "history": layers.iter().map(|_| json!({"created": "1970-01-01T00:00:00Z", "created_by": "tinderbox demo release"})).collect::<Vec<_>>(),
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": layers.iter().map(|layer| Sha256::of(layer).to_string()).collect::<Vec<_>>()},
    });
    let config = canonical(&config).into_bytes();
    let descriptor = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": Sha256::of(bytes).to_string(), "size": bytes.len()});
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(CONFIG, &config),
        "layers": layers.iter().map(|layer| descriptor(LAYER, layer)).collect::<Vec<_>>(),
        "annotations": {"org.opencontainers.image.description": "demo release of tinderbox"},
    });
    let blobs = layers.iter().map(|layer| (*layer).clone()).chain([config]);
    Image {
        manifest: canonical(&manifest).into_bytes(),
        blobs: blobs.map(|bytes| (Sha256::of(&bytes), bytes)).collect(),
    }
}

/// A manifest list: digest and size of the image for each architecture.
pub(super) fn index(images: &[(&str, (Sha256, usize))]) -> Vec<u8> {
    let entry = |(architecture, (digest, size)): &(&str, (Sha256, usize))| {
        json!({
            "mediaType": MANIFEST,
            "digest": digest.to_string(),
            "size": size,
            "platform": {"architecture": architecture, "os": "linux"},
        })
    };
    let manifests: Vec<_> = images.iter().map(entry).collect();
    canonical(&json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})).into_bytes()
}
