//! Pushes outputs: blobs first, then the manifest, then its tag; last the closure index. Every blob is asked for even where the
//! tag exists, so a push repairs what somebody deleted. What is there already is not sent again.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use sha2::Digest as _;

use super::manifest::{Closure, ENVELOPE, Entry, FILE, INDEX, LargeFile, MANIFEST, PACK, SealedEntry};
use super::oci::{closure_tag, entry_tag, patience};
use super::pack::{LARGE, pack, write_all};
use super::sealed::{SealedPredicate, Sealer};
use super::statement::{Predicate, Statement};
use super::storage::{self, Open, Storage};
use super::{CacheError, CacheSettings, CacheUrl, ClosureId, Recipients, Result, SigningKey, envelope};
use crate::base::digest::DrvId;
use crate::base::event::{Event, Events};
use crate::base::fs;
use crate::engine::registry::{Access, Descriptor, ImageName, RegistryError, Sha256};
use crate::engine::store::{Object, Output, Session, Trace};
use crate::engine::tree::EntryKind;

/// Uploads at the same time: each waits for the network most of the time.
const UPLOADS: usize = 8;

/// The media type of an encrypted blob.
const AGE: &str = "application/vnd.tinderbox.sealed.v1+age";

/// How often a blob is sent before the push fails.
const TRIES: usize = 3;

/// Why an output stays here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unshared {
    /// Somebody else built it, and has signed it: our signature would be no proof.
    Substituted,
    /// It is secret, or some of it is, and nobody could decrypt it there.
    Secret,
    /// A farm executed it: our signature would be no proof either.
    Executed,
    /// Nothing says how it was built.
    Untraced,
    /// The same derivation gave different bytes.
    Diverged,
}

/// Why an output is not shared with a cache; none if it is.
pub(crate) fn unshared(
    object: &Object,
    trace: Option<&Trace>,
    outputs: usize,
    recipients: &Recipients,
) -> Option<Unshared> {
    match trace {
        _ if object.listing.root().secret && recipients.is_empty() => Some(Unshared::Secret),
        _ if outputs > 1 => Some(Unshared::Diverged),
        None => Some(Unshared::Untraced),
        Some(trace) if trace.substituted.is_some() => Some(Unshared::Substituted),
        Some(trace) if trace.executor.is_some() => Some(Unshared::Executed),
        Some(_) => None,
    }
}

/// What a push did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Pushed {
    /// Outputs that are at the cache now, signed by our key.
    pub(crate) entries: usize,
    /// Those of them that are secret, and encrypted.
    pub(crate) sealed: usize,
    /// Those that were not there, or not whole.
    pub(crate) new: usize,
    pub(crate) blobs: u64,
    pub(crate) bytes: u64,
    pub(crate) manifests: u64,
    /// Outputs that the cache has with other bytes, signed by the same key: they were left alone.
    pub(crate) diverged: Vec<String>,
}

/// An output to push.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) label: String,
    pub(crate) drv: DrvId,
    pub(crate) output: Output,
    pub(crate) trace: Trace,
    /// Leaves only encrypted.
    pub(crate) secret: bool,
}

/// Signs outputs and pushes them.
pub(crate) struct Publisher<'a> {
    url: CacheUrl,
    remote: Box<dyn Storage>,
    recipients: Recipients,
    key: &'a SigningKey,
    session: &'a Session,
    events: &'a dyn Events,
    blobs: AtomicU64,
    bytes: AtomicU64,
    manifests: AtomicU64,
}

impl<'a> Publisher<'a> {
    pub(crate) fn new(
        settings: CacheSettings,
        key: &'a SigningKey,
        session: &'a Session,
        events: &'a dyn Events,
    ) -> Result<Self> {
        // A push is what the user waits for: it has the patience of every other upload.
        let access = Access { mirrors: Vec::new(), ..settings.access.clone() };
        let access = Access {
            patience: crate::engine::registry::Patience { connect: patience().connect, ..access.patience },
            ..access
        };
        let remote = storage::open(&settings.url, access)?;
        let (blobs, bytes, manifests) = Default::default();
        let CacheSettings { url, recipients, .. } = settings;
        Ok(Self { url, remote, recipients, key, session, events, blobs, bytes, manifests })
    }

