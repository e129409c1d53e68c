//! `fleet build`: builds the sites of a fleet. What they share is built once; a site that is as it was built costs a look.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use rayon::ThreadPool;
use schemars::JsonSchema;
use serde::Serialize;

use super::memo::{Memo, Memos};
use super::open::{Opened, Selection};
use super::outcome::{self, ErrorGroup, ErrorGroups, SiteEvents, SiteReport, SiteState, Warnings};
use super::run;
use crate::base::digest::Digest;
use crate::base::event::Event;
use crate::base::fs;
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{self, Colour, count, exit_code, line, stderr_paint};
use crate::cli::{Error, Printer, Result, expiry, generations};
use crate::engine::exec::{self, Building, Options};
use crate::engine::store::Store;
use crate::openshift::config::Cluster;
use crate::openshift::fleet::{self, Layered, RESULTS, Rendered, Site, SiteKind};
use crate::openshift::workspace::{self, Env, Missing, Network, Workspace};

/// Free space below which no further site is begun.
const ROOM: u64 = 16 << 20;

/// Build the sites of a fleet; what they share is built once
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox -C fleet fleet build               every site; results/SITE is its artifact tree
  tinderbox -C fleet fleet build --only 'de-*' --group edge
  tinderbox -C fleet fleet build iso-patch     other derivations of every site than `cluster`
  tinderbox -C fleet fleet build --dry-run     which sites would be built
  tinderbox -C fleet fleet build --json --stream | jq -c .

The error of one site stops no other. What was built stays built, however a run ends: run it again to continue.")]
pub(in crate::cli) struct Args {
    /// Derivations or folders of every site; default: cluster
    targets: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Only say which sites would be built
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    jobs: Jobs,
    /// Keep building of a site what does not depend on a failure
    #[arg(short, long)]
    keep_going: bool,
    /// List what was built of every site, by name
    #[arg(long)]
    names: bool,
    /// With --json, print a line of JSON for every site as it is done, before the document
    #[arg(long)]
    stream: bool,
    /// Take no output from a cache, and send nothing to a farm
    #[arg(long)]
    no_cache: bool,
    /// Use no network at all: neither caches nor farms nor registries
    #[arg(long)]
    offline: bool,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] =
        &[Document::of::<FleetReport>(), Document::of::<SiteReport>().when("site", "--stream")];
}

/// What a run built; the document of `fleet build --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FleetReport {
    /// In the order of the files.
    pub(super) sites: Vec<SiteReport>,
    pub(super) totals: Totals,
    /// Equal errors of several sites once, those of most sites first.
    pub(super) errors: Vec<ErrorGroup>,
    pub(super) milliseconds: u64,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Totals {
    pub(super) sites: usize,
    pub(super) built: usize,
    pub(super) unchanged: usize,
    pub(super) would_build: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
    /// Derivations that were built for some site.
    pub(super) derivations: usize,
    /// Derivations that came from a cache.
    pub(super) substituted: usize,
}

/// What is built of which sites, and how.
pub(super) struct Request<'a> {
    pub(super) targets: &'a [String],
    pub(super) selection: &'a Selection,
    pub(super) jobs: usize,
    pub(super) keep_going: bool,
    pub(super) names: bool,
    pub(super) dry_run: bool,
    /// Whether to record what is built as generations.
    pub(super) keep: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let Self { targets, selection, dry_run, jobs, keep_going, names, stream, no_cache, offline } = self;
        let network = match (offline, no_cache) {
            (true, _) => Network::Nothing,
            (false, true) => Network::NoCaches,
            (false, false) => env.network,
        };
        let env = Env { network, ..env };
        let request = Request {
            targets: &targets,
            selection: &selection,
            jobs: jobs.count(),
            keep_going,
            names,
            dry_run,
            keep: !dry_run,
        };
        let missing = if dry_run { Missing::Imagine } else { Missing::Make };
        let opened = Opened::open(env, missing)?;
        let report = build(env, &opened, &request, &mut |site| {
            if stream
                && printer.json
                && let Ok(text) = serde_json::to_string(site)
            {
                output::text(&format!("{text}\n"));
            }
        })?;
        let code = printer.answer(&report, || report.show());
        printer.events.conclude(|warnings| match warnings {
            0 => String::new(),
            count => stderr_paint(&output::count(count, "warning"), Colour::Yellow),
        });
        if report.totals.failed > 0 {
            outcome::explain(&report.errors);
        }
        Ok(if code == ExitCode::SUCCESS { exit_code(report.is_success()) } else { code })
    }
}

impl FleetReport {
    pub(super) fn is_success(&self) -> bool {
        self.totals.failed == 0 && self.totals.skipped == 0
    }

