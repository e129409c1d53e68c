//! What a builder says about a whole closure, for tools that are not ours: SLSA provenance and an SPDX list of parts, each an in-toto
//! statement in a DSSE envelope about the closure's index, where cosign looks for attestations:
//!
//! ```text
//! <repository>:sha256-<digest of the index>.att    an image manifest; each layer is an envelope
//! ```
//!
//! Nothing secret is in them: secret outputs are only counted. They hold no time but that of the build, so attesting twice moves
//! nothing. Layers that others attached stay.

mod provenance;
mod sbom;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::manifest::{Closure, ENVELOPE, MANIFEST};
use super::oci::{closure_tag, patience};
use super::{CacheError, CacheSettings, CacheUrl, ClosureId, Result, Scheme, SigningKey, envelope};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::json::canonical;
use crate::engine::registry::media_types::IMAGE_CONFIG_MEDIA_TYPE as CONFIG;
use crate::engine::registry::{Access, Descriptor, RegistryError, Remote, Sha256, Target as _};

const PREDICATE_TYPE: &str = "predicateType";
const OURS: &str = "tinderbox.key";
/// What cosign looks for.
const COSIGN: &str = "dev.cosignproject.cosign/signature";

/// One public output of a closure.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) drv: DrvId,
    pub(crate) object: ObjectId,
    /// With version.
    pub(crate) builder: String,
    /// Names of public parts that it was made from.
    pub(crate) inputs: Vec<String>,
    pub(crate) isolation: Option<String>,
    /// When it was built, RFC 3339.
    pub(crate) time: String,
    /// The key of who built it, if that was somebody else.
    pub(crate) signer: Option<String>,
    /// The farm that executed it, if it was not this machine.
    pub(crate) executor: Option<String>,
}

/// Something from outside that went in, or that the result names, by its digest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Material {
    pub(crate) name: String,
    /// A pull spec by digest, or a URL.
    pub(crate) place: String,
    /// In hexadecimal.
    pub(crate) sha256: String,
    /// Whether the build read it; else the result only names it.
    pub(crate) read: bool,
}

/// Everything that is said of a closure.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) closure: ClosureId,
    pub(crate) targets: Vec<String>,
    /// Public outputs, in build order.
    pub(crate) parts: Vec<Part>,
    /// How many outputs are secret.
    pub(crate) secrets: usize,
    pub(crate) materials: Vec<Material>,
}

/// The index of a closure in a registry.
struct Index {
    /// `registry/repository`.
    place: String,
    digest: Sha256,
    /// The manifests of outputs.
    entries: BTreeMap<DrvId, Sha256>,
}

/// What was attached.
#[derive(Debug)]
pub(crate) struct Attested {
    /// `registry/repository@sha256:…`: what tools verify.
    pub(crate) image: String,
    pub(crate) predicates: Vec<&'static str>,
    /// Whether it was not there before.
    pub(crate) new: bool,
}

/// Signs what is said of a closure, and attaches it to the index that `push` made.
pub(crate) fn attest(settings: CacheSettings, key: &SigningKey, subject: &Subject) -> Result<Attested> {
    let CacheSettings { url, access, .. } = settings;
    if url.scheme != Scheme::Oci {
        return Err(CacheError::Cache {
            cache: url.to_string(),
            problem: "only a registry has what attestations are attached to".to_owned(),
            advice: "push to a registry as well, and attest there: `--to oci://registry/repository`",
        });
    }
    let remote = Remote::new(Access { mirrors: Vec::new(), ..access })?;
    let index = find(&remote, &url, key, subject)?;
    let documents = [
        (provenance::PREDICATE, provenance::document(subject, &index, key)),
        (sbom::PREDICATE, sbom::document(subject, &index)),
    ];
    let mut layers = Vec::new();
    for (predicate, document) in &documents {
        let envelope =
            envelope::seal(canonical(document).as_bytes(), key).map_err(|error| encoding(&url, &error))?;
        let (digest, size) = (Sha256::of(&envelope), envelope.len() as u64);
        let blob = Descriptor { media_type: ENVELOPE.to_owned(), digest, size };
        layers.push((*predicate, blob, envelope));
    }
    let new = attach(&remote, &url, &index.digest, key, &layers)?;
    Ok(Attested {
        image: format!("{}@{}", index.place, index.digest),
        predicates: documents.iter().map(|(predicate, _)| *predicate).collect(),
        new,
    })
}

