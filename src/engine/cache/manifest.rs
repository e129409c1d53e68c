//! Entries and closure indexes as OCI documents. Descriptors carry small content with them (`data`), so that the index of a
//! closure holds every manifest and every signature of it: one request says what there is, and from whom.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::base::digest::DrvId;
use crate::engine::registry::{Descriptor, Sha256};

pub(super) use crate::engine::registry::media_types::{
    OCI_IMAGE_INDEX_MEDIA_TYPE as INDEX, OCI_IMAGE_MEDIA_TYPE as MANIFEST,
};

pub(super) const OUTPUT: &str = "application/vnd.tinderbox.output.v1";
pub(super) const SEALED: &str = "application/vnd.tinderbox.sealed.v1";
pub(super) const CLOSURE: &str = "application/vnd.tinderbox.closure.v1";
pub(super) const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
pub(super) const PACK: &str = "application/vnd.tinderbox.pack.v1.tar+zstd";
pub(super) const FILE: &str = "application/vnd.tinderbox.file.v1";

/// Path of a large file; tools that copy artifacts to files use it as well.
const TITLE: &str = "org.opencontainers.image.title";
const EXECUTABLE: &str = "tinderbox.executable";
const DRV: &str = "tinderbox.drv";
pub(super) const CREATED: &str = "org.opencontainers.image.created";

/// An index with manifests in it may have so many bytes: registries refuse 4 MiB.
const INDEX_LIMIT: usize = 3 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDescriptor {
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
}

impl RawDescriptor {
    fn new(blob: &Descriptor) -> Self {
        Self {
            media_type: blob.media_type.clone(),
            digest: blob.digest.to_string(),
            size: blob.size,
            annotations: BTreeMap::new(),
            data: None,
        }
    }

    fn parse(&self) -> Result<Descriptor, &'static str> {
        let digest = self.digest.parse().map_err(|_| "its manifest has a digest that is none")?;
        Ok(Descriptor { media_type: self.media_type.clone(), digest, size: self.size })
    }

    /// The content that it carries, if that is what its digest says.
    fn content(&self) -> Option<Vec<u8>> {
        let bytes = STANDARD.decode(self.data.as_ref()?).ok()?;
        (Sha256::of(&bytes).to_string() == self.digest && bytes.len() as u64 == self.size).then_some(bytes)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawManifest {
    schema_version: u32,
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    config: RawDescriptor,
    layers: Vec<RawDescriptor>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawIndex {
    schema_version: u32,
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    manifests: Vec<RawDescriptor>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// A large file of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LargeFile {
    pub(super) path: String,
    pub(super) exec: bool,
    pub(super) blob: Descriptor,
}

/// All blobs that a document names, through the documents that it carries.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) blobs: Vec<Descriptor>,
    /// Whether it is about several entries.
    pub(super) is_index: bool,
}

impl Contents {
    pub(super) fn of(bytes: &[u8]) -> Result<Self, &'static str> {
        #[derive(Deserialize)]
        struct Document {
            config: Option<RawDescriptor>,
            #[serde(default)]
            layers: Vec<RawDescriptor>,
            manifests: Option<Vec<RawDescriptor>>,
        }
        let Document { config, layers, manifests } =
            serde_json::from_slice(bytes).map_err(|_| "its manifest cannot be read")?;
        let own = config.iter().chain(&layers);
        let mut found = Self {
            blobs: own.map(RawDescriptor::parse).collect::<Result<_, &'static str>>()?,
            is_index: manifests.is_some(),
        };
        for carried in manifests.iter().flatten().filter_map(RawDescriptor::content) {
            // An index carries manifests, and these carry no others.
            let Self { blobs, is_index: false } = Self::of(&carried)? else {
                return Err("its closure index has another one in it");
            };
            found.blobs.extend(blobs);
        }
        Ok(found)
    }
}

/// An entry's manifest, read.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) statement: Descriptor,
    /// The statement itself, if the manifest carries it.
    pub(super) inline: Option<Vec<u8>>,
    pub(super) pack: Descriptor,
    pub(super) files: Vec<LargeFile>,
}

