//! Looks outputs up in a registry and takes them. See [`super`] for what is where.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::health::Health;
use super::manifest::{Closure, ENVELOPE, Entry, LargeFile, Listed};
use super::pack::{self, UnpackError, unpack};
use super::statement::{Predicate, Statement};
use super::{
    CacheSettings, CacheUrl, ClosureId, PublicKey, Substituted, Substituter, Trusted, Wanted, envelope,
};
use crate::base::digest::DrvId;
use crate::base::event::Events;
use crate::base::hint::chain;
use crate::engine::registry::{Access, Descriptor, ImageName, Images as _, Patience, RegistryError, Remote};
use crate::engine::store::{Session, StoreError};
use crate::engine::tree::TreeWriter;

/// The first answer comes within this time, or the build goes on without the cache.
pub(super) const FIRST_ANSWER: Duration = Duration::from_secs(2);

/// How to treat a cache: it is worth less waiting than a registry that has the only copy of something.
pub(super) fn patience() -> Patience {
    Patience {
        delays: vec![Duration::from_millis(200)],
        longest: Duration::from_secs(2),
        connect: FIRST_ANSWER,
        idle: Duration::from_secs(5),
        whole: Duration::from_secs(15),
        ..Patience::default()
    }
}

/// Tags of what a key signed.
pub(super) fn entry_tag(url: &CacheUrl, drv: DrvId, key: &PublicKey) -> ImageName {
    url.tag(format!("drv-{drv}-{}", key.name()))
}

pub(super) fn closure_tag(url: &CacheUrl, closure: ClosureId, key: &PublicKey) -> ImageName {
    url.tag(format!("closure-{}-{}", closure.0, key.name()))
}

/// A registry as a source of outputs. Opened when something is missing, not before.
pub(crate) struct OciCache {
    url: CacheUrl,
    trust: Vec<Trusted>,
    access: Access,
    remote: OnceLock<Option<Remote>>,
    health: Health,
    /// What each key's closure index says, if there is one.
    indexes: Mutex<BTreeMap<PublicKey, Closure>>,
}

/// Why an entry is not used.
enum Flaw {
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
        let CacheSettings { url, trust, access } = settings;
        let access = Access { patience: patience(), mirrors: Vec::new(), ..access };
        let (remote, health, indexes) = Default::default();
        Self { url, trust, access, remote, health, indexes }
    }

    fn remote(&self, events: &dyn Events) -> Option<&Remote> {
        if self.health.is_off() {
            return None;
        }
        let open = || {
            Remote::new(self.access.clone())
                .map_err(|error| self.health.failed(&self.url, &error, events))
                .ok()
        };
        self.remote.get_or_init(open).as_ref()
    }

    /// The bytes that a tag names; none if there is no such tag, or no answer.
    fn tagged(&self, remote: &Remote, name: &ImageName, events: &dyn Events) -> Option<Vec<u8>> {
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
    fn manifest(
        &self,
        remote: &Remote,
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
            Some(Some(Listed { digest, .. })) => {
                Some(remote.manifest(&tag, &digest).map(|(_, bytes)| bytes).map_err(Flaw::from))
            }
            None => self.tagged(remote, &tag, events).map(Ok),
        }
    }

    fn take(
        &self,
        remote: &Remote,
        session: &Session,
        wanted: &Wanted<'_>,
        key: &PublicKey,
        manifest: &[u8],
    ) -> Result<Substituted, Flaw> {
        let place = entry_tag(&self.url, wanted.drv, key);
        let entry = Entry::parse(manifest)?;
        let (predicate, mut bytes) = self.statement(remote, &place, wanted, key, &entry)?;
        let packed = small(remote, &place, &entry.pack, pack::LIMIT)?;
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
        if staged.id() != predicate.object {
            session.discard_staged(&staged);
            return Err("its content is not the object that was signed".into());
        }
        Ok(Substituted {
            staged,
            cache: self.url.to_string(),
            key: *key,
            isolation: predicate.isolation,
            bytes,
        })
    }

    /// What was signed about an entry, and how many bytes that took.
    fn statement(
        &self,
        remote: &Remote,
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

/// A whole blob, verified before anybody looks at it.
fn small(remote: &Remote, place: &ImageName, blob: &Descriptor, limit: u64) -> Result<Vec<u8>, Flaw> {
    if blob.size > limit {
        return Err("it has a blob that is too large".into());
    }
    let mut bytes = Vec::new();
    remote.blob(place, blob)?.read_to_end(&mut bytes).map_err(broken)?;
    Ok(bytes)
}

/// A large file, verified while it is written.
fn large(remote: &Remote, place: &ImageName, file: &LargeFile, tree: &TreeWriter<'_>) -> Result<(), Flaw> {
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
        for Trusted { key, .. } in self.trust.iter().filter(|trusted| trusted.covers(wanted.name)) {
            let remote = self.remote(events)?;
            let Some(manifest) = self.manifest(remote, key, wanted, events) else { continue };
            let taken = manifest.and_then(|manifest| self.take(remote, session, wanted, key, &manifest));
            match taken {
                Ok(found) => {
                    self.health.answered();
                    return Some(found);
                }
                // The tag is there, and what it names is not.
                Err(Flaw::Registry(RegistryError::NotFound { what, .. })) => {
                    self.health.distrusts(&self.url, wanted.name, &format!("{what} is missing"), events);
                }
                Err(Flaw::Registry(RegistryError::Mismatch { what, .. })) => {
                    let flaw = format!("{what} is not what its digest says");
                    self.health.distrusts(&self.url, wanted.name, &flaw, events);
                }
                Err(Flaw::Registry(error)) => self.health.failed(&self.url, &error, events),
                Err(Flaw::Entry(flaw) | Flaw::Here(flaw)) => {
                    self.health.distrusts(&self.url, wanted.name, &flaw, events);
                }
            }
        }
        None
    }
}