    /// Pushes outputs, and the index that says what there is of their closure.
    pub(crate) fn push(&self, closure: ClosureId, outputs: &[Shared], now: &str) -> Result<Pushed> {
        let done = Mutex::new((Pushed::default(), BTreeMap::new()));
        let one = |shared: &Shared| {
            let (manifest, new) = if shared.secret { self.sealed(shared) } else { self.entry(shared) }?;
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            match manifest {
                Some(manifest) => {
                    done.0.entries += 1;
                    done.0.sealed += usize::from(shared.secret);
                    done.0.new += usize::from(new);
                    done.1.insert(shared.drv, manifest);
                }
                None => done.0.diverged.push(shared.label.clone()),
            }
            Ok::<(), CacheError>(())
        };
        let all = || outputs.par_iter().with_max_len(1).try_for_each(one);
        match rayon::ThreadPoolBuilder::new().num_threads(UPLOADS).build() {
            Ok(pool) => pool.install(all),
            Err(_) => all(),
        }?;
        let (mut pushed, manifests) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.closure(closure, &manifests, now)?;
        pushed.diverged.sort();
        pushed.blobs = self.blobs.load(Ordering::Relaxed);
        pushed.bytes = self.bytes.load(Ordering::Relaxed);
        pushed.manifests = self.manifests.load(Ordering::Relaxed);
        Ok(pushed)
    }

    /// Pushes one output. Its manifest, and whether something of it was missing; no manifest if the cache has other bytes from
    /// this key.
    fn entry(&self, shared: &Shared) -> Result<(Option<Vec<u8>>, bool)> {
        let tag = entry_tag(&self.url, shared.drv, &self.key.public());
        let object = self.session.store().object(shared.output.object)?;
        // Nothing that somebody changed in the store gets our name on it.
        self.session.verify_use(&object, "")?;
        let packed = pack(&object.path, &object.listing)
            .map_err(|source| CacheError::Pack { name: shared.label.clone(), source })?;
        let files = large_files(&object)?;
        let entry = self.signed(shared, &object, &packed, files)?;
        let manifest = entry.encode().map_err(|error| self.unencodable(error))?;
        let there = self.tagged(&tag)?;
        if there.as_ref().is_some_and(|there| *there != manifest && self.vouches_for_another(there, shared)) {
            return Ok((None, false));
        }
        let inline = entry.inline.as_deref().unwrap_or_default();
        let sent = [self.blob(&tag, &entry.statement, inline)?, self.blob(&tag, &entry.pack, &packed)?];
        let mut new = sent.contains(&true);
        for file in &entry.files {
            new |= self.file(&tag, &file.blob, &object.path.join(&file.path))?;
        }
        if new || there.as_ref() != Some(&manifest) {
            new = true;
            self.put_manifest(&tag, MANIFEST, &manifest)?;
        }
        self.events.emit(Event::Pushed { name: shared.label.clone(), bytes: entry_size(&entry), new });
        Ok((Some(manifest), new))
    }

    /// The same for a secret output. Encryption gives other bytes each time, so what is there stays if it is of the same object,
    /// for the same recipients, and whole.
    fn sealed(&self, shared: &Shared) -> Result<(Option<Vec<u8>>, bool)> {
        let tag = entry_tag(&self.url, shared.drv, &self.key.public());
        let object = self.session.store().object(shared.output.object)?;
        self.session.verify_use(&object, "")?;
        let id_key = self.session.key().ok_or(crate::engine::tree::TreeError::NoKey);
        let recipients = self.recipients.fingerprint(id_key.map_err(crate::engine::store::StoreError::from)?);
        let signed = SealedPredicate { drv: shared.drv, object: object.id, recipients };
        let there = self.tagged(&tag)?;
        if let Some((manifest, known, blobs)) = there.and_then(|there| self.known_sealed(there, shared.drv)) {
            if known.object != signed.object {
                return Ok((None, false));
            }
            let has = |blob| self.remote.has_blob(&tag, blob);
            if known == signed && blobs.iter().map(has).collect::<Result<Vec<_>, _>>()?.iter().all(|has| *has)
            {
                self.events.emit(Event::Pushed { name: shared.label.clone(), bytes: 0, new: false });
                return Ok((Some(manifest), false));
            }
        }
        let entry = self.seal(shared, &object, signed, &tag)?;
        let manifest = entry.encode().map_err(|error| self.unencodable(error))?;
        self.blob(&tag, &entry.statement, &entry.envelope)?;
        self.put_manifest(&tag, MANIFEST, &manifest)?;
        let bytes = entry.blobs.iter().map(|blob| blob.size).sum();
        self.events.emit(Event::Pushed { name: shared.label.clone(), bytes, new: true });
        Ok((Some(manifest), true))
    }