impl Entry {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let raw: RawManifest = serde_json::from_slice(bytes).map_err(|_| "its manifest cannot be read")?;
        if raw.artifact_type != OUTPUT || raw.config.media_type != ENVELOPE {
            return Err("its manifest is that of something else");
        }
        let (pack, files) = raw.layers.split_first().ok_or("its manifest has no layers")?;
        let file = |raw: &RawDescriptor| {
            Ok(LargeFile {
                path: raw.annotations.get(TITLE).ok_or("its manifest has a file without a name")?.clone(),
                exec: raw.annotations.contains_key(EXECUTABLE),
                blob: raw.parse()?,
            })
        };
        Ok(Self {
            statement: raw.config.parse()?,
            inline: raw.config.content(),
            pack: pack.parse()?,
            files: files.iter().map(file).collect::<Result<_, &'static str>>()?,
        })
    }

    pub(super) fn layers(&self) -> Vec<Descriptor> {
        let files = self.files.iter().map(|file| file.blob.clone());
        std::iter::once(self.pack.clone()).chain(files).collect()
    }

    /// The manifest's bytes; they carry the statement.
    pub(super) fn encode(&self) -> serde_json::Result<Vec<u8>> {
        let mut config = RawDescriptor::new(&self.statement);
        config.data = self.inline.as_ref().map(|bytes| STANDARD.encode(bytes));
        let file = |file: &LargeFile| {
            let mut raw = RawDescriptor::new(&file.blob);
            raw.annotations.insert(TITLE.to_owned(), file.path.clone());
            if file.exec {
                raw.annotations.insert(EXECUTABLE.to_owned(), "true".to_owned());
            }
            raw
        };
        let layers = std::iter::once(RawDescriptor::new(&self.pack)).chain(self.files.iter().map(file));
        serde_json::to_vec(&RawManifest {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: OUTPUT.to_owned(),
            config,
            layers: layers.collect(),
        })
    }
}

/// A sealed output: the blobs in order, and nothing about them.
#[derive(Debug)]
pub(super) struct SealedEntry {
    pub(super) statement: Descriptor,
    /// The statement itself, which the manifest carries.
    pub(super) envelope: Vec<u8>,
    pub(super) blobs: Vec<Descriptor>,
}

impl SealedEntry {
    /// Whether a manifest says that it is one.
    pub(super) fn is_one(bytes: &[u8]) -> bool {
        serde_json::from_slice::<RawManifest>(bytes).is_ok_and(|raw| raw.artifact_type == SEALED)
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let raw: RawManifest = serde_json::from_slice(bytes).map_err(|_| "its manifest cannot be read")?;
        if raw.artifact_type != SEALED || raw.config.media_type != ENVELOPE {
            return Err("its manifest is that of something else");
        }
        let envelope = raw.config.content().ok_or("its manifest has no statement")?;
        let blobs = raw.layers.iter().map(RawDescriptor::parse).collect::<Result<_, _>>()?;
        Ok(Self { statement: raw.config.parse()?, envelope, blobs })
    }

    pub(super) fn encode(&self) -> serde_json::Result<Vec<u8>> {
        let mut config = RawDescriptor::new(&self.statement);
        config.data = Some(STANDARD.encode(&self.envelope));
        serde_json::to_vec(&RawManifest {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: SEALED.to_owned(),
            config,
            layers: self.blobs.iter().map(RawDescriptor::new).collect(),
        })
    }
}

/// The manifest of one output in a closure index.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) digest: Sha256,
    /// The manifest itself, if the index carries it.
    pub(super) inline: Option<Vec<u8>>,
}

/// What a closure index says there is, and when it was pushed first.
#[derive(Debug, Default)]
pub(super) struct Closure {
    pub(super) entries: BTreeMap<DrvId, Listed>,
    pub(super) created: String,
}

impl Closure {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let raw: RawIndex = serde_json::from_slice(bytes).map_err(|_| "its closure index cannot be read")?;
        if raw.artifact_type != CLOSURE {
            return Err("its closure index is that of something else");
        }
        let listed = |raw: &RawDescriptor| {
            let drv = raw.annotations.get(DRV).and_then(|drv| drv.parse().ok());
            let drv = drv.ok_or("its closure index has an entry without a derivation")?;
            Ok((drv, Listed { digest: raw.parse()?.digest, inline: raw.content() }))
        };
        let entries = raw.manifests.iter().map(listed).collect::<Result<_, &'static str>>()?;
        Ok(Self { entries, created: raw.annotations.get(CREATED).cloned().unwrap_or_default() })
    }

    /// The index of these manifests.
    pub(super) fn encode(entries: &BTreeMap<DrvId, Vec<u8>>, created: &str) -> serde_json::Result<Vec<u8>> {
        // Encoded twice, and with something around it.
        let fits = entries.values().map(|manifest| manifest.len() * 4 / 3 + 400).sum::<usize>() < INDEX_LIMIT;
        let listed = |(drv, manifest): (&DrvId, &Vec<u8>)| RawDescriptor {
            media_type: MANIFEST.to_owned(),
            digest: Sha256::of(manifest).to_string(),
            size: manifest.len() as u64,
            annotations: BTreeMap::from([(DRV.to_owned(), drv.to_string())]),
            data: fits.then(|| STANDARD.encode(manifest)),
        };
        serde_json::to_vec(&RawIndex {
            schema_version: 2,
            media_type: INDEX.to_owned(),
            artifact_type: CLOSURE.to_owned(),
            manifests: entries.iter().map(listed).collect(),
            annotations: BTreeMap::from([(CREATED.to_owned(), created.to_owned())]),
        })
    }
}
