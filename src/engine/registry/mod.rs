//! Images: from registries and from OCI layouts on disk. One interface, verified bytes.
//!
//! The interface is synchronous: whatever is asynchronous stays below [`remote`]. A manifest is verified against its
//! digest before it is returned; a blob is verified while it streams, and reading it to its end fails if the bytes are
//! not those that its digest names.

mod archive;
mod cache;
mod copy;
mod directory;
mod image;
mod layout;
mod name;
pub(crate) mod remote;
mod source;
mod verify;

use std::io::Read;

pub use cache::Cached;
pub use copy::{Copied, Platforms, Progress, copy_image};
pub use directory::Directory;
pub(crate) use image::{Architecture, Manifest, MediaType};
pub use image::{Descriptor, image};
pub use layout::Layout;
pub(crate) use name::{DEMO, LAYOUT, NameError};
pub use name::{ImageName, Reference, Sha256};
pub use remote::{Access, MirrorRule, Patience, ProxySettings, Remote};
pub use source::{Deferred, Opened};
pub(crate) use verify::Verified;

use crate::base::hint::Hint;

/// A source of images.
pub trait Images: Send + Sync {
    /// What a tag means now; a digest means itself. Asks the outside, so only `lock` and `release` do this.
    fn resolve(&self, image: &ImageName) -> Result<Sha256>;

    /// The manifest (or manifest list) of this digest: verified bytes, and the media type that its source gave.
    fn manifest(&self, image: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)>;

    /// The bytes of a blob, verified while they stream.
    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>>;
}

/// A place that images can be copied to.
pub trait Target: Send + Sync {
    /// Whether it has a blob already.
    fn has_blob(&self, image: &ImageName, blob: &Descriptor) -> Result<bool>;

    /// Takes a blob. What does not match its digest is refused and leaves nothing behind.
    fn put_blob(&self, image: &ImageName, blob: &Descriptor, bytes: &mut dyn Read) -> Result<()>;

    /// Takes a manifest, under its digest and, if given, a tag.
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

/// Why an image could not be had.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// There is no such image, tag or blob.
    #[error("{image}: {what} is not there ({place})")]
    NotFound {
        image: String,
        /// What of it: the manifest, a blob.
        what: String,
        /// Where it was looked for.
        place: String,
    },
    /// The registry wants credentials, or others.
    #[error("{image}: {place} refuses access ({status})")]
    Denied {
        image: String,
        place: String,
        status: u16,
        /// Whether credentials were sent.
        with_credentials: bool,
    },
    /// The source could not be reached, or broke off, after all tries.
    #[error("{image}: {place} cannot be reached: {reason}")]
    Unreachable { image: String, place: String, reason: String, advice: Option<String> },
    /// Bytes that are not those that were asked for.
    #[error("{image}: {what} is not what its digest says: expected {expected}, found {found}")]
    Mismatch {
        image: String,
        /// Which manifest or blob.
        what: String,
        /// The digest that was asked for.
        expected: String,
        /// The digest of what came.
        found: String,
    },
    /// A manifest that cannot be understood.
    #[error("{image}: {problem}")]
    Malformed {
        image: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A manifest list without our architecture.
    #[error("{image}: there is no image for linux/{wanted}, only for {}", found.join(", "))]
    Architecture { image: String, wanted: String, found: Vec<String> },
    /// Nothing that can be reached has all of it; one line for every place that was tried.
    #[error("{image}: no mirror has it:\n  {}", tried.join("\n  "))]
    NoMirror {
        image: String,
        /// Every place, with what it said.
        tried: Vec<String>,
        /// What to do about the first that has advice.
        advice: Option<String>,
    },
    /// The settings for registries cannot be used: pull secret, certificates, proxy.
    #[error("{problem}")]
    Access {
        /// What is wrong, without any secret value.
        problem: String,
    },
    #[error(transparent)]
    Fs(#[from] crate::base::fs::Error),
}

impl RegistryError {
    /// The error that a reader of ours put into an I/O error, through whatever wrapped it; else that error itself.
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

    /// The same error again: system errors cannot be cloned, so of those only the kind is kept.
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
                Some("the pull secret's credentials for this registry are not accepted".into())
            }
            Self::Denied { place, .. } => Some(format!("add credentials for {place} to the pull secret")),
            Self::Unreachable { advice, .. } | Self::NoMirror { advice, .. } => advice.clone(),
            Self::Mismatch { .. } => Some("the source is damaged or lies; nothing of it was kept".into()),
            Self::Architecture { .. } => {
                Some("choose one of these with `architecture`, or use another image".into())
            }
            Self::Fs(error) => error.hint(),
            Self::NotFound { .. } | Self::Malformed { .. } | Self::Access { .. } => None,
        }
    }
}