    fn show(&self) {
        let Totals { sites, built, unchanged, would_build, failed, skipped, derivations, substituted } =
            &self.totals;
        let parts = [
            (*built, "built"),
            (*would_build, "would be built"),
            (*unchanged, "unchanged"),
            (*failed, "failed"),
            (*skipped, "not begun"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let taken = match substituted {
            0 => String::new(),
            taken => format!(", {taken} from a cache"),
        };
        line(format!(
            "{}: {}; {} built{taken}, in {:.1} s",
            count(*sites, "site"),
            parts.join(", "),
            count(*derivations, "derivation"),
            self.milliseconds as f64 / 1000.0
        ));
    }
}

/// Builds the sites of a request; `done` gets each as it is done.
pub(super) fn build(
    env: Env<'_>,
    opened: &Opened,
    request: &Request<'_>,
    done: &mut dyn FnMut(&SiteReport),
) -> Result<FleetReport> {
    let started = Instant::now();
    let sites = opened.select(request.selection)?;
    let results = opened.fleet.path.join(RESULTS);
    if request.keep {
        fs::create_dirs(&results)?;
        sweep(opened, &results)?;
    }
    let run = FleetRun::new(env, opened, request)?;
    if !request.dry_run {
        opened.ensure_lock(env, &sites);
    }
    env.events.emit(Event::Planned { total: sites.len(), cached: 0 });
    let (mut errors, mut reports) = (ErrorGroups::default(), BTreeMap::new());
    let left = run::each(
        &sites,
        request.jobs,
        env.cancel,
        |site| run.site(env, site),
        |site, report| {
            let name = site.name.clone();
            let alike = errors.add(&report);
            match report.state {
                SiteState::Unchanged | SiteState::WouldBuild => {
                    env.events.emit(Event::Cached { name, source: "store" });
                }
                SiteState::Failed => {
                    let error = report.errors.first().map(|error| error.error.clone()).unwrap_or_default();
                    env.events.emit(match alike {
                        Some(first) => Event::FailedAlike { name, first },
                        None => Event::Failed { name, error },
                    });
                }
                SiteState::Skipped => {}
                SiteState::Built => {
                    let object = report.object.map(|object| object.to_string()).unwrap_or_default();
                    env.events.emit(Event::Built {
                        name,
                        object,
                        milliseconds: report.milliseconds,
                        executor: None,
                    });
                }
            }
            done(&report);
            let has_room = report.state != SiteState::Failed || run.has_room();
            reports.insert(report.site.clone(), report);
            has_room
        },
    );
    run.warnings.tell(env.events);
    if env.cancel.is_set() {
        return Err(Error::Interrupted { kept: reports.values().map(|report| report.built).sum() });
    }
    if left > 0 {
        let text = format!("the store's disk is full: {} not begun", count(left, "site"));
        env.events.emit(Event::Warning { text });
    }
    let skipped = |site: &&Site| SiteReport::new(&site.name, SiteState::Skipped);
    let sites =
        sites.iter().map(|site| reports.remove(&site.name).unwrap_or_else(|| skipped(site))).collect();
    Ok(report(sites, errors, started))
}

fn report(sites: Vec<SiteReport>, errors: ErrorGroups, started: Instant) -> FleetReport {
    let of = |state: SiteState| sites.iter().filter(|site| site.state == state).count();
    let totals = Totals {
        sites: sites.len(),
        built: of(SiteState::Built),
        unchanged: of(SiteState::Unchanged),
        would_build: of(SiteState::WouldBuild),
        failed: of(SiteState::Failed),
        skipped: of(SiteState::Skipped),
        derivations: sites
            .iter()
            .filter(|site| site.state != SiteState::WouldBuild)
            .map(|site| site.built)
            .sum(),
        substituted: sites.iter().map(|site| site.substituted).sum(),
    };
    FleetReport {
        sites,
        totals,
        errors: errors.into_groups(),
        milliseconds: started.elapsed().as_millis() as u64,
    }
}

/// Removes links to results of sites that are gone: their roots go with the next `store gc` that finds them missing long enough.
fn sweep(opened: &Opened, results: &Path) -> Result<()> {
    for name in fs::list(results)? {
        let path = results.join(&name);
        let is_site = opened.fleet.sites.iter().any(|site| name == site.name.as_str());
        if !is_site && fs::metadata(&path)?.is_symlink() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// What all sites of a run share.
pub(super) struct FleetRun<'a> {
    opened: &'a Opened,
    request: &'a Request<'a>,
    /// None for a dry run without a store.
    store: Option<Store>,
    memos: Memos,
    pool: Option<ThreadPool>,
    warnings: Warnings,
}

impl<'a> FleetRun<'a> {
    /// Opens what the sites share; for a dry run, nothing is created.
    pub(super) fn new(env: Env<'_>, opened: &'a Opened, request: &'a Request<'a>) -> Result<Self> {
        let store = match request.dry_run {
            true => workspace::open_store_if_there(env.store, &opened.fleet.path)?,
            false => Some(workspace::open_or_create(env.store, &opened.fleet.path)?),
        };
        let memos = Memos::read(&opened.fleet.path.join(RESULTS), env.executable, env.config)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(request.jobs.max(1)).build().ok();
        Ok(Self { opened, request, store, memos, pool, warnings: Warnings::default() })
    }

    pub(super) fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// Whether a site is as it was built.
    pub(super) fn is_unchanged(&self, site: &str, layered: &Layered, rendered: &Rendered) -> bool {
        self.state(layered, rendered).is_some_and(|state| self.unchanged(site, &state).is_some())
    }

    fn has_room(&self) -> bool {
        let free = self.store.as_ref().and_then(|store| fs::available(store.root()).ok());
        free.is_none_or(|free| free > ROOM)
    }

    fn site(&self, env: Env<'_>, site: &Site) -> SiteReport {
        let started = Instant::now();
        let events = SiteEvents { of_fleet: env.events, warnings: &self.warnings, site: &site.name };
        let of_fleet = env.events;
        let env = Env { events: &events, ..env };
        let built = match &site.kind {
            SiteKind::Directory(path) => {
                of_fleet.emit(Event::Started { name: site.name.clone(), builder: String::new() });
                self.build(Env { directory: path, ..env }, site, None)
            }
            SiteKind::Layered(layered) => {
                let rendered = fleet::rendered(&self.opened.fleet, site, layered);
                let state = self.state(layered, &rendered);
                match state.as_deref().and_then(|state| self.unchanged(&site.name, state)) {
                    Some(report) => return report,
                    None => {
                        of_fleet.emit(Event::Started { name: site.name.clone(), builder: String::new() });
                        self.opened.within_layered(env, layered, rendered, |env| self.build(env, site, state))
                    }
                }
            }
        };
        let mut report = built.unwrap_or_else(|error| SiteReport::failed(&site.name, &error));
        report.milliseconds = started.elapsed().as_millis() as u64;
        report
    }

    /// A digest of what decides a site's build, but for files and pins.
    fn state(&self, layered: &Layered, rendered: &Rendered) -> Option<String> {
        let seed = self.opened.seed_of(layered, &rendered.domain).ok()?.fingerprint().to_string();
        let epoch = self.opened.lock()?.epoch_of(&rendered.name).unix_timestamp().to_le_bytes();
        let targets = self.request.targets.join("\n");
        let mut parts: Vec<&[u8]> = vec![seed.as_bytes(), &epoch, targets.as_bytes()];
        parts.extend(rendered.texts.iter().map(String::as_bytes));
        for (name, text) in &layered.manifests {
            parts.extend([name.as_bytes(), text.as_bytes()]);
        }
        let folders =
            rendered.folders.iter().flat_map(|(kind, folders)| folders.iter().map(move |one| (kind, one)));
        let digests: Vec<Digest> = folders
            .clone()
            .map(|(_, folder)| self.memos.file(&self.opened.fleet.path.join(folder)))
            .collect::<Option<_>>()?;
        parts.extend(folders.flat_map(|(kind, folder)| [kind.as_bytes(), folder.as_bytes()]));
        parts.extend(digests.iter().map(|digest| digest.as_bytes().as_slice()));
        Some(self.memos.state(&parts)?.to_string())
    }

    /// The pins of a name, as a digest.
    fn pins(&self, key: &str) -> Option<String> {
        let lock = self.opened.lock()?;
        Some(Digest::of(lock.pins.get(key)?.encode().as_bytes()).to_string())
    }

    /// The report of a site that is as it was built.
    fn unchanged(&self, site: &str, state: &str) -> Option<SiteReport> {
        let memo = self.memos.get(site).filter(|memo| memo.state == state)?;
        let is_same = |(path, digest): (&PathBuf, &Option<String>)| {
            self.memos.file(path).map(|found| found.to_string()) == *digest
        };
        if !memo.files.iter().all(is_same) || self.pins(&memo.pins.0)? != memo.pins.1 {
            return None;
        }
        let store = self.store.as_ref()?;
        let link = self.opened.fleet.path.join(RESULTS).join(site);
        let roots = store.roots_of(&link);
        let is_current = roots.current_object().ok()? == Some((memo.generation, memo.object));
        let is_there = fs::read_link(&link).ok()? == memo.path && fs::exists(&memo.path).ok()?;
        (is_current && is_there).then(|| SiteReport {
            cached: memo.derivations,
            generation: Some(memo.generation),
            object: Some(memo.object),
            path: Some(memo.path.clone()),
            ..SiteReport::new(site, SiteState::Unchanged)
        })
    }

    fn build(&self, env: Env<'_>, site: &Site, state: Option<String>) -> Result<SiteReport> {
        let missing = if self.request.dry_run { Missing::Imagine } else { Missing::Make };
        let workspace = Workspace::load(env, missing)?;
        if let Some(refused) = workspace.lock_is_behind(env)?.filter(|_| self.request.dry_run) {
            return Err(refused.into());
        }
        let targets = workspace.select(self.request.targets)?;
        let mut report = SiteReport::new(&site.name, SiteState::Unchanged);
        let nodes = workspace.graph.nodes();
        let Some(store) = self.store.as_ref().filter(|_| !self.request.dry_run) else {
            report.built = match &self.store {
                None => workspace.graph.closure(&targets).len(),
                Some(store) => {
                    let plan = workspace.plan(env, store, &targets)?;
                    report.cached = plan.done.len();
                    report.names = plan.missing.iter().map(|at| nodes[*at].name.clone()).collect();
                    plan.missing.len()
                }
            };
            if !self.request.names {
                report.names.clear();
            }
            if report.built > 0 {
                report.state = SiteState::WouldBuild;
            }
            return Ok(report);
        };
        workspace.warn_beyond_tables(env)?;
        let session = workspace.session_in(store)?;
        let context = workspace.context(env, &session);
        let options = Options {
            jobs: self.request.jobs,
            keep_going: self.request.keep_going,
            building: Building::Everything,
        };
        let outcome = match &self.pool {
            Some(pool) => exec::build_on(pool, context, &targets, options)?,
            None => exec::build(context, &targets, options)?,
        };
        report.built = outcome.built.len();
        report.substituted = outcome.substituted.len();
        report.cached = outcome.cached.len();
        report.errors = outcome.failed.iter().map(|(name, error)| outcome::error_of(name, error)).collect();
        if report.built + report.substituted > 0 {
            report.state = SiteState::Built;
        }
        if self.request.names {
            report.names.clone_from(&outcome.built);
        }
        if !outcome.failed.is_empty() {
            report.state = SiteState::Failed;
        }
        if outcome.cancelled {
            report.state = SiteState::Skipped;
            return Ok(report);
        }
        if self.request.keep {
            let before = workspace.roots(store).current()?;
            report.generation = generations::keep(&workspace, context, &outcome, false)?;
            // Everything may have been in the store: of an earlier build, or of `fleet diff`.
            if report.state == SiteState::Unchanged && report.generation != before {
                report.state = SiteState::Built;
            }
        }
        let cluster = workspace.graph.find("cluster").and_then(|at| outcome.done.get(&at));
        report.object = cluster.map(|done| done.output.object);
        report.path = cluster.map(|done| exec::path_of(context, &done.output));
        if outcome.failed.is_empty() && cluster.is_some() {
            let dates = expiry::dates(&workspace, store, &outcome.done)?;
            self.remember(env, &workspace, &report, state, (outcome.done.len(), dates));
        }
        Ok(report)
    }

    /// Records that this site is built, so that the next run need not look at its graph.
    fn remember(
        &self,
        env: Env<'_>,
        workspace: &Workspace,
        report: &SiteReport,
        state: Option<String>,
        (derivations, dates): (usize, expiry::Dates),
    ) {
        let (Some(state), Some(generation), Some(object)) = (state, report.generation, report.object) else {
            return;
        };
        let Some(path) = report.path.clone() else { return };
        let key = fleet::pin_key(&workspace.cluster);
        let Some(pins) = env.site.and_then(|_| self.pins(&key)) else { return };
        let files = named_files(&workspace.cluster).into_iter().map(|file| {
            let path = self.opened.fleet.path.join(file);
            let digest = self.memos.file(&path).map(|digest| digest.to_string());
            (path, digest)
        });
        self.memos.add(&Memo {
            site: report.site.clone(),
            state,
            files: files.collect(),
            pins: (key, pins),
            generation,
            object,
            path,
            derivations,
            boots_until: dates.boots_until,
            adopted_until: dates.adopted_until,
        });
    }
}

/// Files that a cluster's configuration names and whose content counts. The images of the node OS are pinned by the lock.
fn named_files(cluster: &Cluster) -> Vec<String> {
    let mut files: Vec<String> = cluster.pull_secret_file.iter().cloned().collect();
    files.extend(cluster.authorities.values().flat_map(|one| [one.certificate.clone(), one.key.clone()]));
    files.extend(cluster.release_keys.iter().flatten().cloned());
    files
}
