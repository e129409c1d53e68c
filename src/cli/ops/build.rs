//! `build`: the targets and everything that they need. Also the dry run, and `--check`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::directory::RESULT;
use super::{Env, Missing, OpsError, Result, Workspace};
use crate::base::digest::{Digest, DrvId, ObjectId};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::chain;
use crate::engine::exec::{self, Context, Done, ExecError, Options, Outcome, Recheck};
use crate::engine::recipe::NodeIndex;
use crate::engine::store::{ObjectName, Session, Store};

/// What to build, and how.
#[derive(Debug, Clone)]
pub(crate) struct BuildRequest {
    /// Targets; none means `cluster`.
    pub targets: Vec<String>,
    /// Derivations built at the same time.
    pub jobs: usize,
    /// Go on with what does not depend on a failure.
    pub keep_going: bool,
    /// Build everything a second time and compare.
    pub check: bool,
    /// Leave the cluster directory alone.
    pub no_link: bool,
}

/// How it went; the document of `build --json`.
#[derive(Debug, Default, Serialize)]
pub(crate) struct BuildReport {
    /// The targets that are in the store.
    pub targets: Vec<Target>,
    /// Names that were built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built: Option<Vec<String>>,
    /// Names that would be built, of a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_build: Option<Vec<String>>,
    /// Names that the store had.
    pub cached: Vec<String>,
    /// Names that failed, and why.
    pub failed: Vec<Failure>,
    /// Names that were not tried because of a failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// The generation that is current now, if `cluster` was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// What building everything twice showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Recheck>,
    /// Checks that the user turned off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled_checks: Vec<String>,
    /// Until when all of this could finish a boot, if that is past.
    #[serde(skip)]
    pub expired: Option<String>,
    /// The errors themselves, for whoever prints them.
    #[serde(skip)]
    pub errors: Vec<std::sync::Arc<ExecError>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Target {
    pub name: String,
    pub drv: DrvId,
    pub object: ObjectId,
    pub path: PathBuf,
}

#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    pub name: String,
    /// Why, in one line.
    pub error: String,
}

impl BuildReport {
    /// Whether everything that was asked for is there, and the same twice.
    pub(crate) fn is_success(&self) -> bool {
        self.failed.is_empty() && self.check.as_ref().is_none_or(|check| check.differences.is_empty())
    }
}

/// Builds all of these for another verb, and keeps nothing; what failed first is an error.
pub(super) fn whole(env: Env<'_>, targets: Vec<String>, jobs: usize) -> Result<BuildReport> {
    let request = BuildRequest { targets, jobs, keep_going: false, check: false, no_link: true };
    let report = build(env, &request)?;
    match report.errors.first() {
        Some(failure) => Err(OpsError::Failed(std::sync::Arc::clone(failure))),
        None => Ok(report),
    }
}

pub(crate) fn build(env: Env<'_>, request: &BuildRequest) -> Result<BuildReport> {
    let workspace = Workspace::load(env, Missing::Make)?;
    let targets = workspace.select(&request.targets)?;
    let session = workspace.session(env)?;
    let context = workspace.context(env, &session);
    let options = Options { jobs: request.jobs, keep_going: request.keep_going };
    let outcome = exec::build(context, &targets, options)?;
    for (name, outputs) in &outcome.diverged {
        let shown: Vec<String> = outputs.iter().map(|id| id.to_string()[..12].to_owned()).collect();
        let text = format!(
            "`{name}` gave different bytes at different times ({}); the first is used",
            shown.join(", ")
        );
        env.events.emit(Event::Warning { text });
    }
    if outcome.cancelled {
        return Err(OpsError::Interrupted { kept: outcome.built.len() });
    }
    let check = match request.check && outcome.failed.is_empty() {
        true => Some(exec::recheck(context, &outcome.done, request.jobs)?),
        false => None,
    };
    let generation = match keep(&workspace, context, &outcome, request) {
        // What failed first is what the user has to know; this is probably the same full disk.
        Err(error) if !outcome.failed.is_empty() => {
            let text = format!("this build is not remembered: {}", chain(&error));
            env.events.emit(Event::Warning { text });
            None
        }
        kept => kept?,
    };
    let expired = super::expiry::warn(env, &workspace, session.store(), &outcome.done)?;
    let disabled_checks = workspace.cluster.disabled_checks.clone();
    Ok(BuildReport { generation, check, disabled_checks, expired, ..report(context, &targets, outcome) })
}

