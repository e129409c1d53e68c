//! Looks outputs up in a cache and takes them. See [`super`] for what is where.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::health::Health;
use super::manifest::{Closure, ENVELOPE, Entry, LargeFile, Listed, SealedEntry};
use super::pack::{self, UnpackError, unpack};
use super::sealed::{self, Content};
use super::statement::{Predicate, Statement};
use super::storage::{self, Storage};
use super::{
    CacheSettings, CacheUrl, ClosureId, Identities, PublicKey, Secrecy, Substituted, Substituter, Trusted,
    Wanted, envelope,
};
use crate::base::digest::DrvId;
use crate::base::event::Events;
use crate::base::hint::chain;
use crate::engine::registry::{Access, Descriptor, ImageName, Patience, RegistryError};
use crate::engine::store::{Session, Staged, StoreError};
use crate::engine::tree::TreeWriter;

/// The first answer comes within this time, or the build goes on without the cache.
pub(in crate::engine) const FIRST_ANSWER: Duration = Duration::from_secs(2);

/// Larger objects are not taken, whoever signed them.
const OBJECT: u64 = 64 << 30;

/// How to treat a cache: it is worth less waiting than a registry that has the only copy of something. Slower than this, it
/// helps nobody: most outputs are built in less than a second.
pub(in crate::engine) fn patience() -> Patience {
    Patience {
        delays: vec![Duration::from_millis(200)],
        longest: Duration::from_secs(2),
        connect: FIRST_ANSWER,
        idle: Duration::from_secs(5),
        whole: Duration::from_secs(15),
        lowest_pace: 16 << 10,
        pace_window: Duration::from_secs(5),
    }
}

/// Tags of what a key signed.
pub(super) fn entry_tag(url: &CacheUrl, drv: DrvId, key: &PublicKey) -> ImageName {
    url.tag(format!("drv-{drv}-{}", key.name()))
}

pub(super) fn closure_tag(url: &CacheUrl, closure: ClosureId, key: &PublicKey) -> ImageName {
    url.tag(format!("closure-{}-{}", closure.0, key.name()))
}

/// A registry or a farm as a source of outputs. Opened when something is missing, not before.
pub(crate) struct OciCache {
    pub(super) url: CacheUrl,
    pub(super) trust: Vec<Trusted>,
    access: Access,
    identities: Option<Identities>,
    remote: OnceLock<Option<Box<dyn Storage>>>,
    pub(super) health: Health,
    /// What each key's closure index says, if there is one.
    indexes: Mutex<BTreeMap<PublicKey, Closure>>,
}

/// Why an entry is not used.
pub(super) enum Flaw {
    Registry(RegistryError),
    /// The entry is wrong.
    Entry(String),
    /// Nothing is wrong with it, but it cannot be kept.
    Here(String),
}

impl From<&'static str> for Flaw {
    fn from(text: &'static str) -> Self {
        Self::Entry(text.to_owned())
    }
}

impl From<RegistryError> for Flaw {
    fn from(error: RegistryError) -> Self {
        Self::Registry(error)
    }
}

impl From<StoreError> for Flaw {
    fn from(error: StoreError) -> Self {
        Self::Here(chain(&error))
    }
}

impl From<UnpackError> for Flaw {
    fn from(error: UnpackError) -> Self {
        match error {
            UnpackError::Wrong(text) => Self::Entry(text),
            UnpackError::Tree(error) => Self::Here(chain(&error)),
        }
    }
}

impl From<crate::engine::tree::TreeError> for Flaw {
    fn from(error: crate::engine::tree::TreeError) -> Self {
        Self::Here(chain(&error))
    }
}

impl OciCache {
    pub(crate) fn new(settings: CacheSettings) -> Self {
        let CacheSettings { url, trust, access, identities, recipients: _ } = settings;
        let access = Access { patience: patience(), mirrors: Vec::new(), ..access };
        let (remote, health, indexes) = Default::default();
        Self { url, trust, access, identities, remote, health, indexes }
    }

    pub(super) fn remote(&self, events: &dyn Events) -> Option<&dyn Storage> {
        if self.health.is_off() {
            return None;
        }
        let open = || {
            storage::open(&self.url, self.access.clone())
                .map_err(|error| self.health.failed(&self.url, &error, events))
                .ok()
        };
        self.remote.get_or_init(open).as_deref()
    }

    /// The bytes that a tag names; none if there is no such tag, or no answer.
    fn tagged(&self, remote: &dyn Storage, name: &ImageName, events: &dyn Events) -> Option<Vec<u8>> {
        match remote.tagged(name, FIRST_ANSWER) {
            Ok(bytes) => {
                self.health.answered();
                Some(bytes)
            }
            Err(error) => {
                self.health.failed(&self.url, &error, events);
                None
            }
        }
    }

