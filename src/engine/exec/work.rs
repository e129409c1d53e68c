//! Builds one derivation on a worker: lock, look again, build, stage. Also the committer, which publishes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

use time::OffsetDateTime;

use super::output_source::{self, Found};
use super::resolve::outline;
use super::{BuildContext, Building, Done, ExecError, in_build, in_store};
use crate::base::digest::DrvId;
use crate::base::event::Event;
use crate::base::time::rfc3339;
use crate::engine::builders::{BuildError, Builder, Grants, InputTree, Job, Notes, Said, SandboxRunner};
use crate::engine::cache::{Secrecy, Substituted, Wanted};
use crate::engine::drv::Derivation;
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::engine::remote::{Built, Offer, Request, Slot};
use crate::engine::store::{
    DrvLock, ObjectName, Output, Realisation, Staged, Substitution, Trace, TraceInput,
};

/// A derivation assigned to a worker.
pub(super) struct Task<'a> {
    pub(super) at: NodeIndex,
    pub(super) node: &'a GraphNode,
    pub(super) derivation: Derivation<'a>,
    /// The outputs of its inputs, by alias.
    pub(super) inputs: BTreeMap<String, Output>,
    /// The farm that builds it; none if it is built here.
    pub(super) slot: Option<Slot<'a>>,
}

/// Reports from workers and the committer to the coordinator.
pub(super) enum WorkerReport {
    /// Another process is building it.
    Busy {
        at: NodeIndex,
        drv: DrvId,
    },
    /// Not started, because the build is ending.
    Dropped {
        at: NodeIndex,
    },
    /// The farm did not build it: it is built here.
    Declined {
        at: NodeIndex,
    },
    /// No other process builds it any more: try again.
    Free {
        at: NodeIndex,
    },
    /// Another process built it while we waited.
    Found {
        at: NodeIndex,
        output: Found,
    },
    /// It is in the store.
    Published {
        at: NodeIndex,
        done: Done,
        realisation: Realisation,
        milliseconds: u64,
        /// The cache that it came from, and how many bytes that took; none if it was built.
        transferred: Option<(String, u64)>,
        /// The farm that executed it.
        executor: Option<String>,
    },
    Failed {
        at: NodeIndex,
        error: ExecError,
    },
}

/// An output on its way to the committer.
pub(super) struct Finished {
    at: NodeIndex,
    drv: DrvId,
    name: String,
    staged: Staged,
    trace: Trace,
    /// The output of its programs.
    log: Option<String>,
    /// Whether another run may produce something else.
    impure: bool,
    /// Bytes that came from a cache; none if it was built.
    transferred: Option<u64>,
    _lock: DrvLock,
}

/// Builds one derivation up to its staged output.
pub(super) fn work(
    context: BuildContext<'_>,
    task: Task<'_>,
    building: Building,
    halt: &AtomicBool,
    commit: &Sender<Finished>,
    report: &Sender<WorkerReport>,
) {
    let at = task.at;
    let outcome = if halt.load(Ordering::Relaxed) {
        Ok(Some(WorkerReport::Dropped { at }))
    } else {
        attempt(context, task, building, commit)
    };
    // The coordinator only hangs up when it no longer needs the result.
    let _ = match outcome {
        Ok(None) => Ok(()),
        Ok(Some(told)) => report.send(told),
        Err(ExecError::Build { source, .. }) if matches!(*source, BuildError::Stopped) => {
            report.send(WorkerReport::Dropped { at })
        }
        Err(error) => report.send(WorkerReport::Failed { at, error }),
    };
}

fn attempt(
    context: BuildContext<'_>,
    task: Task<'_>,
    building: Building,
    commit: &Sender<Finished>,
) -> Result<Option<WorkerReport>, ExecError> {
    let Task { at, node, derivation, inputs, slot } = task;
    let drv = derivation.id();
    let Some(lock) = context.session.try_lock(drv).map_err(in_store(node))? else {
        return Ok(Some(WorkerReport::Busy { at, drv }));
    };
    let using = context.session.using().map_err(in_store(node))?;
    if let Some(output) = output_source::find(context, &using, node, drv)? {
        context.session.claim(&using, &[output.done.output.object]).map_err(in_store(node))?;
        return Ok(Some(WorkerReport::Found { at, output }));
    }
    drop(using);
    let start = Instant::now();
    if let Some(found) = substitute(context, node, &derivation, drv, &inputs)? {
        let Substituted { staged, cache, key, isolation, bytes } = found;
        let substituted = Some(Substitution { cache, key: key.to_string() });
        let trace = Trace { isolation, substituted, ..trace(node, &derivation, &inputs, start) };
        let (name, transferred) = (node.name.clone(), Some(bytes));
        let finished =
            Finished { at, drv, name, staged, trace, log: None, impure: false, transferred, _lock: lock };
        let _ = commit.send(finished);
        return Ok(None);
    }
    if building == Building::Secrets && !is_tainted(context, node, &inputs)? {
        return Err(ExecError::NotCached { name: node.name.clone() });
    }
    let builder = derivation.builder.to_string();
    context.events.emit(Event::Started { name: node.name.clone(), builder });
    let built = match &slot {
        Some(slot) => match execute(context, node, (drv, &derivation), &inputs, slot)? {
            Some(built) => built,
            None => return Ok(Some(WorkerReport::Declined { at })),
        },
        None => {
            let (staged, Said { programs, warnings }) = stage(context, node, &inputs)?;
            let (isolation, log) = programs.map(|note| (note.isolation.to_owned(), note.log)).unzip();
            Built { staged, executor: None, isolation, log, warnings }
        }
    };
    let Built { staged, executor, isolation, log, warnings } = built;
    for warning in warnings {
        context.events.emit(Event::Warning { text: format!("`{}`: {warning}", node.name) });
    }
    let executor = executor.map(|farm| farm.to_string());
    let trace = Trace { isolation, executor, ..trace(node, &derivation, &inputs, start) };
    let (name, impure) = (node.name.clone(), node.impure);
    let finished = Finished { at, drv, name, staged, trace, log, impure, transferred: None, _lock: lock };
    let _ = commit.send(finished); // the committer lives as long as any sender
    Ok(None)
}

