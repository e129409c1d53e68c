//! A fleet, its seed and lock; and a site as what every verb works on: a cluster directory, on the disk or in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::base::event::Event;
use crate::base::hint::near;
use crate::base::secret::Seed;
use crate::cli::{Error, Result};
use crate::openshift::fleet::{self, FLEET, Fleet, FleetLock, Layered, Rendered, Site, SiteKind};
use crate::openshift::lock::Lock;
use crate::openshift::workspace::{Env, Missing, SiteDir, WorkspaceError, read_cluster, seed, this_second};

/// Which sites a verb is about.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct Selection {
    /// Only sites whose name has this in it; with a `*`, those that are like the whole pattern; may be repeated
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Only sites of this group; may be repeated
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
}

impl Selection {
    /// Whether it leaves out no site.
    pub(super) fn is_everything(&self) -> bool {
        let Self { only, group } = self;
        only.is_empty() && group.is_empty()
    }
}

pub(in crate::cli) struct Opened {
    pub(super) fleet: Fleet,
    seed: Option<Seed>,
    lock: Mutex<Option<FleetLock>>,
    missing: Missing,
}

impl Opened {
    /// Reads a fleet. Where something is to be built, a missing seed is created, unless there is a lock.
    pub(in crate::cli) fn open(env: Env<'_>, missing: Missing) -> Result<Self> {
        let fleet = Fleet::load(env.directory)?;
        let lock = FleetLock::read(&fleet.path)?;
        let fingerprint = lock.as_ref().and_then(|lock| lock.seed);
        let seed = match fleet.needs_seed() && missing != Missing::Unneeded {
            true => fleet::fleet_seed(env, &fleet.path, fingerprint)?,
            false => None,
        };
        let seed = match seed {
            None if fleet.needs_seed() && missing == Missing::Make => {
                let seed = fleet::make_seed(&fleet.path)?;
                let text = "wrote fleet.seed: the identity of every site; back it up, and never commit it";
                env.events.emit(Event::Notice { text: text.to_owned() });
                Some(seed)
            }
            None if missing != Missing::Make => Some(seed::imagined()),
            seed => seed,
        };
        if missing == Missing::Make {
            warn(env, &fleet);
        }
        Ok(Self { fleet, seed, lock: Mutex::new(lock), missing })
    }

    /// The sites of a selection, in the order of the files.
    pub(super) fn select(&self, selection: &Selection) -> Result<Vec<&Site>> {
        let Selection { only, group } = selection;
        if let Some(name) = group.iter().find(|name| !self.fleet.groups.contains_key(*name)) {
            let hint = near(name, self.fleet.groups.keys().map(String::as_str));
            let hint = hint
                .map_or_else(|| format!("groups are in {FLEET}"), |near| format!("did you mean `{near}`?"));
            return Err(Error::usage(format!("there is no group `{name}`"), hint));
        }
        let is_wanted = |site: &&Site| {
            let named = only.is_empty()
                || only.iter().any(|pattern| crate::cli::targets::matches(pattern, &site.name));
            let grouped = group.is_empty()
                || matches!(&site.kind, SiteKind::Layered(layered) if group.iter().any(|name| layered.groups.contains(name)));
            named && grouped
        };
        let found: Vec<&Site> = self.fleet.sites.iter().filter(is_wanted).collect();
        match found.is_empty() {
            true => Err(Error::usage("no site is selected", "`tinderbox fleet status` lists all")),
            false => Ok(found),
        }
    }

