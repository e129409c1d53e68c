//! Sigstore signatures as cosign stores them: the signatures of image `sha256:X` are an image of their own in the same
//! repository, under the tag `sha256-X.sig`. Each of its layers is a statement, with the signature in an annotation.
//!
//! ```text
//! {"critical": {"identity": {"docker-reference": "quay.io/a/b:1"},
//!               "image": {"docker-manifest-digest": "sha256:X"},
//!               "type": "cosign container image signature"}, "optional": null}
//! ```
//!
//! Anybody who can write to the repository can write such an image, so everything in it has a limit, and a statement is
//! parsed only once a key has verified it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::image::{IMAGES, LISTS, children, too_many};
use super::{
    Architecture, Descriptor, ImageName, Images, Platforms, Reference, RegistryError, Result, Sha256, Target,
    copy_image,
};
use crate::base::pki::PublicKey;

/// The annotation of a layer that has the signature, in base64.
const ANNOTATION: &str = "dev.cosignproject.cosign/signature";

/// The media type of a statement.
const STATEMENT: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// What a statement says that it is.
const KIND: &str = "cosign container image signature";

/// Maximum number of layers: as many signers, and attachments of other kinds.
const LAYERS: usize = 64;

/// Maximum size of a layer, and of the configuration; real ones have a few hundred bytes.
const LAYER_LIMIT: u64 = 128 << 10;

/// The name of an image's signatures, beside the image.
pub(crate) fn signature_name(image: &ImageName, digest: &Sha256) -> ImageName {
    let tag = format!("sha256-{}.sig", digest.hex());
    ImageName { reference: Reference::Tag(tag), ..image.clone() }
}

/// All signatures of one image, unverified.
#[derive(Debug, Clone)]
pub(crate) struct SignatureImage {
    pub(crate) name: ImageName,
    digest: Sha256,
    layers: Vec<(Descriptor, Option<String>)>,
}

/// A statement and its signature, unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    statement: Vec<u8>,
    /// Base64, as found.
    signature: String,
}