    /// What our key says of a sealed output that the cache has.
    fn known_sealed(
        &self,
        manifest: Vec<u8>,
        drv: DrvId,
    ) -> Option<(Vec<u8>, SealedPredicate, Vec<Descriptor>)> {
        let SealedEntry { envelope, mut blobs, statement } = SealedEntry::parse(&manifest).ok()?;
        let payload = envelope::open(&envelope, &self.key.public()).ok()?;
        let signed = Statement::about_sealed(&payload, drv, &blobs).ok()?;
        blobs.push(statement);
        Some((manifest, signed, blobs))
    }

    /// Encrypts an object, and sends each blob as soon as it is ready.
    fn seal(
        &self,
        shared: &Shared,
        object: &Object,
        signed: SealedPredicate,
        tag: &ImageName,
    ) -> Result<SealedEntry> {
        let (mut blobs, mut failed) = (Vec::new(), None);
        let mut pass = |bytes: Vec<u8>| {
            let blob = descriptor(AGE, &bytes);
            let sent = self.blob(tag, &blob, &bytes);
            blobs.push(blob);
            sent.map(drop).map_err(|error| {
                failed = Some(error);
                std::io::ErrorKind::Other.into()
            })
        };
        let statement = serde_json::to_vec(&self.predicate(shared, object));
        let statement = statement.map_err(|error| self.unencodable(error))?;
        let sealed = Sealer::new(&self.recipients, &statement, &mut pass)
            .and_then(|sealer| write_all(sealer, &object.path, &object.listing)?.finish());
        match (sealed, failed) {
            (_, Some(error)) => return Err(error),
            (Err(source), None) => return Err(CacheError::Pack { name: shared.label.clone(), source }),
            (Ok(()), None) => {}
        }
        let statement = serde_json::to_vec(&Statement::of_sealed(signed, &blobs));
        let envelope = statement.and_then(|statement| envelope::seal(&statement, self.key));
        let envelope = envelope.map_err(|error| self.unencodable(error))?;
        Ok(SealedEntry { statement: descriptor(ENVELOPE, &envelope), envelope, blobs })
    }

    fn predicate(&self, shared: &Shared, object: &Object) -> Predicate {
        let Trace { inputs, isolation, .. } = &shared.trace;
        Predicate {
            drv: shared.drv,
            object: object.id,
            name: shared.output.name.clone(),
            builder: shared.trace.builder().to_owned(),
            inputs: inputs.iter().map(|(alias, input)| (alias.clone(), input.object)).collect(),
            isolation: isolation.clone(),
            executor: "local".to_owned(),
            tinderbox: env!("CARGO_PKG_VERSION").to_owned(),
            size: object.listing.size(),
        }
    }

    fn signed(
        &self,
        shared: &Shared,
        object: &Object,
        packed: &[u8],
        files: Vec<LargeFile>,
    ) -> Result<Entry> {
        let predicate = self.predicate(shared, object);
        let pack = descriptor(PACK, packed);
        let layers = std::iter::once((None, pack.digest));
        let layers: Vec<_> =
            layers.chain(files.iter().map(|file| (Some(file.path.clone()), file.blob.digest))).collect();
        let statement = serde_json::to_vec(&Statement::new(predicate, &layers));
        let envelope = statement.and_then(|statement| envelope::seal(&statement, self.key));
        let envelope = envelope.map_err(|error| self.unencodable(error))?;
        Ok(Entry { statement: descriptor(ENVELOPE, &envelope), inline: Some(envelope), pack, files })
    }

