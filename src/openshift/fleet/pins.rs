//! `fleet.lock`: what the outside world said, once for all sites: one epoch, and a lock for every release that a site uses.
//!
//! ```toml
//! version = 1
//! epoch = "2026-11-19T00:00:00Z"
//! seed = "…"                             # the fingerprint of fleet.seed
//!
//! [renewed]                              # sites with an epoch of their own
//! berlin = "2027-10-01T00:00:00Z"
//!
//! [pins."demo:4.18 amd64".release]       # as in cluster.lock
//! ```
//!
//! A site's cluster.lock is the pins of its release, with the fleet's epoch or its own, and the fingerprint of the site's seed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use time::OffsetDateTime;

use super::LOCK;
use crate::base::digest::KeyId;
use crate::base::event::Event;
use crate::base::fs::{self, Sharing};
use crate::base::hint::{Place, Problem, Problems, line_of};
use crate::base::time::rfc3339;
use crate::openshift::config::Cluster;
use crate::openshift::lock::Lock;
use crate::openshift::workspace::{Env, Result, SiteDir, first_lock, this_second};

const VERSION: i64 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FleetLock {
    pub epoch: OffsetDateTime,
    /// The fingerprint of fleet.seed; none while no site needs that.
    pub seed: Option<KeyId>,
    /// The epochs of sites that were renewed alone.
    pub renewed: BTreeMap<String, OffsetDateTime>,
    /// By [`key`].
    pub pins: BTreeMap<String, Lock>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    version: i64,
    epoch: String,
    seed: Option<KeyId>,
    #[serde(default)]
    renewed: BTreeMap<String, String>,
    #[serde(default)]
    pins: BTreeMap<String, toml::Table>,
}

/// What of a site's configuration decides what has to be pinned.
pub(crate) fn key(cluster: &Cluster) -> String {
    let mut key = format!("{} {}", cluster.release, cluster.architecture.as_str());
    if let Some(stream) = &cluster.os_image_stream {
        key = format!("{key} {stream}");
    }
    key
}

impl FleetLock {
    /// Reads the file; none if there is none.
    pub(crate) fn read(fleet: &Path) -> Result<Option<Self>> {
        match fs::optional(fs::read_text(&fleet.join(LOCK)))? {
            Some(text) => Ok(Some(Self::parse(&text)?)),
            None => Ok(None),
        }
    }

    pub(super) fn parse(text: &str) -> std::result::Result<Self, Problems> {
        let wrong = |line: Option<usize>, message: String| {
            let hint =
                "restore it from git: without the epoch every certificate of every site is another one";
            let place = Place { file: LOCK.to_owned(), line, field: String::new() };
            Problems(vec![Problem::new(place, message).hint(hint.to_owned())])
        };
        let raw: Raw = toml::from_str(text).map_err(|error| {
            wrong(error.span().map(|span| line_of(text, span.start)), error.message().to_owned())
        })?;
        if raw.version != VERSION {
            let message = format!("unsupported format {}; this tinderbox supports {VERSION}", raw.version);
            return Err(wrong(Some(1), message));
        }
        let header = |epoch: String| format!("version = {VERSION}\nepoch = {}\n", toml::Value::from(epoch));
        let dated = |epoch: &str| Ok(Lock::parse(LOCK, &header(epoch.to_owned()))?.epoch);
        let renewed = raw.renewed.iter().map(|(site, epoch)| Ok((site.clone(), dated(epoch)?)));
        let renewed = renewed.collect::<std::result::Result<_, Problems>>()?;
        let header = header(raw.epoch);
        let whole = |table: &toml::Table| {
            let table = toml::to_string(table).map_err(|error| wrong(None, error.to_string()))?;
            Lock::parse(LOCK, &format!("{header}{table}"))
        };
        let epoch = Lock::parse(LOCK, &header)?.epoch;
        let pins = raw.pins.iter().map(|(key, table)| Ok((key.clone(), whole(table)?)));
        Ok(Self { epoch, seed: raw.seed, renewed, pins: pins.collect::<std::result::Result<_, Problems>>()? })
    }

