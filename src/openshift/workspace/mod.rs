//! A parsed cluster directory: model, lock, seed and graph; and the store that it builds into.
//!
//! ```text
//! directory      the files of a cluster directory; the user's own recipes
//! user_files     manifests/ and patches/, which become derivations
//! authorities    the user's own certificates and keys
//! exposed        warnings about secrets that git tracks or others can read
//! locate         where nodes find the release
//! lock           cluster.lock, read or written for the first time; pins releases
//! release        the source of a release, and how to reach it
//! preview        the cluster with other images for some components
//! signatures     whether a release is authentic
//! boot_images    the node OS of a release, pinned
//! fetch          the same, downloaded
//! seed           cluster.seed and cluster.seed.age
//! given          what decides a build and is in no file
//! caches         caches of outputs, and the key that signs for them
//! farms          farms that build
//! materials      what a closure has from outside, by digest
//! store          the store that a directory builds into
//! targets        the derivations that a name on the command line selects
//! ```
//!
//! The user's files are read and never changed; only a missing lock or seed is written, and `lock --update release=…`
//! edits one value of cluster.yaml.

mod authorities;
mod boot_images;
mod caches;
mod directory;
mod error;
mod exposed;
mod farms;
mod fetch;
mod given;
mod locate;
mod lock;
mod materials;
mod preview;
mod release;
pub(crate) mod seed;
mod signatures;
mod store;
mod targets;
mod user_files;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use time::OffsetDateTime;

use crate::base::cancel::Cancel;
use crate::base::event::{Event, Events};
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems, did_you_mean};
use crate::base::process::Programs;
use crate::base::secret::{IdKey, Seed};
use crate::base::value::Value;
use crate::engine::builders::Files;
use crate::engine::cache::{OciCache, Trusted};
use crate::engine::exec::{self, BuildContext, BuildPlan, Options, Outcome};
use crate::engine::fields::{Field, Fields, Origins, Projected};
use crate::engine::recipe::{self, Graph, Names, NodeIndex};
use crate::engine::registry::{Deferred, Opened, ProxySettings};
use crate::engine::remote::Farms;
use crate::engine::sandbox::Sandbox;
use crate::engine::store::{Roots, Session, Store, StoreError};
use crate::openshift::builders::{self, validate};
use crate::openshift::config::{self, Cluster, Source};
use crate::openshift::knowledge::{HandOver, Knowledge, Release, RenderDifferences, TrustEdge};
use crate::openshift::lock::{Lock, LockedRelease, Rhcos};

pub(crate) use boot_images::pin as pin_boot_images;
pub(crate) use caches::{Network, settings as cache_settings, signing_key, signing_key_path};
pub(crate) use directory::{
    CLUSTER, ClusterDir, INSTALL_CONFIG, InMemory, LOCK, PRIVATE, RESULT, SEALED, SEED, is_folder,
};
pub(crate) use error::{Result, WorkspaceError};
pub(crate) use exposed::warn_of_tracked;
pub(crate) use fetch::{BootImage, FetchedImage, PlannedDownload, fetch as fetch_boot_images};
pub(crate) use given::given;
pub(crate) use lock::{
    first as first_lock, lock_is_behind, parsed as parse_lock, pin_release, release_named, write_release,
};
pub(crate) use preview::{PREVIEW, Replacement};
pub(crate) use release::{ReleaseSource, access, parse_release, read_release_image};
pub(crate) use seed::GivenSeed;
pub(crate) use signatures::{look as look_at_signatures, used_own_keys};
pub(crate) use store::{StoreChoice, open_damaged_store, open_or_create, open_store, open_store_if_there};

/// The input of every verb.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub directory: &'a Path,
    pub store: &'a StoreChoice,
    /// Receives progress.
    pub events: &'a dyn Events,
    /// Set when the user cancels.
    pub cancel: &'a Cancel,
    /// For reaching registries.
    pub proxy: &'a ProxySettings,
    pub programs: &'a Programs,
    /// This program, which the sandbox lends to the demo release as an interpreter.
    pub executable: Option<&'a Path>,
    /// The file with the age identity that opens an encrypted seed.
    pub identity: Option<&'a Path>,
    /// A seed from elsewhere, which counts instead of the directory's own.
    pub seed: Option<&'a GivenSeed>,
    /// The user's configuration directory of tinderbox, which may not exist.
    pub config: Option<&'a Path>,
    pub network: Network,
    /// A site of a fleet, which counts instead of the directory.
    pub site: Option<&'a SiteDir>,
}