    /// The manifest of an entry; none if this key signed none.
    pub(super) fn manifest(
        &self,
        remote: &dyn Storage,
        key: &PublicKey,
        wanted: &Wanted<'_>,
        events: &dyn Events,
    ) -> Option<Result<Vec<u8>, Flaw>> {
        let indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = indexes.get(key).map(|index| index.entries.get(&wanted.drv).cloned());
        drop(indexes);
        let tag = entry_tag(&self.url, wanted.drv, key);
        match listed {
            // The index is of the whole closure: what it lacks is not there.
            Some(None) => None,
            Some(Some(Listed { inline: Some(bytes), .. })) => Some(Ok(bytes)),
            Some(Some(Listed { digest, .. })) => Some(remote.manifest(&tag, &digest).map_err(Flaw::from)),
            None => self.tagged(remote, &tag, events).map(Ok),
        }
    }

    pub(super) fn take(
        &self,
        remote: &dyn Storage,
        session: &Session,
        wanted: &Wanted<'_>,
        key: &PublicKey,
        manifest: &[u8],
    ) -> Result<Substituted, Flaw> {
        match (SealedEntry::is_one(manifest), wanted.secrecy) {
            (true, Secrecy::Public) => return Err("it is encrypted, and it is public here".into()),
            (true, _) => return self.take_sealed(remote, session, wanted, key, manifest),
            (false, Secrecy::Secret) => return Err("it is not encrypted, and it is secret here".into()),
            (false, _) => {}
        }
        let place = entry_tag(&self.url, wanted.drv, key);
        let entry = Entry::parse(manifest)?;
        let (predicate, mut bytes) = self.statement(remote, &place, wanted, key, &entry)?;
        bounded(&entry, predicate.size)?;
        let packed = small(remote, &place, &entry.pack, pack::limit(predicate.size))?;
        bytes += entry.layers().iter().map(|layer| layer.size).sum::<u64>();
        let tree = session.stage(false)?;
        let filled = unpack(&packed, predicate.size, &tree)
            .map_err(Flaw::from)
            .and_then(|()| entry.files.iter().try_for_each(|file| large(remote, &place, file, &tree)));
        if let Err(flaw) = filled {
            session.abandon(tree);
            return Err(flaw);
        }
        let staged = session.finish(tree, wanted.name)?;
        self.checked(session, staged, key, predicate, bytes)
    }

    /// Says why an entry is not used.
    pub(super) fn tell(&self, wanted: &Wanted<'_>, flaw: Flaw, events: &dyn Events) {
        let distrust = |flaw: &str| self.health.distrusts(&self.url, wanted.name, flaw, events);
        match flaw {
            // The tag is there, and what it names is not.
            Flaw::Registry(RegistryError::NotFound { what, .. }) => distrust(&format!("{what} is missing")),
            Flaw::Registry(RegistryError::Mismatch { what, .. }) => {
                distrust(&format!("{what} is not what its digest says"));
            }
            Flaw::Registry(error) => self.health.failed(&self.url, &error, events),
            Flaw::Entry(flaw) | Flaw::Here(flaw) => distrust(&flaw),
        }
    }

    /// The same for a secret output: nothing of it is looked at before its ciphertext proved to be what was signed.
    fn take_sealed(
        &self,
        remote: &dyn Storage,
        session: &Session,
        wanted: &Wanted<'_>,
        key: &PublicKey,
        manifest: &[u8],
    ) -> Result<Substituted, Flaw> {
        let identities = self.identities.as_ref().ok_or("no identity opens it")?;
        let place = entry_tag(&self.url, wanted.drv, key);
        let SealedEntry { envelope, blobs, .. } = SealedEntry::parse(manifest)?;
        let signed = Statement::about_sealed(&envelope::open(&envelope, key)?, wanted.drv, &blobs)?;
        let bytes = blobs.iter().map(|blob| blob.size).sum();
        let (mut left, mut flaw) = (blobs.iter(), None);
        let mut content = Content::new(|| {
            let Some(blob) = left.next() else { return Ok(None) };
            let piece = small(remote, &place, blob, sealed::LIMIT)
                .and_then(|sealed| identities.open(&sealed).map_err(Flaw::from));
            // Readers in between would hide the reason.
            piece.map(Some).map_err(|why| {
                flaw = Some(why);
                io::ErrorKind::Other.into()
            })
        });
        let unreadable = || Flaw::from("its content cannot be read");
        let filled = content.statement().map_err(|_| unreadable()).and_then(|statement| {
            let predicate: Predicate = serde_json::from_slice(&statement).map_err(|_| unreadable())?;
            if (predicate.drv, predicate.object) != (signed.drv, signed.object)
                || predicate.builder != wanted.builder
            {
                return Err("its content is about another derivation".into());
            }
            let tree = session.stage(false)?;
            match pack::fill(&mut content, (predicate.size.min(OBJECT), pack::ENTRIES), &tree, true) {
                Ok(secrets) if secrets > 0 => Ok((tree, predicate)),
                Ok(_) => {
                    session.abandon(tree);
                    Err("nothing in it is secret".into())
                }
                Err(error) => {
                    session.abandon(tree);
                    Err(error.into())
                }
            }
        });
        drop(content);
        let (tree, predicate) = filled.map_err(|other| flaw.unwrap_or(other))?;
        let staged = session.finish(tree, wanted.name)?;
        self.checked(session, staged, key, predicate, bytes)
    }