    pub(super) fn encode(&self) -> String {
        let Self { epoch, seed, renewed, pins } = self;
        let mut text = format!(
            "# What the outside world said, pinned once for all sites of this fleet. Commit this file: with it, fleet.yaml and the\n\
             # seed, every artifact can be made again, byte for byte.\n\
             version = {VERSION}\n\
             \n\
             # The one point in time that builds may see; certificates are valid from here on.\n\
             epoch = \"{}\"\n",
            rfc3339(*epoch)
        );
        if let Some(seed) = seed {
            text += &format!(
                "\n# The fingerprint of fleet.seed. It says nothing about the seed itself.\nseed = \"{seed}\"\n"
            );
        }
        if !renewed.is_empty() {
            text += "\n# Sites whose certificates are valid from another time on.\n[renewed]\n";
            for (site, epoch) in renewed {
                text += &format!("{site} = \"{}\"\n", rfc3339(*epoch));
            }
        }
        for (key, lock) in pins {
            let mut table: toml::Table = toml::from_str(&lock.encode()).unwrap_or_default();
            table.retain(|key, _| !["version", "epoch", "seed"].contains(&key));
            let nested: toml::Table =
                [("pins".to_owned(), toml::Table::from_iter([(key.clone(), table.into())]).into())]
                    .into_iter()
                    .collect();
            text += &format!("\n{}", toml::to_string(&nested).unwrap_or_default());
        }
        text
    }

    /// The lock of a site, if its release is pinned.
    pub(crate) fn of_site(&self, site: &str, key: &str, seed: KeyId) -> Option<Lock> {
        let pins = self.pins.get(key)?;
        Some(Lock { epoch: self.epoch_of(site), seed: Some(seed), ..pins.clone() })
    }

    /// From when on the certificates of a site are valid.
    pub(crate) fn epoch_of(&self, site: &str) -> OffsetDateTime {
        self.renewed.get(site).copied().unwrap_or(self.epoch)
    }

    /// The lock with another epoch: of all sites, or of these.
    pub(crate) fn renewed_at(&self, epoch: OffsetDateTime, sites: Option<&[&str]>) -> Self {
        match sites {
            None => Self { epoch, renewed: BTreeMap::new(), ..self.clone() },
            Some(sites) => {
                let mut lock = self.clone();
                lock.renewed.extend(sites.iter().map(|site| ((*site).to_owned(), epoch)));
                lock
            }
        }
    }

    /// Writes the file.
    pub(crate) fn write(&self, fleet: &Path) -> Result<()> {
        Ok(fs::replace(&fleet.join(LOCK), self.encode().as_bytes(), 0o644)?)
    }
}

/// The fleet's lock, with pins for this site's release: what is missing is added, with a notice. `seed` is the fingerprint of
/// fleet.seed, if there is one; the lock of `site` is not looked at.
pub(crate) fn ensure(env: Env<'_>, fleet: &Path, seed: Option<KeyId>, site: &SiteDir) -> Result<FleetLock> {
    let SiteDir { directory, cluster, .. } = site;
    let env = Env { site: Some(site), directory: fleet, ..env };
    // Another process may be pinning the same.
    let guard = fs::open(fleet)?;
    fs::lock(&guard, fleet, Sharing::Exclusive, env.cancel)?;
    let key = key(cluster);
    let found = FleetLock::read(fleet)?;
    let mut lock = match found {
        Some(lock) if lock.pins.contains_key(&key) && (lock.seed.is_some() || seed.is_none()) => {
            return Ok(lock);
        }
        Some(lock) => lock,
        None => FleetLock { epoch: this_second(), seed, renewed: BTreeMap::new(), pins: BTreeMap::new() },
    };
    lock.seed = lock.seed.or(seed);
    if !lock.pins.contains_key(&key) {
        let pins = Lock { epoch: lock.epoch, seed: None, ..first_lock(env, directory, cluster)? };
        let version = pins.release.as_ref().map(|release| release.version.as_str()).unwrap_or_default();
        let text = format!("wrote {LOCK}: release {version} is pinned for `{key}`; commit this file");
        lock.pins.insert(key, pins);
        env.events.emit(Event::Notice { text });
    }
    lock.write(fleet)?;
    Ok(lock)
}
