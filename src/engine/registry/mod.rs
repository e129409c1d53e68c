//! Images: from registries and from OCI layouts on disk. One interface, verified bytes.
//!
//! The interface is synchronous: asynchronous code stays below [`remote`]. A manifest is verified against its digest
//! before it is returned; a blob is verified while it streams, and reading it to its end fails if its digest does not
//! match.

mod archive;
mod cache;
mod copy;
mod directory;
mod image;
mod layout;
mod metered;
mod name;
pub(crate) mod remote;
mod replaced;
mod root_dir;
mod signature;
mod source;
mod verify;

use std::io::Read;

pub use cache::Cached;
pub use copy::{Copied, Platforms, Progress, copy_image};
pub use directory::Directory;
pub(crate) use image::{Architecture, Manifest, MediaType, media_type_of};
pub use image::{Descriptor, image};
pub use layout::Layout;
pub use name::{ImageName, Reference, Sha256};
pub(crate) use name::{LAYOUT, NameError};
pub(crate) use oci_client::manifest as media_types;
pub use remote::{Access, MirrorRule, Patience, ProxySettings, Remote};
pub(in crate::engine) use remote::{Pace, basic, until};
pub(crate) use remote::{is_below, mirrors_of};
pub(crate) use replaced::Replaced;
pub(crate) use root_dir::RootDir;
pub(crate) use signature::{CopiedSignatures, Flaw, Instance, copy_signatures, instances, signatures};
pub use source::{Deferred, Opened};
pub(crate) use verify::Verified;

use crate::base::hint::Hint;

/// A source of images.
pub trait Images: Send + Sync {
    /// The current digest of a tag; a digest resolves to itself. Uses the network, so only `lock` and `release` call
    /// it.
    fn resolve(&self, image: &ImageName) -> Result<Sha256>;

    /// The manifest (or manifest list) of this digest: verified bytes, and the media type from its source.
    fn manifest(&self, image: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)>;

    /// Where this image comes from when it is pulled by digest: mirrors come before its source.
    fn locate(&self, image: &ImageName, digest: &Sha256) -> Result<Located>;

    /// The bytes of a blob, verified while they stream.
    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>>;
}

/// The place that has an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The image's name there.
    pub name: ImageName,
    /// Places that come first and do not have it.
    pub without: Vec<String>,
    /// Places that come first and could not be asked.
    pub passed_over: Vec<String>,
}

impl Located {
    /// In a source without mirrors, an image is where its name says.
    pub fn by_its_name(image: &ImageName) -> Self {
        Self { name: image.clone(), without: Vec::new(), passed_over: Vec::new() }
    }
}

/// A destination for images.
pub trait Target: Send + Sync {
    fn has_blob(&self, image: &ImageName, blob: &Descriptor) -> Result<bool>;

    /// Stores a blob. One that does not match its digest is rejected and leaves nothing behind.
    fn put_blob(&self, image: &ImageName, blob: &Descriptor, bytes: &mut dyn Read) -> Result<()>;

    /// Stores a manifest under its digest and, if given, a tag.
    fn put_manifest(
        &self,
        image: &ImageName,
        media_type: &MediaType,
        bytes: &[u8],
        tag: Option<&str>,
    ) -> Result<()>;
}

/// Result of this module.
pub type Result<T> = std::result::Result<T, RegistryError>;