/// The output from a cache, if one has it. What is secret here counts only if it is sealed, and comes from a key that may vouch
/// for secrets: whoever else claims to know it would be planting it.
fn substitute(
    context: BuildContext<'_>,
    node: &GraphNode,
    derivation: &Derivation<'_>,
    drv: DrvId,
    inputs: &BTreeMap<String, Output>,
) -> Result<Option<Substituted>, ExecError> {
    let Some(caches) = context.caches.filter(|_| !node.impure) else { return Ok(None) };
    let (builder, job) = (context.builder_of(node)?, outline(node));
    let hides = builder.keeps_secrets() || !builder.declassifies(&job);
    let secrecy = match is_tainted(context, node, inputs)? {
        _ if builder.conceals(&job) => Secrecy::Secret,
        true if hides => Secrecy::Secret,
        true => Secrecy::Tainted,
        false => Secrecy::Public,
    };
    let builder = derivation.builder.to_string();
    let wanted = Wanted { name: &node.name, drv, builder: &builder, secrecy };
    Ok(caches.substitute(context.session, &wanted, context.events))
}

/// Whether a derivation is made from a secret.
fn is_tainted(
    context: BuildContext<'_>,
    node: &GraphNode,
    inputs: &BTreeMap<String, Output>,
) -> Result<bool, ExecError> {
    if context.builder_of(node)?.grants().seed || !node.secrets.is_empty() {
        return Ok(true);
    }
    for (alias, output) in inputs {
        let object = context.session.store().object(output.object).map_err(in_store(node))?;
        let path = node.inputs.get(alias).and_then(|edge| edge.path.as_deref()).unwrap_or_default();
        if object.listing.get(path).is_some_and(|entry| entry.secret) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A derivation with everything that its builder sees.
struct Prepared<'a> {
    builder: &'static dyn Builder,
    job: Job<'a>,
    /// Whether something secret goes in.
    tainted: bool,
    /// Whether all of the output is secret.
    secret: bool,
}

fn prepare<'a>(
    context: BuildContext<'a>,
    node: &'a GraphNode,
    inputs: &BTreeMap<String, Output>,
) -> Result<Prepared<'a>, ExecError> {
    let builder = context.builder_of(node)?;
    let mut trees = BTreeMap::new();
    for (alias, output) in inputs {
        let object = context.session.store().object(output.object).map_err(in_store(node))?;
        let edge = node.inputs.get(alias);
        let path = edge.and_then(|edge| edge.path.clone()).unwrap_or_default();
        context.session.verify_use(&object, &path).map_err(in_store(node))?;
        let derivation = edge.map(|edge| edge.from.clone()).unwrap_or_default();
        let listing = Some(Arc::new(object.listing));
        trees.insert(alias.clone(), InputTree { root: object.path, listing, path, derivation });
    }
    let tainted = builder.grants().seed
        || !node.secrets.is_empty()
        || trees.values().any(|tree| tree.entry().is_some_and(|entry| entry.secret));
    let job = Job {
        aliases: &node.aliases,
        inputs: trees,
        params: &node.params,
        secrets: &node.secrets,
        images: context.images.filter(|_| builder.grants().images),
        files: context.files.filter(|_| builder.grants().files),
        seed: context.seed.filter(|_| builder.grants().seed),
        programs: builder
            .grants()
            .programs
            .then_some(SandboxRunner { sandbox: context.sandbox, cancel: context.cancel }),
        notes: Notes::default(),
    };
    let secret = builder.hides(&job, tainted);
    Ok(Prepared { builder, job, tainted, secret })
}

