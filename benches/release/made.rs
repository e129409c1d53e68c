//! Generated images: half of their bytes are text that compresses well, half are noise that does not.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;
use serde_json::json;
use tinderbox::internals::registry::{Descriptor, ImageName, Sha256, Target};

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Deterministic numbers that look random.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * seed + 1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> usize {
        usize::try_from((self.next() >> 16) % limit).unwrap()
    }

    /// Bytes that cannot be compressed.
    fn bytes(&mut self, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.next().to_le_bytes()[..word.len()]);
        }
        bytes
    }

    /// Text that compresses about as well as manifests and symbols.
    pub(crate) fn text(&mut self, size: usize) -> Vec<u8> {
        const WORDS: [&str; 16] = [
            "apiVersion",
            "kind",
            "metadata",
            "annotations",
            "openshift",
            "description",
            "properties",
            "type",
            "string",
            "cluster",
            "operator",
            "release",
            "container",
            "namespace",
            "resources",
            "status",
        ];
        let mut text = Vec::with_capacity(size + 32);
        while text.len() < size {
            let at = self.below(16);
            writeln!(text, "{:1$}{2}: {3:x}", "", self.below(8), WORDS[at], self.next() >> 48).unwrap();
        }
        text.truncate(size);
        text
    }

    /// Most files are small and most bytes are in large files, as in an OS; 52 KiB on average.
    fn file(&mut self) -> Vec<u8> {
        let size = match self.below(100) {
            0..70 => 512 + self.below(16 << 10),
            70..95 => (16 << 10) + self.below(96 << 10),
            _ => (320 << 10) + self.below(640 << 10),
        };
        if self.below(2) == 0 { self.text(size) } else { self.bytes(size) }
    }
}

/// A compressed layer, and the digest of its uncompressed bytes.
pub(crate) struct Layer {
    gzip: Vec<u8>,
    diff_id: Sha256,
    pub(crate) content: Census,
}

/// The number of files, and their total size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Census {
    /// Counts everything below a directory.
    pub(crate) fn of(dir: &Path) -> Self {
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
        entries.fold(Self::default(), |sum, entry| {
            sum + match entry.metadata().unwrap() {
                found if found.is_dir() => Self::of(&entry.path()),
                found => Self { files: 1, bytes: found.len() },
            }
        })
    }

    /// Counts several layers without common paths.
    pub(crate) fn of_layers(layers: &[Layer]) -> Self {
        layers.iter().fold(Self::default(), |sum, layer| sum + layer.content)
    }
}

impl std::ops::Add for Census {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { files: self.files + other.files, bytes: self.bytes + other.bytes }
    }
}

impl Layer {
    /// A layer with files below a directory.
    pub(crate) fn new(folder: &str, files: impl Iterator<Item = (String, Vec<u8>)>) -> Self {
        let mut tar = tar::Builder::new(Vec::new());
        let mut content = Census::default();
        let mut entry = |path: String, kind, mode, bytes: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_size(bytes.len() as u64);
            header.set_mtime(1_700_000_000);
            tar.append_data(&mut header, path, bytes).unwrap();
        };
        entry(format!("{folder}/"), tar::EntryType::Directory, 0o755, b"");
        let mut last = String::new();
        for (path, bytes) in files {
            if let Some((dir, _)) = path.rsplit_once('/').filter(|(dir, _)| *dir != last) {
                dir.clone_into(&mut last);
                entry(format!("{folder}/{dir}/"), tar::EntryType::Directory, 0o755, b"");
            }
            entry(format!("{folder}/{path}"), tar::EntryType::Regular, 0o644, &bytes);
            content = content + Census { files: 1, bytes: bytes.len() as u64 };
        }
        let tar = tar.into_inner().unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&tar).unwrap();
        Self { gzip: gzip.finish().unwrap(), diff_id: Sha256::of(&tar), content }
    }

    /// A layer of mixed files of about this many bytes in total, 100 per folder.
    pub(crate) fn mixed(at: usize, size: u64) -> Self {
        let mut noise = Noise::new(at as u64);
        let mut left = size;
        let files = (0..).map_while(|count| {
            let bytes = noise.file();
            left = left.checked_sub(bytes.len() as u64)?;
            Some((format!("d{:03}/f{count:05}", count / 100), bytes))
        });
        Self::new(&format!("layer-{at}"), files)
    }
}

/// Several mixed layers, generated in parallel.
pub(crate) fn mixed(count: usize, size: u64) -> Vec<Layer> {
    (0..count).into_par_iter().map(|at| Layer::mixed(at, size / count as u64)).collect()
}

/// Stores an image of these layers under the tag `made`.
pub(crate) fn put(target: &dyn Target, name: &ImageName, layers: &[Layer]) -> Sha256 {
    let blob = |media_type: &str, bytes: &[u8]| {
        let blob =
            Descriptor { media_type: media_type.into(), digest: Sha256::of(bytes), size: bytes.len() as u64 };
        target.put_blob(name, &blob, &mut &*bytes).unwrap();
        json!({"mediaType": media_type, "digest": blob.digest.to_string(), "size": blob.size})
    };
    let diff_ids: Vec<String> = layers.iter().map(|layer| layer.diff_id.to_string()).collect();
    let config = json!({"architecture": "amd64", "os": "linux", "created": "2026-01-01T00:00:00Z", "config": {},
        "rootfs": {"type": "layers", "diff_ids": diff_ids}});
    let layers: Vec<_> = layers.iter().map(|layer| blob(LAYER, &layer.gzip)).collect();
    let config = blob(CONFIG, config.to_string().as_bytes());
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
    let bytes = manifest.to_string().into_bytes();
    target.put_manifest(name, &MANIFEST.to_owned(), &bytes, Some("made")).unwrap();
    Sha256::of(&bytes)
}

/// Total compressed size of layers.
pub(crate) fn compressed(layers: &[Layer]) -> u64 {
    layers.iter().map(|layer| layer.gzip.len() as u64).sum()
}