    /// An output whose content is what was signed.
    fn checked(
        &self,
        session: &Session,
        staged: Staged,
        key: &PublicKey,
        predicate: Predicate,
        bytes: u64,
    ) -> Result<Substituted, Flaw> {
        if staged.id() != predicate.object {
            session.discard_staged(&staged);
            return Err("its content is not the object that was signed".into());
        }
        let isolation = predicate.isolation;
        Ok(Substituted { staged, cache: self.url.to_string(), key: *key, isolation, bytes })
    }

    /// What was signed about an entry, and how many bytes that took.
    fn statement(
        &self,
        remote: &dyn Storage,
        place: &ImageName,
        wanted: &Wanted<'_>,
        key: &PublicKey,
        entry: &Entry,
    ) -> Result<(Predicate, u64), Flaw> {
        let (envelope, bytes) = match &entry.inline {
            Some(bytes) => (bytes.clone(), 0),
            None => (small(remote, place, &entry.statement, envelope::LIMIT)?, entry.statement.size),
        };
        if entry.statement.media_type != ENVELOPE {
            return Err("its statement is not a DSSE envelope".into());
        }
        let payload = envelope::open(&envelope, key)?;
        let layers = entry.layers();
        Ok((Statement::about(&payload, wanted.drv, wanted.builder, &layers)?, bytes))
    }
}

/// Fails if an entry has more bytes than an object of the signed size needs. The sizes in a manifest are the registry's word:
/// they say how much is read and written before a digest turns out to be wrong.
pub(super) fn bounded(entry: &Entry, signed: u64) -> Result<(), &'static str> {
    let files = entry.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.blob.size));
    match files {
        Some(files) if files <= signed.min(OBJECT) && entry.pack.size <= pack::limit(signed) => Ok(()),
        _ => Err("it has more bytes than were signed"),
    }
}

/// A whole blob, verified before anybody looks at it.
fn small(remote: &dyn Storage, place: &ImageName, blob: &Descriptor, limit: u64) -> Result<Vec<u8>, Flaw> {
    if blob.size > limit {
        return Err("it has a blob that is too large".into());
    }
    let mut bytes = Vec::new();
    remote.blob(place, blob)?.read_to_end(&mut bytes).map_err(broken)?;
    Ok(bytes)
}

/// A large file, verified while it is written.
fn large(
    remote: &dyn Storage,
    place: &ImageName,
    file: &LargeFile,
    tree: &TreeWriter<'_>,
) -> Result<(), Flaw> {
    let mut blob = remote.blob(place, &file.blob)?;
    let mut to = tree.file(&file.path, file.exec)?;
    io::copy(&mut blob, &mut to).map_err(broken)?;
    Ok(to.finish()?)
}

fn broken(error: io::Error) -> Flaw {
    match RegistryError::from_io(error) {
        Ok(error) => Flaw::Registry(error),
        Err(error) => Flaw::Here(error.to_string()),
    }
}

impl Substituter for OciCache {
    fn begin(&self, closure: ClosureId, events: &dyn Events) {
        for Trusted { key, .. } in &self.trust {
            let Some(remote) = self.remote(events) else { return };
            let tag = closure_tag(&self.url, closure, key);
            let Some(bytes) = self.tagged(remote, &tag, events) else { continue };
            match Closure::parse(&bytes) {
                Ok(index) => {
                    let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
                    indexes.insert(*key, index);
                }
                Err(flaw) => self.health.distrusts(&self.url, "the closure", flaw, events),
            }
        }
    }

    fn substitute(&self, session: &Session, wanted: &Wanted<'_>, events: &dyn Events) -> Option<Substituted> {
        for Trusted { key, secrets, .. } in self.trust.iter().filter(|trusted| trusted.covers(wanted.name)) {
            let opens = *secrets && self.identities.is_some();
            if wanted.secrecy == Secrecy::Secret && !opens {
                continue;
            }
            let remote = self.remote(events)?;
            let Some(manifest) = self.manifest(remote, key, wanted, events) else { continue };
            // What others may read is no flaw.
            if !opens && manifest.as_ref().is_ok_and(|manifest| SealedEntry::is_one(manifest)) {
                continue;
            }
            let taken = manifest.and_then(|manifest| self.take(remote, session, wanted, key, &manifest));
            match taken {
                Ok(found) => {
                    self.health.answered();
                    return Some(found);
                }
                Err(flaw) => self.tell(wanted, flaw, events),
            }
        }
        None
    }
}