/// A site of a fleet: a cluster directory in memory, with what the fleet pins for it.
#[derive(Debug)]
pub(crate) struct SiteDir {
    pub name: String,
    pub directory: ClusterDir,
    /// What its files say.
    pub cluster: Cluster,
    pub lock: Lock,
    pub seed: Seed,
}

impl Env<'_> {
    /// The cluster directory.
    pub(crate) fn cluster_dir(self) -> Result<ClusterDir> {
        match self.site {
            Some(site) => Ok(site.directory.clone()),
            None => ClusterDir::open(self.directory),
        }
    }

    fn cluster(self, directory: &ClusterDir) -> Result<Cluster> {
        match self.site {
            Some(site) => Ok(site.cluster.clone()),
            None => read_cluster(directory),
        }
    }
}

/// Short names that recipes may compare in `when`. For a release, the pinned values, not the configured ones; of the
/// user's manifests, the kinds.
const CONDITIONS: [(&str, &str); 6] = [
    ("release", "lock.release.version"),
    ("flavor", "lock.release.flavor"),
    ("bootstrap", "cluster.bootstrap"),
    ("platform", "platform.name"),
    ("loadBalancer", "platform.loadBalancer"),
    ("manifests", "user.kinds"),
];

/// What to do if lock or seed is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Create them, with a notice.
    Make,
    /// Continue as if they existed; write nothing. A lock without its seed is an error all the same.
    Imagine,
    /// The same, for verbs that neither build nor look at what was built: no seed is needed.
    Unneeded,
}

