//! A cluster directory, read and understood: model, lock, seed and graph; and the store that it builds into.

use std::path::PathBuf;

use time::OffsetDateTime;

use super::directory::{CLUSTER, INSTALL_CONFIG, LOCK};
use super::release::Origin;
use super::seed;
use super::{ClusterDir, Env, OpsError, Result, StoreChoice};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems, did_you_mean, near};
use crate::base::secret::{IdKey, Seed};
use crate::base::value::Value;
use crate::engine::builders::{Files, Location};
use crate::engine::exec::Context;
use crate::engine::fields::{Field, Fields, Origins, Projected};
use crate::engine::recipe::{self, Absent, Graph};
use crate::engine::registry::{Deferred, Opened};
use crate::engine::sandbox::Sandbox;
use crate::engine::store::{Roots, Session, Store, StoreError};
use crate::openshift::builders;
use crate::openshift::config::{self, Cluster, Source};
use crate::openshift::knowledge::{HandOver, Knowledge, Release, TrustEdge};
use crate::openshift::lock::{Lock, LockedRelease};

/// What recipes of live ISOs ask for.
const LOCAL_ISO: &str = "lock.rhcos.iso.local";

/// What recipes may compare by a short name in `when`: what the lock pins, not what the user asked for.
const CONDITIONS: [(&str, &str); 2] =
    [("release", "lock.release.version"), ("flavor", "lock.release.flavor")];

/// What to do when lock or seed are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Make them, with a notice.
    Make,
    /// Go on as if they were there; nothing is written.
    Imagine,
}