/// Has a farm build it; none if that did not work out.
fn execute(
    context: BuildContext<'_>,
    node: &GraphNode,
    (drv, derivation): (DrvId, &Derivation<'_>),
    inputs: &BTreeMap<String, Output>,
    slot: &Slot<'_>,
) -> Result<Option<Built>, ExecError> {
    let Prepared { builder, job, tainted, secret } = prepare(context, node, inputs)?;
    let programs = builder.grants().programs;
    let request = Request { name: &node.name, drv, derivation, job: &job, tainted, secret, programs };
    Ok(slot.build(context.session, &request, context.events))
}

/// How a derivation may be built elsewhere; none if it needs more than its inputs.
pub(super) fn offer<'n>(
    context: BuildContext<'_>,
    node: &'n GraphNode,
    inputs: &BTreeMap<String, Output>,
) -> Result<Option<Offer<'n>>, ExecError> {
    let builder = context.builder_of(node)?;
    let Grants { images, files, seed, programs: _ } = builder.grants();
    if images || files || seed || node.impure {
        return Ok(None);
    }
    let secret = builder.conceals(&outline(node)) || is_tainted(context, node, inputs)?;
    Ok(Some(Offer { name: &node.name, costly: builder.is_costly(), secret }))
}

/// Runs the builder into a staging tree. All jobs were checked before the first build.
pub(super) fn stage(
    context: BuildContext<'_>,
    node: &GraphNode,
    inputs: &BTreeMap<String, Output>,
) -> Result<(Staged, Said), ExecError> {
    let Prepared { builder, job, secret, .. } = prepare(context, node, inputs)?;
    let tree = context.session.stage(secret).map_err(in_store(node))?;
    if let Err(error) = builder.build(&job, &tree) {
        context.session.abandon(tree);
        return Err(in_build(node)(error));
    }
    Ok((context.session.finish(tree, &node.name).map_err(in_store(node))?, job.notes.take()))
}

/// Where inputs came from, by alias.
pub(super) fn trace_inputs(
    node: &GraphNode,
    inputs: &BTreeMap<String, Output>,
) -> BTreeMap<String, TraceInput> {
    let inputs = inputs.iter().filter_map(|(alias, output)| {
        let edge = node.inputs.get(alias)?;
        Some((
            alias.clone(),
            TraceInput { from: edge.from.clone(), object: output.object, path: edge.path.clone() },
        ))
    });
    inputs.collect()
}

fn trace(
    node: &GraphNode,
    derivation: &Derivation<'_>,
    inputs: &BTreeMap<String, Output>,
    start: Instant,
) -> Trace {
    Trace {
        label: node.name.clone(),
        inputs: trace_inputs(node, inputs),
        identity: derivation.explain(),
        time: now(),
        milliseconds: start.elapsed().as_millis() as u64,
        isolation: None,
        substituted: None,
        executor: None,
    }
}

/// The current time, for traces and generations; never part of a build.
#[expect(clippy::disallowed_methods, reason = "traces record the time; no derivation sees it")]
pub(crate) fn now() -> String {
    let now = OffsetDateTime::now_utc();
    rfc3339(now.replace_nanosecond(0).unwrap_or(now))
}

/// Publishes what workers finish, all pending outputs with one sync, until the last worker drops its sender.
pub(super) fn commit(
    context: BuildContext<'_>,
    finished: &Receiver<Finished>,
    report: &Sender<WorkerReport>,
) {
    while let Ok(first) = finished.recv() {
        let batch: Vec<Finished> = std::iter::once(first).chain(finished.try_iter()).collect();
        let synced = context.session.sync().map_err(Arc::new);
        for one in batch {
            let at = one.at;
            let told = match &synced {
                Ok(()) => publish(context, one).unwrap_or_else(|error| WorkerReport::Failed { at, error }),
                Err(source) => WorkerReport::Failed {
                    at,
                    error: ExecError::Sync { name: one.name, source: Arc::clone(source) },
                },
            };
            let _ = report.send(told); // nobody listens after a cancellation; the output is kept anyway
        }
    }
}

fn publish(context: BuildContext<'_>, one: Finished) -> Result<WorkerReport, ExecError> {
    let Finished { at, drv, name, staged, trace, log, impure, transferred, _lock } = one;
    let failed = |source| ExecError::Store { name: name.clone(), source };
    let output = context.session.publish(&staged).map_err(failed)?;
    if let Some(log) = log {
        context.session.keep_log(drv, &log).map_err(failed)?;
    }
    let realisation = match impure {
        true => Realisation::of(output.clone()),
        false => context.session.record(drv, &output, &trace).map_err(failed)?,
    };
    Ok(WorkerReport::Published {
        at,
        done: Done { drv, output },
        realisation,
        milliseconds: trace.milliseconds,
        transferred: trace.substituted.map(|from| from.cache).zip(transferred),
        executor: trace.executor,
    })
}

pub fn path_of(context: BuildContext<'_>, output: &Output) -> std::path::PathBuf {
    context.session.store().path_of(&ObjectName { id: output.object, name: output.name.clone() })
}