/// A parsed cluster directory.
pub(crate) struct Workspace {
    pub directory: ClusterDir,
    pub cluster: Cluster,
    pub fields: Fields,
    pub graph: Graph,
    pub knowledge: Knowledge,
    /// The pinned release; none if there is none yet, or its version is unknown.
    release: Option<Release>,
    /// The image source of the pinned release.
    images: Option<Deferred>,
    /// Files that the lock pins.
    files: Files,
    rhcos: Rhcos,
    seed: Seed,
    sandbox: Sandbox,
    /// Where outputs may come from.
    caches: Vec<OciCache>,
    /// Whose signatures count.
    trust: Vec<Trusted>,
    /// Who may build besides this machine.
    farms: Farms,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Workspace {
    /// Reads everything. Never changes the user's files.
    pub(crate) fn load(env: Env<'_>, missing: Missing) -> Result<Self> {
        let directory = env.cluster_dir()?;
        let cluster = env.cluster(&directory)?;
        check_names(env, &cluster)?;
        let (lock, seed) = pins(env, &directory, &cluster, missing)?;
        let workspace = Self::assemble(env, directory, cluster, &lock, seed)?;
        // What a fleet exposes is said once, for all of its sites.
        if missing == Missing::Make && env.site.is_none() {
            exposed::warn(env, &workspace)?;
        }
        Ok(workspace)
    }

    /// The objects of the user's manifests that a program's output names, each with its file and line.
    pub(crate) fn named_in(&self, output: &str) -> Result<Vec<String>> {
        user_files::named_in(&self.directory, output)
    }

    /// The user's MachineConfigs with an entry of this path or name, each with its file and line.
    pub(crate) fn machine_configs_with(&self, entry: &str) -> Result<Vec<String>> {
        user_files::machine_configs_with(&self.directory, entry)
    }

    /// Why a build would refuse the lock, if this was read without building. The build of a fleet pins what is new.
    pub(crate) fn lock_is_behind(&self, env: Env<'_>) -> Result<Option<WorkspaceError>> {
        match env.site {
            Some(_) => Ok(None),
            None => lock_is_behind(&self.directory, &self.cluster),
        }
    }

    /// Reads everything as if this release were pinned. Does not write to the directory.
    pub(crate) fn load_release(env: Env<'_>, release: &LockedRelease) -> Result<Self> {
        Self::load_changed(env, |lock| lock.release = Some(release.clone()))
    }

    /// Reads everything as if the lock were changed like this. Does not write to the directory.
    pub(crate) fn load_changed(env: Env<'_>, change: impl FnOnce(&mut Lock)) -> Result<Self> {
        let directory = env.cluster_dir()?;
        let cluster = env.cluster(&directory)?;
        let (mut lock, seed) = pins(env, &directory, &cluster, Missing::Imagine)?;
        change(&mut lock);
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
        let fields = fields.with("authorities", authorities::read(env, &directory, &cluster)?);
        let (recipes, user) = directory.recipes()?;
        let fields = fields.with("user", user);
        let pinned = lock.release.as_ref();
        let release = pinned.and_then(|release| Release::parse(&release.version));
        let knowledge = Knowledge::read(&recipes)?;
        let stream = os_stream(&cluster, &knowledge, release)?;
        let names = Names { aliases: &CONDITIONS, tables: knowledge.names(release, stream)? };
        let graph = recipe::load(&recipes, &fields, &names)?;
        authorities::check(&cluster, &graph)?;
        let images = pinned.map(|release| images(env, &directory, &cluster, release)).transpose()?;
        let files = fetch::files(env, &directory, &lock.rhcos);
        let rhcos = lock.rhcos.clone();
        let sandbox = Sandbox::default().interpreting(env.executable.map(Path::to_owned));
        let (caches, trust) = caches::substituters(env, directory.path(), &cluster)?;
        let farms = farms::farms(env, directory.path(), &cluster)?;
        Ok(Self {
            directory,
            cluster,
            fields,
            graph,
            knowledge,
            release,
            images,
            files,
            rhcos,
            seed,
            sandbox,
            caches,
            trust,
            farms,
        })
    }

    /// The image source of the pinned release.
    pub(crate) fn opened(&self) -> Result<&Opened> {
        let nothing = || WorkspaceError::Unpinned { asked: self.cluster.release.to_string() };
        Ok(self.images.as_ref().ok_or_else(nothing)?.get()?)
    }

    /// The pinned release; none if its version is unknown.
    pub(crate) fn release(&self) -> Option<Release> {
        self.release
    }

    /// The version of the pinned release.
    pub(crate) fn pinned_version(&self) -> Option<String> {
        match self.fields.project("lock.release.version").ok()?.value {
            Projected::Plain(Value::Text(version)) => Some(version),
            _ => None,
        }
    }

    /// The DNS servers of the nodes.
    pub(crate) fn dns_servers(&self) -> Vec<IpAddr> {
        match self.fields.project("network.dns").map(|found| found.value) {
            Ok(Projected::Plain(Value::List(all))) => {
                all.iter().filter_map(|one| one.as_text()?.parse().ok()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Runs programs of images.
    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The hand-over table, and the release to select from it.
    pub(crate) fn hand_over(&self) -> Result<(&HandOver, Option<Release>)> {
        Ok((self.knowledge.hand_over.get()?, self.release))
    }

    /// The table of render differences, and the release to select from it.
    pub(crate) fn render_differences(&self) -> Result<(&RenderDifferences, Option<Release>)> {
        Ok((self.knowledge.render_differences.get()?, self.release))
    }

    /// The name of a component in the pinned release.
    pub(crate) fn component(&self, key: &str) -> Result<Option<&str>> {
        Ok(self.knowledge.components.get()?.name(key, self.release))
    }

    /// The trust edges of this release.
    pub(crate) fn trust_edges(&self) -> Result<impl Iterator<Item = &TrustEdge>> {
        Ok(self.knowledge.trust.get()?.select(self.release))
    }

    pub(crate) fn id_key(&self) -> IdKey {
        self.seed.id_key()
    }

    /// Opens the store for a session.
    pub(crate) fn session(&self, env: Env<'_>) -> Result<Session> {
        self.session_in(&store::open_or_create(env.store, self.directory.path())?)
    }

    /// Opens this store for a session.
    pub(crate) fn session_in(&self, store: &Store) -> Result<Session> {
        match Session::open(store, Some(self.id_key())) {
            // The content of the store can still be used.
            Err(StoreError::Fs(error)) if error.is_read_only() => {
                Ok(Session::reading(store, Some(self.id_key())))
            }
            session => Ok(session?),
        }
    }

    /// The scheduler's input.
    pub(crate) fn context<'a>(&'a self, env: Env<'a>, session: &'a Session) -> BuildContext<'a> {
        BuildContext {
            graph: &self.graph,
            builders: builders::ALL,
            session,
            events: env.events,
            cancel: env.cancel,
            images: self.images.as_ref(),
            files: Some(&self.files),
            seed: Some(&self.seed),
            sandbox: &self.sandbox,
            caches: (!self.caches.is_empty()).then_some(&self.caches),
            trust: &self.trust,
            farms: &self.farms,
        }
    }

    /// What a build of these targets would find in the store, and what it would build. Writes nothing.
    pub(crate) fn plan(&self, env: Env<'_>, store: &Store, targets: &[NodeIndex]) -> Result<BuildPlan> {
        let session = Session::reading(store, Some(self.id_key()));
        Ok(exec::plan(self.context(env, &session), targets)?)
    }

    /// Builds all targets; the first failure is an error.
    pub(crate) fn build(&self, env: Env<'_>, session: &Session, targets: &[NodeIndex]) -> Result<Outcome> {
        let options = Options { jobs: 2, ..Options::default() };
        let outcome = exec::build(self.context(env, session), targets, options)?;
        outcome.failed.first().map_or(Ok(()), |(_, error)| Err(Arc::clone(error)))?;
        Ok(outcome)
    }

    /// Warns about a release that no table describes.
    pub(crate) fn warn_beyond_tables(&self, env: Env<'_>) -> Result<()> {
        let beyond = self.release.map(|release| self.knowledge.beyond(release)).transpose()?.flatten();
        if let Some(text) = beyond {
            env.events.emit(Event::Warning { text });
        }
        Ok(())
    }

    pub(crate) fn roots(&self, store: &Store) -> Roots {
        store.roots_of(self.directory.home())
    }
}

/// The OS stream that the user chose, which the release must have.
fn os_stream<'a>(
    cluster: &'a Cluster,
    knowledge: &Knowledge,
    release: Option<Release>,
) -> Result<Option<&'a str>> {
    const FIELD: &str = "osImageStream";
    let (Some(stream), Some(known)) = (cluster.os_image_stream.as_deref(), release) else { return Ok(None) };
    let streams = knowledge.components.get()?.os_streams(release);
    if streams.contains(&stream) {
        return Ok(Some(stream));
    }
    let (title, version) = (known.flavor.title(), known.version);
    let message = format!("{title} {version} has no OS stream `{stream}`");
    let hint = match streams.as_slice() {
        [] => format!("remove the field: nodes get the one operating system of {title} {version}"),
        streams => format!("it has {}", streams.join(", ")),
    };
    let problem = Problem::new(cluster.place_in_install_config(FIELD), message).hint(hint);
    Err(Problems(vec![problem]).into())
}

/// Disabled checks must exist, and are reported every time.
fn check_names(env: Env<'_>, cluster: &Cluster) -> Result<()> {
    let on_config = config::CHECKS.iter().map(|check| check.name);
    let known: Vec<&str> = on_config.chain(validate::CHECKS.iter().map(|check| check.name)).collect();
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

/// Parses both configuration files.
pub(crate) fn read_cluster(directory: &ClusterDir) -> Result<Cluster> {
    let (install_config, cluster) = (directory.read(INSTALL_CONFIG)?, directory.read(CLUSTER)?);
    let read = |file: &str| fs::read_text(&directory.file(file)).map_err(|error| error.source.to_string());
    Ok(config::load(
        Source { name: INSTALL_CONFIG, text: &install_config },
        Source { name: CLUSTER, text: &cluster },
        &read,
    )?)
}

/// The image source of a pinned release, opened on first use.
fn images(
    env: Env<'_>,
    directory: &ClusterDir,
    cluster: &Cluster,
    release: &LockedRelease,
) -> Result<Deferred> {
    let origin = ReleaseSource::new(env, directory.path(), cluster, parse_release(&release.reference)?);
    let pinned = release.image.clone();
    Ok(Deferred::new(move || origin.open_pinned(&pinned)))
}

/// Lock and seed. The seed is written first: a lock without one is taken for a lost seed.
fn pins(env: Env<'_>, directory: &ClusterDir, cluster: &Cluster, missing: Missing) -> Result<(Lock, Seed)> {
    if let Some(SiteDir { lock, seed, .. }) = env.site {
        lock::check(lock, directory, cluster, missing)?;
        return Ok((lock.clone(), seed.clone()));
    }
    let lock = lock::existing(directory, cluster, missing)?;
    let found = if missing == Missing::Unneeded {
        Some(seed::imagined())
    } else {
        seed::read(env, directory.path(), lock.as_ref())?
    };
    let seed = match found {
        Some(seed) => seed,
        None if lock.is_some() => return Err(seed::lost(directory.path())),
        None if missing == Missing::Imagine => seed::imagined(),
        None => {
            let seed = seed::make(directory.path())?;
            let text = "wrote cluster.seed: the identity of this cluster; back it up, and never commit it";
            env.events.emit(Event::Notice { text: text.to_owned() });
            seed
        }
    };
    let lock = match lock {
        Some(lock) => lock,
        None => lock::make(env, directory, cluster, &seed, missing)?,
    };
    Ok((lock, seed))
}

/// The current time, read once per lock.
#[expect(clippy::disallowed_methods, reason = "the epoch is where time enters, and it is pinned")]
pub(crate) fn this_second() -> OffsetDateTime {
    let now = OffsetDateTime::now_utc();
    now.replace_nanosecond(0).unwrap_or(now)
}