/// Why an image is not available.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("{image}: {what} not found ({place})")]
    NotFound {
        image: String,
        /// The manifest, a blob or a tag.
        what: String,
        /// Where it was looked up.
        place: String,
    },
    /// The registry wants credentials, or different ones.
    #[error("{image}: {place} refuses access ({status})")]
    Denied { image: String, place: String, status: u16, with_credentials: bool },
    /// The source could not be reached, or the connection broke, after all attempts.
    #[error("{image}: {place} cannot be reached: {reason}")]
    Unreachable { image: String, place: String, reason: String, advice: Option<String> },
    #[error("{image}: {what} is not what its digest says: expected {expected}, found {found}")]
    Mismatch {
        image: String,
        /// The manifest or blob.
        what: String,
        expected: String,
        found: String,
    },
    #[error("{image}: {problem}")]
    Malformed { image: String, problem: String },
    #[error("{image}: there is no image for linux/{wanted}, only for {}", found.join(", "))]
    Architecture { image: String, wanted: String, found: Vec<String> },
    /// No mirror has the image; one line for every place that was tried.
    #[error("{image}: no mirror has it:\n  {}", tried.join("\n  "))]
    NoMirror {
        image: String,
        tried: Vec<String>,
        /// The first advice, if any.
        advice: Option<String>,
    },
    /// The registry settings are invalid: pull secret, certificates, proxy.
    #[error("{problem}")]
    Access {
        /// Contains no secret value.
        problem: String,
    },
    /// The user cancelled.
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Fs(#[from] crate::base::fs::Error),
}

impl RegistryError {
    /// The error that one of our readers wrapped into an I/O error, else the I/O error itself.
    pub fn from_io(error: std::io::Error) -> std::result::Result<Self, std::io::Error> {
        let mut next: Option<&(dyn std::error::Error + 'static)> = error.get_ref().map(|inner| inner as _);
        while let Some(inner) = next {
            if let Some(found) = inner.downcast_ref::<Self>() {
                return Ok(found.copied());
            }
            next = inner
                .downcast_ref::<std::io::Error>()
                .and_then(|io| io.get_ref())
                .map(|inner| inner as _)
                .or_else(|| inner.source());
        }
        Err(error)
    }

    /// A copy of the error: system errors cannot be cloned, so only their kind is kept.
    fn copied(&self) -> Self {
        match self {
            Self::NotFound { image, what, place } => {
                Self::NotFound { image: image.clone(), what: what.clone(), place: place.clone() }
            }
            Self::Denied { image, place, status, with_credentials } => Self::Denied {
                image: image.clone(),
                place: place.clone(),
                status: *status,
                with_credentials: *with_credentials,
            },
            Self::Unreachable { image, place, reason, advice } => Self::Unreachable {
                image: image.clone(),
                place: place.clone(),
                reason: reason.clone(),
                advice: advice.clone(),
            },
            Self::Mismatch { image, what, expected, found } => Self::Mismatch {
                image: image.clone(),
                what: what.clone(),
                expected: expected.clone(),
                found: found.clone(),
            },
            Self::Malformed { image, problem } => {
                Self::Malformed { image: image.clone(), problem: problem.clone() }
            }
            Self::Architecture { image, wanted, found } => {
                Self::Architecture { image: image.clone(), wanted: wanted.clone(), found: found.clone() }
            }
            Self::NoMirror { image, tried, advice } => {
                Self::NoMirror { image: image.clone(), tried: tried.clone(), advice: advice.clone() }
            }
            Self::Access { problem } => Self::Access { problem: problem.clone() },
            Self::Interrupted => Self::Interrupted,
            Self::Fs(error) => Self::Fs(crate::base::fs::Error::new(
                error.action,
                &error.path,
                std::io::Error::from(error.kind()),
            )),
        }
    }
}

impl Hint for RegistryError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Denied { with_credentials: true, .. } => {
                Some("the registry rejects the credentials of the pull secret".into())
            }
            Self::Denied { place, .. } => Some(format!("add credentials for {place} to the pull secret")),
            Self::Unreachable { advice, .. } | Self::NoMirror { advice, .. } => {
                let usual = "check the registry's name; behind a proxy, set HTTPS_PROXY; on a disconnected site, \
                             configure a mirror, or use an OCI layout on disk (`oci:DIR:TAG`)";
                Some(advice.clone().unwrap_or_else(|| usual.to_owned()))
            }
            Self::Mismatch { .. } => Some("the source is corrupt or malicious; nothing was stored".into()),
            Self::Architecture { .. } => {
                Some("choose one of these with `architecture`, or use another image".into())
            }
            Self::Fs(error) => error.hint(),
            Self::NotFound { .. } | Self::Malformed { .. } | Self::Access { .. } | Self::Interrupted => None,
        }
    }
}