/// A cluster directory, read and understood.
pub(crate) struct Workspace {
    pub directory: ClusterDir,
    pub cluster: Cluster,
    pub fields: Fields,
    pub graph: Graph,
    pub knowledge: Knowledge,
    /// The pinned release; none if there is none yet, or its version says nothing.
    release: Option<Release>,
    /// Where the images of the pinned release come from.
    images: Option<Deferred>,
    /// Files that the lock pins.
    files: Files,
    seed: Seed,
    sandbox: Sandbox,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Workspace {
    /// Reads everything. The user's files are read and never changed.
    pub(crate) fn load(env: Env<'_>, missing: Missing) -> Result<Self> {
        let directory = ClusterDir::open(env.directory)?;
        let cluster = read_cluster(&directory)?;
        check_names(env, &cluster)?;
        let lock = read_lock(env, &directory, &cluster, missing)?;
        let seed = read_seed(env, &directory, missing)?;
        Self::assemble(env, directory, cluster, &lock, seed)
    }

    /// Reads everything, as if this release were pinned. Nothing is written in the directory.
    pub(super) fn load_release(env: Env<'_>, release: &LockedRelease) -> Result<Self> {
        Self::load_changed(env, |lock| lock.release = Some(release.clone()))
    }

    /// Reads everything, as if the lock were changed like this. Nothing is written in the directory.
    pub(super) fn load_changed(env: Env<'_>, change: impl FnOnce(&mut Lock)) -> Result<Self> {
        let directory = ClusterDir::open(env.directory)?;
        let cluster = read_cluster(&directory)?;
        let mut lock = read_lock(env, &directory, &cluster, Missing::Imagine)?;
        change(&mut lock);
        let seed = read_seed(env, &directory, Missing::Imagine)?;
        Self::assemble(env, directory, cluster, &lock, seed)
    }

    fn assemble(
        env: Env<'_>,
        directory: ClusterDir,
        cluster: Cluster,
        lock: &Lock,
        seed: Seed,
    ) -> Result<Self> {
        let origin: Origins = [Place::file(LOCK)].into();
        let fields = cluster.fields().with("lock", Field::data(lock.value(), &origin));
        let fields = fields.with("authorities", super::authorities::read(env, &directory, &cluster)?);
        let (recipes, user) = directory.recipes()?;
        let fields = fields.with("user", user);
        let knowledge = Knowledge::read(&recipes)?;
        let graph = recipe::load(&recipes, &fields, &CONDITIONS)?;
        super::authorities::check(&cluster, &graph)?;
        let pinned = lock.release.as_ref();
        let release = pinned.and_then(|release| Release::parse(&release.version));
        let images = pinned.map(|release| images(env, &directory, &cluster, release)).transpose()?;
        let files = files(&directory, lock);
        let sandbox = Sandbox::default();
        Ok(Self { directory, cluster, fields, graph, knowledge, release, images, files, seed, sandbox })
    }

    /// Where the images of the pinned release come from.
    pub(super) fn opened(&self) -> Result<&Opened> {
        let nothing =
            || OpsError::Moved { asked: self.cluster.release.to_string(), pinned: "no release".into() };
        Ok(self.images.as_ref().ok_or_else(nothing)?.get()?)
    }

    /// What operators adopt, and of which release.
    pub(super) fn hand_over(&self) -> (&HandOver, Option<Release>) {
        (&self.knowledge.hand_over, self.release)
    }

    /// Who shows what to whom in a cluster of this release.
    pub(super) fn trust_edges(&self) -> impl Iterator<Item = &TrustEdge> {
        self.knowledge.trust.select(self.release)
    }

    /// The key of secret ids.
    pub(super) fn id_key(&self) -> IdKey {
        self.seed.id_key()
    }

    /// Opens the store for work.
    pub(crate) fn session(&self, env: Env<'_>) -> Result<Session> {
        let store = open_or_create(env.store, self.directory.path())?;
        match Session::open(&store, Some(self.id_key())) {
            // What is in the store can be used all the same.
            Err(StoreError::Fs(error)) if error.is_read_only() => {
                Ok(Session::reading(&store, Some(self.id_key())))
            }
            session => Ok(session?),
        }
    }

    /// What the scheduler works with.
    pub(crate) fn context<'a>(&'a self, env: Env<'a>, session: &'a Session) -> Context<'a> {
        Context {
            graph: &self.graph,
            builders: builders::ALL,
            session,
            events: env.events,
            cancel: env.cancel,
            images: self.images.as_ref(),
            files: Some(&self.files),
            seed: Some(&self.seed),
            sandbox: &self.sandbox,
        }
    }

    /// This directory's roots in the store.
    pub(crate) fn roots(&self, store: &Store) -> Roots {
        store.roots_of(self.directory.path())
    }

    /// Derivations that the targets mean; without targets, `cluster`.
    pub(crate) fn select(&self, targets: &[String]) -> Result<Vec<usize>> {
        let default = ["cluster".to_owned()];
        let targets = if targets.is_empty() { &default } else { targets };
        let mut found = Vec::new();
        for target in targets {
            let selected = self.graph.select(target);
            if selected.is_empty() {
                return Err(self.no_target(target));
            }
            found.extend(selected);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The one derivation of that name.
    pub(crate) fn find(&self, target: &str) -> Result<usize> {
        self.graph.find(target).ok_or_else(|| self.no_target(target))
    }

    fn no_target(&self, target: &str) -> OpsError {
        if let Some(why) = self.graph.absent(target) {
            let advice = match why {
                Absent::Unset(condition) if condition == LOCAL_ISO => Some(self.no_iso()),
                Absent::Unset(condition) => Some(format!("it is there once `{condition}` is set")),
                Absent::Otherwise { found: None, .. } => Some("run `tinderbox lock`, which pins it".into()),
                Absent::Otherwise { .. } | Absent::Never(_) => None,
            };
            return OpsError::Absent { target: target.to_owned(), why: why.to_string(), advice };
        }
        let names = self.graph.nodes().iter().flat_map(|node| {
            let folder = node.name.split_once('/').map(|(folder, _)| folder);
            std::iter::once(node.name.as_str()).chain(folder)
        });
        OpsError::NoTarget { target: target.to_owned(), near: near(target, names).map(str::to_owned) }
    }
}

impl Workspace {
    /// What to do so that there are live ISOs.
    pub(super) fn no_iso(&self) -> String {
        match self.fields.project("lock.rhcos.iso.location").map(|found| found.value) {
            Ok(Projected::Plain(Value::Text(url))) => Location::Elsewhere(url).advice("rhcos"),
            _ => {
                "name the release's live ISO in cluster.yaml (`rhcos: {iso: FILE}`), and run `tinderbox lock \
                  --update rhcos`"
                    .into()
            }
        }
    }
}

/// The store that was chosen, if it is there.
pub(super) fn open(choice: &StoreChoice, directory: &std::path::Path) -> Result<Store> {
    Ok(Store::open(&locate(choice, directory)?)?)
}

/// The store that was chosen; none if there is none yet. One that is there and cannot be used is an error.
pub(super) fn open_if_there(choice: &StoreChoice, directory: &std::path::Path) -> Result<Option<Store>> {
    match open(choice, directory) {
        Ok(store) => Ok(Some(store)),
        Err(OpsError::Store(StoreError::NotAStore { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open_or_create(choice: &StoreChoice, directory: &std::path::Path) -> Result<Store> {
    Ok(Store::open_or_create(&locate(choice, directory)?)?)
}

fn locate(choice: &StoreChoice, directory: &std::path::Path) -> Result<PathBuf> {
    if let Some(named) = &choice.named {
        return Ok(named.clone());
    }
    let absolute = fs::canonical(directory)?;
    for above in absolute.ancestors() {
        let store = above.join("store");
        if fs::exists(&store.join(".tinderbox/format")).unwrap_or(false) {
            return Ok(store);
        }
    }
    choice.data.as_ref().map(|data| data.join("tinderbox/store")).ok_or_else(|| OpsError::Usage {
        message: "there is no place for a store: HOME is not set".into(),
        advice: Some("name one with `--store DIR` or TINDERBOX_STORE".into()),
    })
}

/// Checks that the user turned off must exist, and are named every time.
fn check_names(env: Env<'_>, cluster: &Cluster) -> Result<()> {
    let known: Vec<&str> = super::check::list().iter().map(|check| check.name).collect();
    let mut problems = Problems::default();
    for name in &cluster.disabled_checks {
        if known.contains(&name.as_str()) {
            env.events
                .emit(Event::Warning { text: format!("the check `{name}` is turned off in {CLUSTER}") });
        } else {
            let place = Place { file: CLUSTER.into(), line: None, field: "checks.disabled".into() };
            let hint = did_you_mean(name, known.iter().copied())
                .unwrap_or_else(|| "`tinderbox check --list` lists all checks".into());
            problems.push(Problem::new(place, format!("there is no check `{name}`")).hint(hint));
        }
    }
    Ok(problems.or(())?)
}

/// Both configuration files, understood.
pub(super) fn read_cluster(directory: &ClusterDir) -> Result<Cluster> {
    let install_config = fs::read_text(&directory.file(INSTALL_CONFIG))?;
    let cluster = fs::read_text(&directory.file(CLUSTER))?;
    Ok(config::load(
        Source { name: INSTALL_CONFIG, text: &install_config },
        Source { name: CLUSTER, text: &cluster },
    )?)
}

/// The lock. One that is there is only read, and must be about the release that cluster.yaml asks for.
fn read_lock(env: Env<'_>, directory: &ClusterDir, cluster: &Cluster, missing: Missing) -> Result<Lock> {
    let path = directory.file(LOCK);
    let asked = cluster.release.to_string();
    if let Some(text) = fs::optional(fs::read_text(&path))? {
        let lock = Lock::parse(LOCK, &text)?;
        return match &lock.release {
            _ if missing == Missing::Imagine => Ok(lock),
            None => Err(OpsError::Unpinned { asked }),
            Some(release) if release.asked != asked => {
                Err(OpsError::Moved { asked, pinned: release.asked.clone() })
            }
            Some(_) => Ok(lock),
        };
    }
    match missing {
        Missing::Imagine => Ok(Lock::new(this_second())),
        Missing::Make => {
            let lock = super::lock::first(env, directory, cluster)?;
            fs::write_whole(&path, lock.encode().as_bytes(), 0o644)?;
            let version = lock.release.as_ref().map(|release| release.version.as_str()).unwrap_or_default();
            let text = format!("wrote {LOCK}: the epoch and release {version} are pinned; commit this file");
            env.events.emit(Event::Notice { text });
            Ok(lock)
        }
    }
}

/// The release that the lock pins, if there is a lock and it pins one.
pub(super) fn pinned(directory: &ClusterDir) -> Result<Option<LockedRelease>> {
    match fs::optional(fs::read_text(&directory.file(LOCK)))? {
        Some(text) => Ok(Lock::parse(LOCK, &text)?.release),
        None => Ok(None),
    }
}

/// The images of a pinned release, opened when the first one is needed.
fn images(
    env: Env<'_>,
    directory: &ClusterDir,
    cluster: &Cluster,
    release: &LockedRelease,
) -> Result<Deferred> {
    let origin = Origin::new(env, directory.path(), cluster, &release.reference)?;
    let pinned = release.image.clone();
    Ok(Deferred::new(move || origin.open_pinned(&pinned)))
}

/// The images of the node OS, where the lock says that they are.
fn files(directory: &ClusterDir, lock: &Lock) -> Files {
    let pinned = [&lock.rhcos.iso, &lock.rhcos.qcow2].into_iter().flatten();
    Files::new(
        "rhcos",
        pinned.map(|artifact| {
            let location = match artifact.path() {
                Some(path) => Location::Here(directory.path().join(path)),
                None => Location::Elsewhere(artifact.location.clone()),
            };
            (artifact.sha256.clone(), location)
        }),
    )
}

fn read_seed(env: Env<'_>, directory: &ClusterDir, missing: Missing) -> Result<Seed> {
    match (seed::read(env, directory.path())?, missing) {
        (Some(seed), _) => Ok(seed),
        (None, Missing::Imagine) => Ok(seed::imagined()),
        (None, Missing::Make) => {
            let seed = seed::make(directory.path())?;
            let text = "wrote cluster.seed: the identity of this cluster; back it up, and never commit it"
                .to_owned();
            env.events.emit(Event::Notice { text });
            Ok(seed)
        }
    }
}

/// The clock, asked once per lock.
#[expect(clippy::disallowed_methods, reason = "the epoch is where time enters, and it is pinned")]
pub(super) fn this_second() -> OffsetDateTime {
    let now = OffsetDateTime::now_utc();
    now.replace_nanosecond(0).unwrap_or(now)
}