    /// The site of a name.
    pub(super) fn site(&self, name: &str) -> Result<&Site> {
        self.fleet.sites.iter().find(|site| site.name == name).ok_or_else(|| {
            let hint = near(name, self.fleet.sites.iter().map(|site| site.name.as_str()));
            let hint = hint.map_or_else(
                || "`tinderbox fleet status` lists all".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            Error::usage(format!("there is no site `{name}`"), hint)
        })
    }

    /// Does something with a site's cluster directory.
    pub(in crate::cli) fn within<T>(
        &self,
        env: Env<'_>,
        name: &str,
        work: impl FnOnce(Env<'_>) -> Result<T>,
    ) -> Result<T> {
        let site = self.site(name)?;
        match &site.kind {
            SiteKind::Directory(path) => work(Env { directory: path, ..env }),
            SiteKind::Layered(layered) => {
                let rendered = fleet::rendered(&self.fleet, site, layered);
                self.within_layered(env, layered, rendered, work)
            }
        }
    }

    /// The same for a site whose layers are put together.
    pub(super) fn within_layered<T>(
        &self,
        env: Env<'_>,
        layered: &Layered,
        rendered: Rendered,
        work: impl FnOnce(Env<'_>) -> Result<T>,
    ) -> Result<T> {
        let site = self.directory(env, layered, rendered).map_err(|error| self.located(layered, error))?;
        work(Env { site: Some(&site), directory: &self.fleet.path, ..env })
            .map_err(|error| self.located(layered, error))
    }

    fn directory(&self, env: Env<'_>, layered: &Layered, rendered: Rendered) -> Result<SiteDir> {
        let Rendered { name, directory, domain, .. } = rendered;
        let cluster = read_cluster(&directory)?;
        let seed = self.seed_of(layered, &domain)?;
        let (key, fingerprint) = (fleet::pin_key(&cluster), seed.fingerprint());
        let pinned = || self.lock().as_ref().and_then(|lock| lock.of_site(&name, &key, fingerprint));
        let epoch = || self.lock().map_or_else(this_second, |lock| lock.epoch_of(&name));
        let found = pinned();
        let is_pinned = found.is_some();
        let lock = found.unwrap_or_else(|| Lock::new(epoch()));
        let mut site = SiteDir { name: name.clone(), directory, cluster, lock, seed };
        if !is_pinned && self.missing == Missing::Make {
            let of_fleet = self.seed.as_ref().map(Seed::fingerprint);
            let lock = fleet::pin(env, &self.fleet.path, of_fleet, &site)?;
            *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
            site.lock = pinned().unwrap_or(site.lock);
        }
        Ok(site)
    }

    /// Makes the lock of a fleet that has none, before any site is looked at: the epoch is part of each. A site that cannot be
    /// read says so later.
    pub(super) fn ensure_lock(&self, env: Env<'_>, sites: &[&Site]) {
        let is_layered = |site: &&&Site| matches!(site.kind, SiteKind::Layered(_));
        for site in sites.iter().filter(is_layered) {
            if self.lock().is_some() || env.cancel.is_set() {
                return;
            }
            let _ = self.within(env, &site.name, |_| Ok(()));
        }
    }

    pub(super) fn lock(&self) -> Option<FleetLock> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The seed of a site, if it can be said.
    pub(super) fn seed_of(&self, layered: &Layered, domain: &str) -> Result<Seed> {
        Ok(layered.seed(&self.fleet.path, self.seed.as_ref(), domain)?)
    }

    fn located(&self, layered: &Layered, error: Error) -> Error {
        match error {
            Error::Workspace(WorkspaceError::Problems { problems }) => {
                self.fleet.locate(layered, problems).into()
            }
            error => error,
        }
    }
}

/// What is wrong with a fleet, but stops nothing.
fn warn(env: Env<'_>, fleet: &Fleet) {
    fleet::warn_of_exposed(env, fleet);
    if !fleet.unused.is_empty() {
        let columns: Vec<String> = fleet.unused.iter().map(|column| format!("`{column}`")).collect();
        let word = if columns.len() == 1 { "column" } else { "columns" };
        let text = format!("no layer uses the {word} {} of the sites", columns.join(", "));
        env.events.emit(Event::Notice { text });
    }
    if !fleet.left_out.is_empty() {
        // Fields by the reason for leaving them out.
        let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for left in &fleet.left_out {
            let is_name = |part: &&str| part.parse::<usize>().is_err();
            if let Some(name) = left.place.field.rsplit('.').find(is_name).filter(|name| !name.is_empty()) {
                reasons.entry(left.reason.as_str()).or_default().insert(name);
            }
        }
        let told = reasons.into_iter().map(|(reason, fields)| {
            format!("{} ({reason})", fields.into_iter().collect::<Vec<_>>().join(", "))
        });
        let text = format!(
            "left out of ClusterInstance and SiteConfig documents: {}",
            told.collect::<Vec<_>>().join("; ")
        );
        env.events.emit(Event::Notice { text });
    }
}
