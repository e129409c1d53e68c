//! Caches: outputs that somebody else built, on OCI registries and farms. A builder signs which derivation gave which object; the
//! bytes are verified by content when they arrive. Whoever can write to a registry can therefore only make it useless.
//!
//! ```text
//! <repository>:drv-<DrvId>-<key id>          an output: image manifest 1.1, artifactType application/vnd.tinderbox.output.v1
//!   config                                   the signed statement: in-toto Statement v1 in a DSSE envelope, ed25519
//!   layers[0]                                a zstd tar of all files up to 1 MiB, empty directories and links
//!   layers[1..]                              larger files, one blob each, so that equal files are stored once
//!                                            a secret output: artifactType application/vnd.tinderbox.sealed.v1
//!   config                                   the signed statement, of ciphertexts
//!   layers                                   age files
//! <repository>:closure-<ClosureId>-<key id>  an OCI index of all outputs of a target: one request says what there is
//! ```
//!
//! A tag names the key that signed, so several builders never overwrite each other, and nothing needs the referrers API.
//! Blobs go before manifests, manifests before tags: what has a tag was complete when it was pushed. On the way back
//! everything is checked again, and whatever is missing, short, wrong, unsigned or about another derivation is a miss.
//!
//! | module | responsibility |
//! |---|---|
//! | `key` | ed25519 keys: files, names, signatures |
//! | `envelope` | DSSE: what is signed, and by whom |
//! | `statement` | what a signature says: this derivation gave this object |
//! | `manifest` | entries and closure indexes as OCI documents |
//! | `pack` | an object as a zstd tar and large blobs, and back |
//! | `sealed` | a secret object as encrypted blobs, and back |
//! | `health` | when to stop asking a cache, and what to say about it, once |
//! | `storage` | what a cache is made of: documents and blobs; a registry is one |
//! | `reapi` | a farm is another |
//! | `oci` | looks outputs up and takes them |
//! | `push` | pushes outputs and closure indexes |
//! | `attest` | what a builder says about a whole closure, for other tools |
//! | `challenge` | what each signer says, for comparison |
//! | `prune` | removes what no kept closure names |

mod attest;
mod challenge;
mod envelope;
mod health;
mod key;
mod manifest;
mod oci;
mod pack;
mod prune;
mod push;
mod reapi;
mod sealed;
mod statement;
mod storage;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

pub(crate) use attest::{Attested, Material, Part, Subject, attest};
pub(in crate::engine) use health::Health;
pub(crate) use key::{PublicKey, SigningKey};
pub(crate) use oci::OciCache;
pub(in crate::engine) use oci::{FIRST_ANSWER, patience};
pub(in crate::engine) use pack::{UnpackError, fill, write_all};
pub(crate) use prune::{Pruned, prune};
pub(crate) use push::{Publisher, Shared, Unshared, unshared};
pub(crate) use sealed::{Identities, Recipients};

use super::registry::{Access, ImageName, Reference, RegistryError};
use super::store::{Session, Staged};
use super::tree::{Hashing, TreeWriter};
use crate::base::digest::{Digest, DrvId};
use crate::base::event::Events;
use crate::base::hint::Hint;

/// A source of outputs besides building them.
pub trait Substituter: Sync {
    /// The build of this closure begins, and the store lacks some of it.
    fn begin(&self, closure: ClosureId, events: &dyn Events);

    /// Takes an output, if a signature that counts says what it is. Never fails: everything wrong is a miss.
    fn substitute(&self, session: &Session, wanted: &Wanted<'_>, events: &dyn Events) -> Option<Substituted>;
}

/// Several sources, asked in order.
impl<S: Substituter> Substituter for Vec<S> {
    fn begin(&self, closure: ClosureId, events: &dyn Events) {
        self.iter().for_each(|one| one.begin(closure, events));
    }

    fn substitute(&self, session: &Session, wanted: &Wanted<'_>, events: &dyn Events) -> Option<Substituted> {
        self.iter().find_map(|one| one.substitute(session, wanted, events))
    }
}

/// A derivation whose output is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What the derivation is called here; scopes of keys are about this name.
    pub(crate) name: &'a str,
    pub(crate) drv: DrvId,
    /// Its builder with version.
    pub(crate) builder: &'a str,
    pub(crate) secrecy: Secrecy,
}

/// What is known of an output before there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// Nothing secret goes in.
    Public,
    /// Something secret goes in, and its builder decides what of that comes out.
    Tainted,
    /// Then only what is sealed counts, from a key that may vouch for secrets.
    Secret,
}

/// An output from elsewhere: verified, not published yet.
#[derive(Debug)]
pub struct Substituted {
    pub(crate) staged: Staged,
    /// The cache's name.
    pub(crate) cache: String,
    /// The key that signed.
    pub(crate) key: PublicKey,
    /// How the programs that produced it were isolated, if any ran.
    pub(crate) isolation: Option<String>,
    /// Bytes that were transferred.
    pub(crate) bytes: u64,
}

/// Names everything that decides a target's closure, before any of it is built. Unlike a [`DrvId`] it does not depend on
/// what inputs were built to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosureId(pub Digest);

/// What a cache speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// The protocol of image registries.
    Oci,
    /// The Remote Execution API, without TLS: no credentials are sent.
    Grpc,
    Grpcs,
}

impl Scheme {
    const ALL: [Self; 3] = [Self::Oci, Self::Grpc, Self::Grpcs];

    fn name(self) -> &'static str {
        match self {
            Self::Oci => "oci",
            Self::Grpc => "grpc",
            Self::Grpcs => "grpcs",
        }
    }
}

/// A repository in a registry, `oci://registry/repository`, or an instance of a farm, `grpcs://host:port/instance`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheUrl {
    scheme: Scheme,
    registry: String,
    /// Of a farm, its instance, which may be empty.
    repository: String,
}