fn report(context: Context<'_>, targets: &[NodeIndex], outcome: Outcome) -> BuildReport {
    let failed = outcome.failed.iter();
    BuildReport {
        targets: targets.iter().filter_map(|at| target(context, *at, outcome.done.get(at)?)).collect(),
        built: Some(outcome.built),
        cached: outcome.cached,
        failed: failed.map(|(name, error)| Failure { name: name.clone(), error: chain(error) }).collect(),
        skipped: outcome.skipped,
        errors: outcome.failed.into_iter().map(|(_, error)| error).collect(),
        ..BuildReport::default()
    }
}

fn target(context: Context<'_>, at: NodeIndex, done: &Done) -> Option<Target> {
    Some(Target {
        name: context.graph.nodes()[at].name.clone(),
        drv: done.drv,
        object: done.output.object,
        path: exec::path_of(context, &done.output),
    })
}

/// What a build would do. Nothing is written, in the directory or in the store.
pub(crate) fn dry_run(env: Env<'_>, request: &BuildRequest) -> Result<BuildReport> {
    let workspace = Workspace::load(env, Missing::Imagine)?;
    let targets = workspace.select(&request.targets)?;
    let nodes = workspace.graph.nodes();
    let names = |found: &mut dyn Iterator<Item = &NodeIndex>| {
        found.map(|at| nodes[*at].name.clone()).collect::<Vec<_>>()
    };
    let Some(store) = super::workspace::open_if_there(env.store, workspace.directory.path())? else {
        // No store yet: nothing is in it.
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

/// Remembers what was built, makes a generation of a new `cluster`, and points `result` to it.
fn keep(
    workspace: &Workspace,
    context: Context<'_>,
    outcome: &Outcome,
    request: &BuildRequest,
) -> Result<Option<u64>> {
    let nodes = workspace.graph.nodes();
    let names: BTreeMap<String, (DrvId, ObjectId)> = outcome
        .done
        .iter()
        .map(|(at, done)| (nodes[*at].name.clone(), (done.drv, done.output.object)))
        .collect();
    let cluster = workspace.graph.find("cluster").and_then(|at| outcome.done.get(&at));
    let roots = workspace.roots(context.session.store());
    let state = state(&names);
    let link = workspace.directory.file(RESULT);
    let path = cluster.map(|done| exec::path_of(context, &done.output));
    let linked = request.no_link
        || path.as_ref().is_none_or(|path| fs::read_link(&link).is_ok_and(|there| there == *path));
    if linked && roots.is_recorded(state)? {
        let current = roots.current_object()?;
        let same =
            |(number, object)| cluster.is_some_and(|done| done.output.object == object).then_some(number);
        if cluster.is_none() || current.and_then(same).is_some() {
            return Ok(current.and_then(same));
        }
    }
    if context.session.is_reading() {
        let text = "the store is read-only: this build is not kept as a generation".to_owned();
        context.events.emit(Event::Notice { text });
        return Ok(None);
    }
    let mut record = roots.record()?;
    record.update(names, outcome.done.len() == nodes.len());
    roots.set_record(context.session, &record, state)?;
    let (Some(done), Some(path)) = (cluster, path) else { return Ok(None) };
    let closure = workspace.graph.closure(&workspace.graph.select("cluster"));
    let named = closure.iter().filter_map(|at| record.names.get_key_value(&nodes[*at].name));
    let named = named.map(|(name, named)| (name.clone(), named.clone())).collect();
    let number = roots.advance(context.session, done.output.object, &exec::now(), &named)?;
    if !request.no_link {
        point(&link, &path)?;
    }
    Ok(Some(number))
}

/// A digest of what names stand for: equal means that nothing is to be recorded.
fn state(names: &BTreeMap<String, (DrvId, ObjectId)>) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for (name, (drv, object)) in names {
        hasher.update(name.as_bytes()).update(b"\0").update(drv.0.as_bytes()).update(object.0.as_bytes());
    }
    hasher.finalize().into()
}

/// Points `result` to a store path.
pub(super) fn point(link: &std::path::Path, path: &std::path::Path) -> Result<()> {
    let there = fs::optional(fs::metadata(link))?;
    if there.is_some_and(|there| !there.is_symlink()) {
        let advice = "move it away: `result` is the link that `build` keeps";
        return Err(OpsError::Exists { path: link.to_owned(), advice });
    }
    fs::replace_link(path, link).map_err(|source| OpsError::Result { path: link.to_owned(), source })
}

/// Where the object of a generation is, if it is still there.
pub(super) fn object_path(store: &Store, object: ObjectId) -> Result<Option<PathBuf>> {
    let hint = ObjectName { id: object, name: "cluster".into() };
    Ok(store.find(object, &hint.name)?)
}