    /// Whether this key already says that the derivation gave another object.
    fn vouches_for_another(&self, manifest: &[u8], shared: &Shared) -> bool {
        let Ok(Entry { inline: Some(envelope), .. }) = Entry::parse(manifest) else { return false };
        let Ok(payload) = envelope::open(&envelope, &self.key.public()) else { return false };
        serde_json::from_slice::<Statement>(&payload).is_ok_and(|Statement { predicate, .. }| {
            predicate.drv == shared.drv && predicate.object != shared.output.object
        })
    }

    fn closure(&self, closure: ClosureId, manifests: &BTreeMap<DrvId, Vec<u8>>, now: &str) -> Result<()> {
        let tag = closure_tag(&self.url, closure, &self.key.public());
        let there = self.tagged(&tag)?;
        let known = there.as_deref().and_then(|bytes| Closure::parse(bytes).ok());
        let created = known.map(|known| known.created).filter(|created| !created.is_empty());
        let index = Closure::encode(manifests, created.as_deref().unwrap_or(now));
        let index = index.map_err(|error| self.unencodable(error))?;
        if there.as_ref() != Some(&index) {
            self.put_manifest(&tag, INDEX, &index)?;
        }
        Ok(())
    }

    fn unencodable(&self, error: serde_json::Error) -> CacheError {
        let advice = "this is a bug of tinderbox";
        CacheError::Cache { cache: self.url.to_string(), problem: error.to_string(), advice }
    }

    fn tagged(&self, tag: &ImageName) -> Result<Option<Vec<u8>>> {
        match self.remote.tagged(tag, patience().whole) {
            Ok(bytes) => Ok(Some(bytes)),
            // What is there and is not what it says is pushed again.
            Err(RegistryError::NotFound { .. } | RegistryError::Mismatch { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn put_manifest(&self, tag: &ImageName, media_type: &str, bytes: &[u8]) -> Result<()> {
        let crate::engine::registry::Reference::Tag(name) = &tag.reference else { return Ok(()) };
        self.remote.put_manifest(tag, media_type, bytes, name)?;
        self.manifests.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Sends a blob that the cache lacks. Whether it did.
    fn blob(&self, place: &ImageName, blob: &Descriptor, bytes: &[u8]) -> Result<bool> {
        self.send(place, blob, &|| Ok(Box::new(bytes)))
    }

    fn file(&self, place: &ImageName, blob: &Descriptor, path: &std::path::Path) -> Result<bool> {
        self.send(place, blob, &|| Ok(Box::new(fs::open(path)?)))
    }

    fn send<'b>(&self, place: &ImageName, blob: &Descriptor, open: &Open<'b>) -> Result<bool> {
        if self.remote.has_blob(place, blob)? {
            return Ok(false);
        }
        for left in (0..TRIES).rev() {
            match self.remote.put_blob(place, blob, open) {
                Err(RegistryError::Unreachable { .. }) if left > 0 => {}
                Err(error) => return Err(error.into()),
                Ok(()) => break,
            }
        }
        self.blobs.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(blob.size, Ordering::Relaxed);
        Ok(true)
    }
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Descriptor {
    Descriptor { media_type: media_type.to_owned(), digest: Sha256::of(bytes), size: bytes.len() as u64 }
}

fn entry_size(entry: &Entry) -> u64 {
    entry.layers().iter().map(|layer| layer.size).sum()
}

/// The files that are blobs of their own.
fn large_files(object: &Object) -> Result<Vec<LargeFile>> {
    let mut files = Vec::new();
    for (path, entry) in object.listing.leaves("") {
        if let EntryKind::File { exec, size } = entry.kind
            && size > LARGE
        {
            let digest = fs::hash(&object.path.join(path))?.finalize();
            let digest = Sha256::from_bytes(digest.into());
            let blob = Descriptor { media_type: FILE.to_owned(), digest, size };
            files.push(LargeFile { path: path.to_owned(), exec, blob });
        }
    }
    Ok(files)
}