fn find(remote: &Remote, url: &CacheUrl, key: &SigningKey, subject: &Subject) -> Result<Index> {
    let tag = closure_tag(url, subject.closure, &key.public());
    let missing = |problem: &str| CacheError::Cache {
        cache: url.to_string(),
        problem: problem.to_owned(),
        advice: "`tinderbox push` with the same key and targets comes first",
    };
    let bytes = match remote.tagged(&tag, patience().whole) {
        Err(RegistryError::NotFound { .. }) => return Err(missing("this key has not pushed this closure")),
        bytes => bytes?,
    };
    let closure = Closure::parse(&bytes).map_err(missing)?;
    let entries = closure.entries.into_iter().map(|(drv, listed)| (drv, listed.digest)).collect();
    Ok(Index { place: format!("{}/{}", url.registry, url.repository), digest: Sha256::of(&bytes), entries })
}

/// The tag at which cosign looks for attestations of a manifest.
pub(super) fn attestations_of(url: &CacheUrl, digest: &Sha256) -> crate::engine::registry::ImageName {
    url.tag(format!("sha256-{}.att", digest.hex()))
}

/// Puts these layers there, beside those of others. Whether anything was missing.
fn attach(
    remote: &Remote,
    url: &CacheUrl,
    digest: &Sha256,
    key: &SigningKey,
    layers: &[(&str, Descriptor, Vec<u8>)],
) -> Result<bool> {
    let tag = attestations_of(url, digest);
    let there = match remote.tagged(&tag, patience().whole) {
        Ok(bytes) => Some(bytes),
        Err(RegistryError::NotFound { .. } | RegistryError::Mismatch { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let known: Option<Value> = there.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
    let name = key.public().name();
    let known = known.as_ref().and_then(|manifest| manifest["layers"].as_array()).into_iter().flatten();
    let is = |layer: &Value, blob: &Descriptor| layer["digest"] == blob.digest.to_string().as_str();
    // Whoever attaches something else rewrites the manifest, and may drop our annotation.
    let stays = |layer: &&Value| {
        layer["annotations"][OURS] != name.as_str() || layers.iter().any(|(_, blob, _)| is(layer, blob))
    };
    let mut all: Vec<Value> = known.clone().filter(stays).cloned().collect();
    let (mut new, mut changed) = (false, there.is_none() || all.len() != known.count());
    for (predicate, blob, bytes) in layers {
        new |= send(remote, &tag, blob, bytes)?;
        if all.iter().any(|layer| is(layer, blob)) {
            continue;
        }
        changed = true;
        let annotations = json!({COSIGN: "", PREDICATE_TYPE: predicate, OURS: name});
        all.push(json!({
            "mediaType": blob.media_type, "digest": blob.digest.to_string(), "size": blob.size, "annotations": annotations,
        }));
    }
    if !changed {
        return Ok(new);
    }
    let diffs: Vec<&Value> = all.iter().map(|layer| &layer["digest"]).collect();
    let config = json!({
        "architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": diffs},
    });
    let config = canonical(&config).into_bytes();
    let blob =
        Descriptor { media_type: CONFIG.to_owned(), digest: Sha256::of(&config), size: config.len() as u64 };
    send(remote, &tag, &blob, &config)?;
    let config = json!({"mediaType": blob.media_type, "digest": blob.digest.to_string(), "size": blob.size});
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": all});
    let manifest = canonical(&manifest).into_bytes();
    if let crate::engine::registry::Reference::Tag(tagged) = &tag.reference {
        remote.put_manifest(&tag, &MANIFEST.to_owned(), &manifest, Some(tagged))?;
    }
    Ok(true)
}

fn send(
    remote: &Remote,
    tag: &crate::engine::registry::ImageName,
    blob: &Descriptor,
    mut bytes: &[u8],
) -> Result<bool> {
    if remote.has_blob(tag, blob)? {
        return Ok(false);
    }
    remote.put_blob(tag, blob, &mut bytes)?;
    Ok(true)
}

fn encoding(url: &CacheUrl, error: &serde_json::Error) -> CacheError {
    let advice = "this is a bug of tinderbox";
    CacheError::Cache { cache: url.to_string(), problem: error.to_string(), advice }
}

/// A statement about the index and the parts in it.
fn statement(subject: &Subject, index: &Index, predicate_type: &str, predicate: Value) -> Value {
    let mut subjects = vec![json!({"name": index.place, "digest": {"sha256": index.digest.hex()}})];
    subjects.extend(subject.parts.iter().filter_map(|part| {
        let manifest = index.entries.get(&part.drv)?;
        Some(json!({
            "name": part.name,
            "digest": {"sha256": manifest.hex()},
            "annotations": {"drv": part.drv.to_string(), "object": part.object.to_string()},
        }))
    }));
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": predicate_type,
        "predicate": predicate,
    })
}

/// The first and the last time at which something was built.
fn times(subject: &Subject) -> (&str, &str) {
    let times = || subject.parts.iter().map(|part| part.time.as_str());
    (times().min().unwrap_or_default(), times().max().unwrap_or_default())
}
