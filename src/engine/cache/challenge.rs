//! What each signer says a derivation gave, for comparison: nothing is taken, and nobody is believed.

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{Entry, SealedEntry};
use super::oci::OciCache;
use super::statement::Statement;
use super::{PublicKey, Substituted, Wanted, envelope};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::event::Events;
use crate::engine::store::Session;

/// What a signature says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) key: PublicKey,
    pub(crate) object: ObjectId,
}

/// Entries that nobody here can check: by the name of the key that their tags have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub(crate) key: String,
    pub(crate) entries: usize,
}

impl OciCache {
    pub(crate) fn name(&self) -> String {
        self.url.to_string()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = PublicKey> {
        self.trust.iter().map(|trusted| trusted.key)
    }

    /// What every trusted key says of a derivation, whatever its scope. A statement with a flaw is none, and is said.
    pub(crate) fn claims(&self, wanted: &Wanted<'_>, events: &dyn Events) -> Vec<Claim> {
        let mut claims = Vec::new();
        for key in self.keys() {
            let Some(remote) = self.remote(events) else { break };
            match self.manifest(remote, &key, wanted, events) {
                Some(Ok(manifest)) => match claimed(&manifest, &key, wanted) {
                    Ok(object) => claims.push(Claim { key, object }),
                    Err(flaw) => self.health.distrusts(&self.url, wanted.name, flaw, events),
                },
                Some(Err(flaw)) => self.tell(wanted, flaw, events),
                None => {}
            }
        }
        claims
    }

    /// The output that a key claims, verified.
    pub(crate) fn fetch(
        &self,
        session: &Session,
        wanted: &Wanted<'_>,
        key: &PublicKey,
        events: &dyn Events,
    ) -> Option<Substituted> {
        let remote = self.remote(events)?;
        let manifest = self.manifest(remote, key, wanted, events)?;
        let taken = manifest.and_then(|manifest| self.take(remote, session, wanted, key, &manifest));
        taken.map_err(|flaw| self.tell(wanted, flaw, events)).ok()
    }

    /// Keys that signed outputs of these derivations, and that nobody here knows.
    pub(crate) fn unknown(&self, drvs: &BTreeSet<DrvId>, events: &dyn Events) -> Vec<Unknown> {
        let Some(remote) = self.remote(events) else { return Vec::new() };
        let tags = match remote.tags(&self.url.tag("latest".to_owned())) {
            Ok(tags) => tags,
            Err(error) => {
                self.health.failed(&self.url, &error, events);
                return Vec::new();
            }
        };
        let known: BTreeSet<String> = self.keys().map(|key| key.name()).collect();
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for tag in &tags {
            let parts = tag.strip_prefix("drv-").and_then(|rest| rest.split_once('-'));
            let Some((drv, key)) = parts else { continue };
            if !known.contains(key) && drv.parse().is_ok_and(|drv| drvs.contains(&drv)) {
                *found.entry(key).or_default() += 1;
            }
        }
        found.into_iter().map(|(key, entries)| Unknown { key: key.to_owned(), entries }).collect()
    }
}

/// The object that a signed manifest names.
fn claimed(manifest: &[u8], key: &PublicKey, wanted: &Wanted<'_>) -> Result<ObjectId, &'static str> {
    if SealedEntry::is_one(manifest) {
        let SealedEntry { envelope, blobs, .. } = SealedEntry::parse(manifest)?;
        return Ok(Statement::about_sealed(&envelope::open(&envelope, key)?, wanted.drv, &blobs)?.object);
    }
    let entry = Entry::parse(manifest)?;
    let envelope = entry.inline.as_ref().ok_or("its manifest has no statement")?;
    let payload = envelope::open(envelope, key)?;
    Ok(Statement::about(&payload, wanted.drv, wanted.builder, &entry.layers())?.object)
}