impl CacheUrl {
    /// Whether it names a farm.
    pub(crate) fn is_farm(&self) -> bool {
        self.scheme != Scheme::Oci
    }

    /// Whether what goes there is for nobody else to read.
    pub(crate) fn is_private(&self) -> bool {
        let host = self.registry.rsplit_once(':').map_or(&*self.registry, |(host, _)| host);
        self.scheme != Scheme::Grpc || matches!(host, "localhost" | "127.0.0.1" | "[::1]")
    }

    fn tag(&self, tag: String) -> ImageName {
        let Self { scheme: _, registry, repository } = self.clone();
        ImageName { registry, repository, reference: Reference::Tag(tag) }
    }
}

impl fmt::Display for CacheUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, registry, repository } = self;
        let slash = if repository.is_empty() { "" } else { "/" };
        write!(f, "{}://{registry}{slash}{repository}", scheme.name())
    }
}

impl FromStr for CacheUrl {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (scheme, rest) = text.split_once("://").ok_or(())?;
        let scheme = Scheme::ALL.into_iter().find(|known| known.name() == scheme).ok_or(())?;
        if scheme != Scheme::Oci {
            return farm(scheme, rest).ok_or(());
        }
        let ImageName { registry, repository, reference } = rest.parse().map_err(drop)?;
        // A tag or digest would be lost.
        let bare = reference == Reference::Tag("latest".into()) && !text.ends_with(":latest");
        bare.then_some(Self { scheme, registry, repository }).ok_or(())
    }
}

/// The instance of a farm that `host[:port][/instance]` names.
fn farm(scheme: Scheme, text: &str) -> Option<CacheUrl> {
    let (host, instance) = text.split_once('/').unwrap_or((text, ""));
    let is_host = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-.:[]".contains(c));
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    let is_instance = text.len() == host.len() || instance.split('/').all(is_part);
    let port = if scheme == Scheme::Grpcs { 443 } else { 80 };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let registry = if has_port { host.to_owned() } else { format!("{host}:{port}") };
    (is_host && is_instance).then(|| CacheUrl { scheme, registry, repository: instance.to_owned() })
}

/// A key whose signatures count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    pub(crate) key: PublicKey,
    /// Derivations and folders that it may vouch for; empty for all.
    pub(crate) scope: Vec<String>,
    /// Whether it may also vouch for secret outputs: who does can choose the cluster's keys.
    pub(crate) secrets: bool,
}

impl Trusted {
    /// Whether one of these keys, as text, is this one, and may speak for this derivation.
    pub(super) fn vouches(&self, signers: &BTreeSet<String>, name: &str, secret: bool) -> bool {
        (self.secrets || !secret) && self.covers(name) && signers.contains(&self.key.to_string())
    }

    fn covers(&self, name: &str) -> bool {
        let is_of =
            |of: &String| name.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.scope.is_empty() || self.scope.iter().any(is_of)
    }
}

/// Reads these bytes as each document of a cache: for tests.
pub(crate) fn read_documents(bytes: &[u8]) {
    if let Ok(index) = manifest::Closure::parse(bytes) {
        for inline in index.entries.into_values().filter_map(|listed| listed.inline) {
            let _ = manifest::Entry::parse(&inline);
        }
    }
    if let Ok(entry) = manifest::Entry::parse(bytes) {
        let again = entry.encode().ok().and_then(|bytes| manifest::Entry::parse(&bytes).ok());
        assert!(again.is_some_and(|again| again.layers() == entry.layers()));
    }
    if let Ok(key) = SigningKey::from_seed(zeroize::Zeroizing::new([7; 32])) {
        let _ = envelope::open(bytes, &key.public());
    }
    let _ = statement::Statement::about(bytes, DrvId(Digest::from([0; 32])), "", &[]);
}

/// Unpacks these bytes as an object of at most 16 MiB below `dir`: for tests.
pub(crate) fn unpack(bytes: &[u8], dir: &std::path::Path) {
    if let Ok(tree) = TreeWriter::create(dir.join("tree"), Hashing(None), false) {
        let _ = pack::unpack(bytes, 16 << 20, &tree);
    }
}

/// One cache, and how far it is trusted.
#[derive(Debug, Clone)]
pub(crate) struct CacheSettings {
    pub(crate) url: CacheUrl,
    pub(crate) trust: Vec<Trusted>,
    pub(crate) access: Access,
    /// For whom secret outputs are encrypted; without any, they are not pushed.
    pub(crate) recipients: Recipients,
    /// What decrypts them again, if the user named it.
    pub(crate) identities: Option<Identities>,
}

impl CacheSettings {
    /// Whether somebody is trusted with secret outputs.
    pub(crate) fn takes_secrets(&self) -> bool {
        self.trust.iter().any(|trusted| trusted.secrets)
    }
}

/// Why a push or a prune ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CacheError {
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Store(#[from] super::store::StoreError),
    #[error(transparent)]
    Fs(#[from] crate::base::fs::Error),
    #[error("`{name}` cannot be packed")]
    Pack { name: String, source: std::io::Error },
    #[error("cache {cache}: {problem}")]
    Cache { cache: String, problem: String, advice: &'static str },
}

impl Hint for CacheError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Registry(RegistryError::Denied { place, .. }) => Some(format!(
                "pushing needs credentials that may write to {place}: in the pull secret, or in the file that `authFile` of the \
                 cache names"
            )),
            Self::Registry(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::Pack { .. } => Some("`tinderbox store verify` finds what is broken".into()),
            Self::Cache { advice, .. } => Some((*advice).into()),
        }
    }
}

type Result<T, E = CacheError> = std::result::Result<T, E>;
