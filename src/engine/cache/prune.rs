//! Removes what no kept closure names: closure indexes are the roots of a cache. Outputs that were pushed without an index,
//! and every tag that is not ours, are left alone.

use std::collections::{BTreeMap, BTreeSet};

use super::attest::attestations_of;
use super::manifest::Closure;
use super::{CacheError, CacheSettings, Result, Scheme};
use crate::base::event::{Event, Events};
use crate::engine::registry::{Access, Images as _, RegistryError, Remote, Sha256};

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Pruned {
    pub(crate) kept: usize,
    /// Closure indexes that were removed.
    pub(crate) closures: usize,
    /// Outputs that were removed.
    pub(crate) entries: usize,
}

/// Keeps the newest closures of every key, and what they name.
pub(crate) fn prune(
    settings: CacheSettings,
    keep: usize,
    dry_run: bool,
    events: &dyn Events,
) -> Result<Pruned> {
    let CacheSettings { url, access, .. } = settings;
    if url.scheme != Scheme::Oci {
        return Err(CacheError::Cache {
            cache: url.to_string(),
            problem: "only registries are pruned".to_owned(),
            advice: "a farm drops what nobody has asked for in a while, by its own configuration",
        });
    }
    let remote = Remote::new(Access { mirrors: Vec::new(), ..access })?;
    let refused = |problem: &str| CacheError::Cache {
        cache: url.to_string(),
        problem: problem.to_owned(),
        advice: "docker-registry deletes only with `storage: {delete: {enabled: true}}`; other registries need a role that may",
    };
    let place = url.tag("latest".to_owned());
    let tags = match remote.tags(&place) {
        Err(RegistryError::NotFound { .. }) => Vec::new(), // nobody pushed yet
        tags => tags?,
    };
    // By signer, newest first.
    let mut closures: BTreeMap<String, Vec<(String, Sha256, Vec<Sha256>)>> = BTreeMap::new();
    for tag in tags.iter().filter(|tag| tag.starts_with("closure-")) {
        let Some((_, key)) = tag.rsplit_once('-') else { continue };
        let bytes = match remote.tagged(&url.tag(tag.clone()), super::oci::patience().whole) {
            Ok(bytes) => bytes,
            Err(RegistryError::NotFound { .. }) => continue, // somebody else prunes
            Err(error) => return Err(error.into()),
        };
        match Closure::parse(&bytes) {
            Ok(index) => {
                let named = index.entries.into_values().map(|listed| listed.digest).collect();
                let found = (index.created, Sha256::of(&bytes), named);
                closures.entry(key.to_owned()).or_default().push(found);
            }
            Err(flaw) => {
                events.emit(Event::Warning { text: format!("cache {url}: `{tag}` is left alone: {flaw}") })
            }
        }
    }
    let (mut done, mut kept, mut gone) = (Pruned::default(), BTreeSet::new(), BTreeSet::new());
    let mut indexes = BTreeSet::new();
    for (_, mut of_key) in closures {
        of_key.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        for (at, (_, digest, named)) in of_key.into_iter().enumerate() {
            if at < keep {
                done.kept += 1;
                kept.extend(named);
            } else {
                indexes.insert(digest);
                gone.extend(named);
            }
        }
    }
    // Indexes first: what has an index is complete.
    for digest in &indexes {
        if let (false, Some(attestations)) = (dry_run, resolved(&remote, &attestations_of(&url, digest))?) {
            remove(&remote, &place.at(attestations), &refused)?;
        }
        done.closures += usize::from(dry_run || remove(&remote, &place.at(*digest), &refused)?);
    }
    for digest in gone.difference(&kept) {
        done.entries += usize::from(dry_run || remove(&remote, &place.at(*digest), &refused)?);
    }
    Ok(done)
}

/// What a tag names; none if there is no such tag.
fn resolved(remote: &Remote, tag: &crate::engine::registry::ImageName) -> Result<Option<Sha256>> {
    match remote.resolve(tag) {
        Ok(digest) => Ok(Some(digest)),
        Err(RegistryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn remove(
    remote: &Remote,
    image: &crate::engine::registry::ImageName,
    refused: &dyn Fn(&str) -> CacheError,
) -> Result<bool> {
    match remote.delete(image) {
        Ok(()) => Ok(true),
        Err(RegistryError::NotFound { .. }) => Ok(false),
        Err(RegistryError::Unreachable { reason, .. }) if reason.contains("405") => {
            Err(refused("the registry does not allow to delete"))
        }
        Err(error) => Err(error.into()),
    }
}
