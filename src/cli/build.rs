//! `build`: builds the targets and everything that they need. Also the dry run, and `--check`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::Jobs;
use super::document::{Document, Documented};
use super::error::explain;
use super::expiry::{self, Dated, Ended};
use super::output::{Colour, exit_code, line, stdout_paint};
use super::verdict::{self, Changes};
use super::{Error, Printer, Result, complete, generations, unchanged};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::event::Event;
use crate::base::fs::looks;
use crate::base::hint::{Hint, chain};
use crate::engine::builders::BuildError;
use crate::engine::exec::{self, BuildContext, Building, Done, ExecError, Options, Outcome, Recheck};
use crate::engine::recipe::NodeIndex;
use crate::engine::store::Session;
use crate::openshift::workspace::{self, Env, Missing, Network, Workspace};

/// Build targets and everything they need
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox build                              the target `cluster`; result/ points to it
  tinderbox build infra manifest/cluster-dns-02-config
  tinderbox build --dry-run --json
  tinderbox build --check                      build everything twice and compare
  tinderbox build --no-cache                   build everything here")]
pub(super) struct Args {
    /// Derivations or folders of them; default: cluster
    #[arg(add = complete::target())]
    targets: Vec<String>,
    /// Only say what would be built
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    /// Build everything a second time and compare byte by byte; programs run with other CPUs, another user id, and
    /// directories in another order
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    jobs: Jobs,
    /// Keep building what does not depend on a failure
    #[arg(short, long)]
    keep_going: bool,
    /// Do not touch the `result` link
    #[arg(long)]
    no_link: bool,
    /// Take no output from a cache, and send nothing to a farm
    #[arg(long)]
    no_cache: bool,
    /// Use no network at all: neither caches nor farms nor registries
    #[arg(long)]
    offline: bool,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<BuildReport>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        if self.dry_run {
            let report = dry_run(env, &self.targets)?;
            let code = printer.answer(&report, || report.would_build.iter().flatten().for_each(line));
            printer.events.conclude(|_| verdict::planned(&report));
            return Ok(code);
        }
        let started = Instant::now();
        let Self { targets, dry_run: _, check, jobs, keep_going, no_link, no_cache, offline } = self;
        let network = match (offline, no_cache) {
            (true, _) => Network::Nothing,
            (false, true) => Network::NoCaches,
            (false, false) => env.network,
        };
        let env = Env { network, ..env };
        let (jobs, building) = (jobs.count(), Building::Everything);
        let request = BuildRequest { targets, jobs, keep_going, check, no_link, building };
        let report = build(env, &request)?;
        printer.answer(&report, || show(&report));
        printer.events.conclude(|warnings| verdict::text(env, &report, started.elapsed(), warnings));
        report.errors.iter().for_each(|error| explain(error, error.hint()));
        Ok(exit_code(report.is_success()))
    }
}