/// Why a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flaw {
    /// Nor is it garbage that some other key would accept: nobody can tell.
    OtherKey,
    NotBase64,
    /// A key that we trust signed something else than a statement about an image.
    NotAStatement(String),
    OtherDigest(String),
    /// About this image, under another name.
    OtherIdentity(String),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherKey => f.write_str("it is by another key, or garbage"),
            Self::NotBase64 => f.write_str("it is not base64"),
            Self::NotAStatement(problem) => write!(f, "what was signed is not a statement: {problem}"),
            Self::OtherDigest(digest) => write!(f, "it is for another image, `{}`", digest.escape_debug()),
            Self::OtherIdentity(name) => {
                write!(f, "it is for the same image under another name, `{}`", name.escape_debug())
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    critical: Critical,
    #[serde(rename = "optional")]
    _optional: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Critical {
    identity: Identity,
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    #[serde(rename = "docker-reference")]
    reference: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// The signatures beside an image; none if there are none.
pub(crate) fn signatures(
    images: &dyn Images,
    image: &ImageName,
    digest: &Sha256,
) -> Result<Option<SignatureImage>> {
    #[derive(Deserialize)]
    struct Raw {
        config: RawLayer,
        layers: Vec<RawLayer>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RawLayer {
        #[serde(default)]
        media_type: String,
        digest: String,
        size: u64,
        #[serde(default)]
        annotations: BTreeMap<String, String>,
    }
    let name = signature_name(image, digest);
    let signatures = match images.resolve(&name) {
        Err(RegistryError::NotFound { .. }) => return Ok(None),
        found => found?,
    };
    let malformed = |problem: String| RegistryError::Malformed { image: name.to_string(), problem };
    let (_, bytes) = images.manifest(&name, &signatures)?;
    let Raw { config, layers } = serde_json::from_slice(&bytes).map_err(|error| {
        malformed(format!("it has no signatures: its manifest is not an image's: {error}"))
    })?;
    if layers.len() > LAYERS {
        return Err(malformed(format!(
            "it has {} signatures; more than {LAYERS} are not read",
            layers.len()
        )));
    }
    if let Some(large) = layers.iter().chain([&config]).find(|layer| layer.size > LAYER_LIMIT) {
        let size = large.size;
        return Err(malformed(format!(
            "it has a signature of {size} bytes; more than {LAYER_LIMIT} are not read"
        )));
    }
    let layers = layers.into_iter().map(|RawLayer { media_type, digest, size, mut annotations }| {
        let wrong = || malformed(format!("`{}` in its manifest is not a digest", digest.escape_debug()));
        let digest = digest.parse().map_err(|_| wrong())?;
        Ok((Descriptor { media_type, digest, size }, annotations.remove(ANNOTATION)))
    });
    Ok(Some(SignatureImage { digest: signatures, layers: layers.collect::<Result<_>>()?, name }))
}

impl SignatureImage {
    /// Reads the statements; what is attached beside them is left out.
    pub(crate) fn read(&self, images: &dyn Images) -> Result<Vec<Signature>> {
        let statements = self.layers.iter().filter(|(layer, _)| layer.media_type == STATEMENT);
        statements
            .filter_map(|(layer, signature)| Some((layer, signature.as_ref()?)))
            .map(|(layer, signature)| {
                let mut statement = Vec::new();
                images.blob(&self.name, layer)?.read_to_end(&mut statement).map_err(|error| {
                    let unreadable = |error: std::io::Error| RegistryError::Malformed {
                        image: self.name.to_string(),
                        problem: format!("a signature cannot be read: {error}"),
                    };
                    RegistryError::from_io(error).unwrap_or_else(unreadable)
                })?;
                Ok(Signature { statement, signature: signature.clone() })
            })
            .collect()
    }

    /// Whether it has every signature of another one.
    fn includes(&self, other: &Self) -> bool {
        other.layers.iter().all(|layer| self.layers.contains(layer))
    }
}

impl Signature {
    /// The name under which this key signed this image.
    pub(crate) fn verify(&self, key: &PublicKey, digest: &Sha256) -> std::result::Result<String, Flaw> {
        let signature = STANDARD.decode(&self.signature).map_err(|_| Flaw::NotBase64)?;
        if !key.verifies(&self.statement, &signature) {
            return Err(Flaw::OtherKey);
        }
        let Statement { critical: Critical { identity, image, kind }, .. } =
            serde_json::from_slice(&self.statement)
                .map_err(|error| Flaw::NotAStatement(error.to_string()))?;
        if kind != KIND {
            return Err(Flaw::NotAStatement(format!("it is a `{}`", kind.escape_debug())));
        }
        match image.digest == digest.to_string() {
            true => Ok(identity.reference),
            false => Err(Flaw::OtherDigest(image.digest)),
        }
    }
}

/// A manifest of an image: the image's own, or one of those in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instance {
    pub(crate) digest: Sha256,
    /// Whether it is a list. Nodes pull, and judge, only what is not one.
    pub(crate) is_list: bool,
}

/// An image and, if it is a list, those of its images that a machine of this architecture, or any, would get.
pub(crate) fn instances(
    images: &dyn Images,
    image: &ImageName,
    digest: &Sha256,
    platforms: Platforms<'_>,
) -> Result<Vec<Instance>> {
    let only: Option<&Architecture> = match platforms {
        Platforms::All => None,
        Platforms::Only(architecture) => Some(architecture),
    };
    let mut found = Vec::new();
    let mut now = vec![*digest];
    let mut seen = BTreeSet::new();
    for _ in 0..=LISTS {
        let mut next = Vec::new();
        for digest in now.into_iter().filter(|digest| seen.insert(*digest)) {
            if found.len() > IMAGES {
                return Err(too_many(image));
            }
            let (_, bytes) = images.manifest(image, &digest)?;
            let children = children(image, &bytes, only)?;
            found.push(Instance { digest, is_list: children.is_some() });
            next.extend(children.unwrap_or_default());
        }
        now = next;
    }
    Ok(found)
}

/// What became of an image's signatures in a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopiedSignatures {
    /// There are none.
    Unsigned,
    /// They are at the target now, or were already.
    There,
    /// The target has others, which were left alone.
    Kept,
}

/// Copies the signatures of an image, byte for byte. `there` reads what is at the target.
pub(crate) fn copy_signatures(
    from: &dyn Images,
    to: &dyn Target,
    there: &dyn Images,
    name_from: &ImageName,
    name_to: &ImageName,
    digest: &Sha256,
) -> Result<CopiedSignatures> {
    let Some(ours) = signatures(from, name_from, digest)? else { return Ok(CopiedSignatures::Unsigned) };
    // One that cannot be parsed protects nothing.
    if let Ok(Some(theirs)) = signatures(there, name_to, digest) {
        if theirs.includes(&ours) {
            return Ok(CopiedSignatures::There);
        }
        if !ours.includes(&theirs) {
            return Ok(CopiedSignatures::Kept);
        }
    }
    let name_to = signature_name(name_to, digest);
    copy_image(from, to, &ours.name, &name_to, &ours.digest, Platforms::All, &mut |_| {})?;
    Ok(CopiedSignatures::There)
}