fn show(report: &BuildReport) {
    report.targets.iter().for_each(|target| line(target.path.display()));
    for difference in report.check.iter().flat_map(|check| &check.differences) {
        line(format!("{} {}", stdout_paint("differs", Colour::Red), difference.name));
        line(format!("  before {}", difference.before));
        line(format!("  now    {}", difference.now));
        for (path, what) in &difference.paths {
            line(format!("  {what} {path}"));
        }
        for what in &difference.depends_on {
            line(format!("  its program depends on {what}"));
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct BuildRequest {
    /// None means `cluster`.
    pub targets: Vec<String>,
    pub jobs: usize,
    /// Keep building what does not depend on a failure.
    pub keep_going: bool,
    /// Build everything a second time and compare.
    pub check: bool,
    /// Leave the cluster directory alone.
    pub no_link: bool,
    pub building: Building,
}

/// The result; the document of `build --json`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct BuildReport {
    /// The targets that are in the store.
    pub targets: Vec<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built: Option<Vec<String>>,
    /// For a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_build: Option<Vec<String>>,
    /// Derivations whose output the store already had.
    pub cached: Vec<String>,
    /// Derivations whose output came from a cache.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub substituted: Vec<String>,
    /// Derivations among `built` that a farm executed, each with the farm.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub executed: BTreeMap<String, String>,
    pub failed: Vec<Failure>,
    /// Derivations that were not built because of a failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// The current generation, if `cluster` was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// What that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// The result of building everything twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Recheck>,
    /// Checks that the user disabled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled_checks: Vec<String>,
    /// What has ended in this set.
    #[serde(skip)]
    pub ended: Ended,
    /// The errors themselves, for printing.
    #[serde(skip)]
    pub errors: Vec<Arc<ExecError>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Target {
    pub name: String,
    pub drv: DrvId,
    pub object: ObjectId,
    pub path: PathBuf,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Failure {
    pub name: String,
    /// In one line.
    pub error: String,
}

impl BuildReport {
    /// Whether all targets were built, and built identically twice.
    pub(super) fn is_success(&self) -> bool {
        self.failed.is_empty() && self.check.as_ref().is_none_or(|check| check.differences.is_empty())
    }
}

/// Builds targets for another verb, without recording them; the first failure is the error.
pub(super) fn build_or_fail(env: Env<'_>, targets: Vec<String>, jobs: usize) -> Result<BuildReport> {
    let request = BuildRequest { targets, jobs, no_link: true, ..BuildRequest::default() };
    let report = build(env, &request)?;
    match report.errors.first() {
        Some(failure) => Err(Arc::clone(failure).into()),
        None => Ok(report),
    }
}

impl BuildRequest {
    /// Whether this is the build that is remembered: of the cluster, and of nothing else.
    fn is_usual(&self) -> bool {
        let Self { targets, jobs: _, keep_going: _, check, no_link, building } = self;
        let whole = targets.is_empty() || *targets == ["cluster"];
        whole && !check && !no_link && *building == Building::Everything
    }
}

pub(super) fn build(env: Env<'_>, request: &BuildRequest) -> Result<BuildReport> {
    if request.is_usual()
        && let Some(report) = unchanged::recall(env)
    {
        return Ok(report);
    }
    let attempt = unchanged::Attempt::begin(env.events);
    let env = Env { events: &attempt, ..env };
    let (workspace, looks) = looks::recorded(|| -> Result<Workspace> {
        let workspace = Workspace::load(env, Missing::Make)?;
        workspace.warn_beyond_tables(env)?;
        Ok(workspace)
    });
    let workspace = workspace?;
    let targets = workspace.select(&request.targets)?;
    let session = workspace.session(env)?;
    let context = workspace.context(env, &session);
    let options = Options { jobs: request.jobs, keep_going: request.keep_going, building: request.building };
    let outcome = exec::build(context, &targets, options)?;
    for (name, outputs) in &outcome.diverged {
        let shown: Vec<String> = outputs.iter().map(|id| id.to_string()[..12].to_owned()).collect();
        let text = format!(
            "`{name}` gave different bytes at different times ({}); the first is used",
            shown.join(", ")
        );
        env.events.emit(Event::Warning { text });
    }
    for (name, error) in &outcome.failed {
        let ExecError::Build { source, .. } = &**error else { continue };
        let BuildError::Program { words, .. } = &**source else { continue };
        for object in workspace.named_in(words)? {
            let text = format!("`{name}` names what is in {object}");
            env.events.emit(Event::Warning { text });
        }
    }
    if outcome.cancelled {
        return Err(Error::Interrupted { kept: outcome.built.len() });
    }
    let check = match request.check && outcome.failed.is_empty() {
        true => Some(exec::recheck(context, &outcome.done, request.jobs)?),
        false => None,
    };
    let whole = workspace.graph.find("cluster").is_some_and(|at| outcome.done.contains_key(&at));
    let changes = if whole { Changes::find(&workspace, session.store(), &outcome)? } else { None };
    let generation = match generations::keep(&workspace, context, &outcome, request.no_link) {
        // The first failure matters; this error is probably the same full disk.
        Err(error) if !outcome.failed.is_empty() => {
            let text = format!("this build is not recorded: {}", chain(&error));
            env.events.emit(Event::Warning { text });
            None
        }
        kept => kept?,
    };
    let dated = Dated::of(&workspace, session.store(), &outcome.done)?;
    let said = attempt.said();
    let ended = expiry::warn(env, &dated, workspace::this_second());
    let held = unchanged::held(&workspace, &outcome);
    let disabled_checks = workspace.cluster.disabled_checks.clone();
    let report = BuildReport {
        generation,
        changes,
        check,
        disabled_checks,
        ended,
        ..report(context, &targets, outcome)
    };
    if request.is_usual() {
        let found = unchanged::Found { looks, said, held, dated, report: &report };
        let _ = unchanged::remember(env, &attempt, &workspace, &session, found); // else it costs time
    }
    Ok(report)
}

fn report(context: BuildContext<'_>, targets: &[NodeIndex], outcome: Outcome) -> BuildReport {
    let failed = outcome.failed.iter();
    BuildReport {
        targets: targets.iter().filter_map(|at| target(context, *at, outcome.done.get(at)?)).collect(),
        built: Some(outcome.built),
        cached: outcome.cached,
        substituted: outcome.substituted,
        executed: outcome.executed,
        failed: failed.map(|(name, error)| Failure { name: name.clone(), error: chain(error) }).collect(),
        skipped: outcome.skipped,
        errors: outcome.failed.into_iter().map(|(_, error)| error).collect(),
        ..BuildReport::default()
    }
}

fn target(context: BuildContext<'_>, at: NodeIndex, done: &Done) -> Option<Target> {
    Some(Target {
        name: context.graph.nodes()[at].name.clone(),
        drv: done.drv,
        object: done.output.object,
        path: exec::path_of(context, &done.output),
    })
}

/// What a build would do. Writes nothing, in the directory or in the store.
fn dry_run(env: Env<'_>, targets: &[String]) -> Result<BuildReport> {
    let workspace = Workspace::load(env, Missing::Imagine)?;
    if let Some(refused) = workspace.lock_is_behind(env)? {
        return Err(refused.into());
    }
    let targets = workspace.select(targets)?;
    let nodes = workspace.graph.nodes();
    let names = |found: &mut dyn Iterator<Item = &NodeIndex>| {
        found.map(|at| nodes[*at].name.clone()).collect::<Vec<_>>()
    };
    let Some(store) = workspace::open_store_if_there(env.store, workspace.directory.path())? else {
        // Without a store, nothing is cached.
        let would_build = names(&mut workspace.graph.closure(&targets).iter());
        return Ok(BuildReport { would_build: Some(would_build), ..BuildReport::default() });
    };
    let session = Session::reading(&store, Some(workspace.id_key()));
    let context = workspace.context(env, &session);
    let plan = exec::plan(context, &targets)?;
    let mut cached = names(&mut plan.done.keys());
    cached.sort_unstable();
    Ok(BuildReport {
        targets: targets.iter().filter_map(|at| target(context, *at, plan.done.get(at)?)).collect(),
        would_build: Some(names(&mut plan.missing.iter())),
        cached,
        ..BuildReport::default()
    })
}
