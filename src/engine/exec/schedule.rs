//! The coordinator: decides what is next, passes it to workers, and processes their reports.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rayon::ThreadPool;

use super::output_source::Found;
use super::resolve::{closure_id, derivation, outline};
use super::work::{Task, WorkerReport, commit, offer, work};
use super::{BuildContext, Done, ExecError, Options, Outcome, in_build, in_store, output_source};
use crate::base::digest::ObjectId;
use crate::base::event::Event;
use crate::engine::recipe::{NodeIndex, NodeMap};
use crate::engine::remote::Slot;
use crate::engine::store::{Output, Realisation, Using};

/// Derivations in flight per running build: workers continue while the disk syncs.
const PIPELINE: usize = 16;

/// How often a running build checks for cancellation.
const GLANCE: Duration = Duration::from_millis(100);

/// Builds everything that the targets need and the store lacks.
pub fn build(
    context: BuildContext<'_>,
    targets: &[NodeIndex],
    options: Options,
) -> Result<Outcome, ExecError> {
    build_with(None, context, targets, options)
}

/// The same with a pool of workers that several builds share; `options.jobs` says how many there are.
pub(crate) fn build_on(
    workers: &ThreadPool,
    context: BuildContext<'_>,
    targets: &[NodeIndex],
    options: Options,
) -> Result<Outcome, ExecError> {
    build_with(Some(workers), context, targets, options)
}

fn build_with(
    workers: Option<&ThreadPool>,
    context: BuildContext<'_>,
    targets: &[NodeIndex],
    options: Options,
) -> Result<Outcome, ExecError> {
    let mut coordinator = Coordinator::new(context, targets);
    coordinator.resolve_all()?;
    coordinator.announce();
    if !coordinator.ready.is_empty() {
        coordinator.check_jobs();
        if coordinator.outcome.failed.is_empty() {
            if let Some(caches) = context.caches {
                caches.begin(closure_id(context, targets)?, context.events);
            }
            coordinator.run(workers, options);
        }
    }
    Ok(coordinator.finish())
}

/// The state of a derivation. It only moves down this list, except that a derivation which another process was building
/// returns to `Ready`.
#[derive(Debug, Clone)]
enum NodeState {
    /// No target needs it.
    Unwanted,
    /// It needs this many derivations that are not `Done`.
    Waiting { inputs: usize },
    /// All its inputs are `Done`, but the store lacks its output. It is queued.
    Ready,
    /// A worker, the committer or another process has it.
    Building,
    /// All its inputs are `Done`, and its output is in the store and claimed by this session.
    Done(Done),
    /// It has no output; `Outcome::failed` says why.
    Failed,
    /// It needs a `Failed` derivation and was never tried.
    Skipped,
}

struct Coordinator<'a> {
    context: BuildContext<'a>,
    states: NodeMap<NodeState>,
    users: NodeMap<Vec<NodeIndex>>,
    /// Longest path to a target, in derivations: the critical path goes first.
    height: NodeMap<u32>,
    /// All `Ready` derivations, the next on top.
    ready: BinaryHeap<(u32, Reverse<NodeIndex>)>,
    /// Number of `Building` derivations, without those that farms build.
    running: usize,
    /// `Building` derivations that farms build.
    away: BTreeSet<NodeIndex>,
    /// Derivations that a farm did not build.
    declined: BTreeSet<NodeIndex>,
    outcome: Outcome,
}

impl<'a> Coordinator<'a> {
    fn new(context: BuildContext<'a>, targets: &[NodeIndex]) -> Self {
        let nodes = context.graph.nodes();
        let wanted = context.graph.closure(targets);
        let users = context.graph.users();
        let mut states = nodes.with(NodeState::Unwanted);
        let mut height = nodes.with(0);
        for at in wanted.iter().rev() {
            states[*at] = NodeState::Waiting { inputs: nodes[*at].needs().len() };
            let wanted = users[*at].iter().filter(|user| wanted.contains(user));
            height[*at] = wanted.map(|user| height[*user] + 1).max().unwrap_or(0);
        }
        let (ready, outcome) = (BinaryHeap::new(), Outcome::default());
        let (away, declined) = Default::default();
        Self { context, states, users, height, ready, running: 0, away, declined, outcome }
    }

    fn announce(&self) {
        let count = |is: fn(&NodeState) -> bool| self.states.iter().filter(|state| is(state)).count();
        self.context.events.emit(Event::Planned {
            total: count(|state| !matches!(state, NodeState::Unwanted)),
            cached: count(|state| matches!(state, NodeState::Done(_))),
        });
    }

    fn name(&self, at: NodeIndex) -> String {
        self.context.graph.nodes()[at].name.clone()
    }

    fn output(&self, at: NodeIndex) -> Option<&Done> {
        match &self.states[at] {
            NodeState::Done(done) => Some(done),
            _ => None,
        }
    }

    /// Looks up everything that the store has.
    fn resolve_all(&mut self) -> Result<(), ExecError> {
        let is_open = |(at, state)| matches!(state, &NodeState::Waiting { inputs: 0 }).then_some(at);
        let open = self.states.entries().filter_map(is_open).collect();
        self.resolve(open)
    }

    /// Looks up derivations whose inputs are all done; each hit may make its users ready.
    fn resolve(&mut self, open: Vec<NodeIndex>) -> Result<(), ExecError> {
        let Some(first) = open.first() else { return Ok(()) };
        let first = &self.context.graph.nodes()[*first];
        let using = self.context.session.using().map_err(in_store(first))?;
        let mut found = Vec::new();
        let resolved = self.resolve_while(&using, open, &mut found);
        // Claim the hits with one write even if something failed: they may be used.
        self.context.session.claim(&using, &found).map_err(in_store(first))?;
        resolved
    }

    fn resolve_while(
        &mut self,
        using: &Using,
        mut open: Vec<NodeIndex>,
        found: &mut Vec<ObjectId>,
    ) -> Result<(), ExecError> {
        open.reverse();
        while let Some(at) = open.pop() {
            let node = &self.context.graph.nodes()[at];
            let drv = match derivation(self.context, node, |at| self.output(at)) {
                Ok(drv) => drv,
                Err(error) => {
                    self.fail(at, error);
                    continue;
                }
            };
            match output_source::find(self.context, using, node, drv.id())? {
                Some(output) => {
                    found.push(output.done.output.object);
                    open.extend(self.found(at, output));
                }
                None => self.enqueue(at),
            }
        }
        Ok(())
    }

    fn enqueue(&mut self, at: NodeIndex) {
        self.states[at] = NodeState::Ready;
        self.ready.push((self.height[at], Reverse(at)));
    }

    /// Records an output that some source has.
    fn found(&mut self, at: NodeIndex, output: Found) -> Vec<NodeIndex> {
        let Found { done, realisation } = output;
        self.outcome.cached.push(self.name(at));
        self.context.events.emit(Event::Cached { name: self.name(at), source: "store" });
        self.done(at, done, &realisation)
    }

    /// Records an output; returns the users whose inputs are now all done.
    fn done(&mut self, at: NodeIndex, done: Done, realisation: &Realisation) -> Vec<NodeIndex> {
        if realisation.outputs.len() > 1 {
            let objects = realisation.outputs.iter().map(|output| output.object).collect();
            self.outcome.diverged.push((self.name(at), objects));
        }
        self.states[at] = NodeState::Done(done);
        let mut free = Vec::new();
        for user in &self.users[at] {
            if let NodeState::Waiting { inputs } = &mut self.states[*user] {
                *inputs -= 1;
                if *inputs == 0 {
                    free.push(*user);
                }
            }
        }
        free
    }

    /// Checks all jobs before the first build, so that typos are found in milliseconds.
    fn check_jobs(&mut self) {
        let open = self.states.entries();
        let open = open.filter(|(_, state)| matches!(state, NodeState::Waiting { .. } | NodeState::Ready));
        let wrong: Vec<(NodeIndex, ExecError)> = open
            .filter_map(|(at, _)| {
                let node = &self.context.graph.nodes()[at];
                let builder = self.context.builder_of(node);
                let checked =
                    builder.and_then(|builder| builder.check(&outline(node)).map_err(in_build(node)));
                checked.err().map(|error| (at, error))
            })
            .collect();
        for (at, error) in wrong {
            self.fail(at, error);
        }
    }

    fn run(&mut self, shared: Option<&ThreadPool>, options: Options) {
        let context = self.context;
        let (to_commit, finished) = mpsc::channel();
        let (report, reports) = mpsc::channel();
        let own = || rayon::ThreadPoolBuilder::new().num_threads(options.jobs.max(1)).build().ok();
        let own = if shared.is_none() { own() } else { None };
        let halt = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let committed = report.clone();
            threads.spawn(move || commit(context, &finished, &committed));
            // Whoever waits for a farm takes no worker's place.
            let send = |task: Task<'a>| {
                let (to_commit, report) = (to_commit.clone(), report.clone());
                let halt = &halt;
                threads.spawn(move || work(context, task, options.building, halt, &to_commit, &report));
            };
            match shared.or(own.as_ref()) {
                Some(pool) => pool.in_place_scope(|scope| {
                    let start = |task: Task<'a>| {
                        let (to_commit, report) = (to_commit.clone(), report.clone());
                        let halt = &halt;
                        scope
                            .spawn(move |_| work(context, task, options.building, halt, &to_commit, &report));
                    };
                    self.coordinate(options, (&start, &send), &halt, &report, &reports);
                }),
                // Without threads, build one derivation after the other.
                None => {
                    let start =
                        |task: Task<'a>| work(context, task, options.building, &halt, &to_commit, &report);
                    let options = Options { jobs: 1, ..options };
                    self.coordinate(options, (&start, &send), &halt, &report, &reports);
                }
            }
            drop(to_commit); // the committer ends when the last worker drops its sender
        });
        // Outputs published after the user cancelled are in the store and count.
        drop(report);
        while let Ok(told) = reports.try_recv() {
            self.take(told, &mpsc::channel().0);
        }
        if !(self.outcome.built.is_empty() && self.outcome.substituted.is_empty()) {
            // Also makes the records durable that lead to the new objects. If this fails, they are built again.
            let _ = context.session.sync();
        }
    }

    fn coordinate(
        &mut self,
        options: Options,
        (start, send): (&dyn Fn(Task<'a>), &dyn Fn(Task<'a>)),
        halt: &AtomicBool,
        report: &Sender<WorkerReport>,
        reports: &Receiver<WorkerReport>,
    ) {
        loop {
            if self.context.cancel.load(Ordering::Relaxed) {
                self.outcome.cancelled = true;
                halt.store(true, Ordering::Relaxed);
                return;
            }
            let stopped = !self.outcome.failed.is_empty() && !options.keep_going;
            halt.store(stopped, Ordering::Relaxed);
            while self.running < options.jobs.max(1) * PIPELINE && !stopped {
                let Some((_, Reverse(at))) = self.ready.pop() else { break };
                if let Some(task) = self.task(at) {
                    self.states[at] = NodeState::Building;
                    match task.slot {
                        Some(_) => {
                            self.away.insert(at);
                            send(task);
                        }
                        None => {
                            self.running += 1;
                            start(task);
                        }
                    }
                }
            }
            if self.running == 0 && self.away.is_empty() {
                return;
            }
            match reports.recv_timeout(GLANCE) {
                Ok(told) => self.take(told, report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(told) = reports.try_recv() {
                self.take(told, report);
            }
        }
    }

    fn task(&mut self, at: NodeIndex) -> Option<Task<'a>> {
        let node = &self.context.graph.nodes()[at];
        let derivation = match derivation(self.context, node, |at| self.output(at)) {
            Ok(derivation) => derivation,
            Err(error) => {
                self.fail(at, error);
                return None;
            }
        };
        let inputs = node.inputs.iter();
        let inputs =
            inputs.filter_map(|(alias, edge)| Some((alias.clone(), self.output(edge.node)?.output.clone())));
        let inputs = inputs.collect();
        match self.slot(at, &inputs) {
            Ok(slot) => Some(Task { at, node, derivation, inputs, slot }),
            Err(error) => {
                self.fail(at, error);
                None
            }
        }
    }

    /// The farm that builds a derivation; none if it is built here.
    fn slot(&self, at: NodeIndex, inputs: &BTreeMap<String, Output>) -> Result<Option<Slot<'a>>, ExecError> {
        let farms = self.context.farms;
        if farms.is_empty() || self.declined.contains(&at) {
            return Ok(None);
        }
        let offer = offer(self.context, &self.context.graph.nodes()[at], inputs)?;
        Ok(offer.and_then(|offer| farms.offer(offer)))
    }

    /// A derivation is in no worker's hands any more.
    fn back(&mut self, at: NodeIndex) {
        if !self.away.remove(&at) {
            self.running = self.running.saturating_sub(1);
        }
    }

    fn take(&mut self, told: WorkerReport, report: &Sender<WorkerReport>) {
        match &told {
            WorkerReport::Busy { .. } => {}
            WorkerReport::Dropped { at }
            | WorkerReport::Declined { at }
            | WorkerReport::Free { at }
            | WorkerReport::Found { at, .. }
            | WorkerReport::Published { at, .. }
            | WorkerReport::Failed { at, .. } => self.back(*at),
        }
        match told {
            WorkerReport::Busy { at, drv } => {
                self.context.events.emit(Event::Waiting { name: self.name(at) });
                let (store, report) = (self.context.session.store().clone(), report.clone());
                // On a thread outside the scope, so that a user who cancels does not wait for another process.
                std::thread::spawn(move || {
                    let _ = store.wait_for(drv); // if waiting fails, trying again says why
                    let _ = report.send(WorkerReport::Free { at });
                });
            }
            WorkerReport::Dropped { .. } => {}
            WorkerReport::Declined { at } => {
                self.declined.insert(at);
                self.enqueue(at);
            }
            WorkerReport::Free { at } => self.enqueue(at),
            WorkerReport::Found { at, output } => {
                let free = self.found(at, output);
                self.resolve_or_fail(free);
            }
            WorkerReport::Published { at, done, realisation, milliseconds, transferred, executor } => {
                let (name, object) = (self.name(at), done.output.object.to_string());
                match transferred {
                    Some((cache, bytes)) => {
                        self.outcome.substituted.push(name.clone());
                        self.context.events.emit(Event::Substituted {
                            name,
                            object,
                            cache,
                            bytes,
                            milliseconds,
                        });
                    }
                    None => {
                        self.outcome.built.push(name.clone());
                        self.outcome
                            .executed
                            .extend(executor.iter().map(|farm| (name.clone(), farm.clone())));
                        self.context.events.emit(Event::Built { name, object, milliseconds, executor });
                    }
                }
                let free = self.done(at, done, &realisation);
                self.resolve_or_fail(free);
            }
            WorkerReport::Failed { at, error } => self.fail(at, error),
        }
    }

    fn resolve_or_fail(&mut self, free: Vec<NodeIndex>) {
        let first = free.first().copied();
        if let (Err(error), Some(at)) = (self.resolve(free), first) {
            self.fail(at, error);
        }
    }

    fn fail(&mut self, at: NodeIndex, mut error: ExecError) {
        super::origin::name(self.context, &|at| self.output(at), at, &mut error);
        let name = self.name(at);
        let shown = crate::base::hint::chain(&error);
        self.context.events.emit(Event::Failed { name: name.clone(), error: shown });
        self.outcome.failed.push((name.clone(), Arc::new(error)));
        self.states[at] = NodeState::Failed;
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            for user in &self.users[at] {
                if matches!(self.states[*user], NodeState::Waiting { .. }) {
                    self.states[*user] = NodeState::Skipped;
                    let skipped = self.context.graph.nodes()[*user].name.clone();
                    self.context.events.emit(Event::Skipped { name: skipped, because: name.clone() });
                    open.push(*user);
                }
            }
        }
    }

    fn finish(mut self) -> Outcome {
        self.outcome.cached.sort_unstable();
        self.outcome.diverged.sort();
        self.outcome.diverged.dedup();
        for (at, state) in self.states.into_entries() {
            match state {
                NodeState::Done(done) => drop(self.outcome.done.insert(at, done)),
                NodeState::Skipped => self.outcome.skipped.push(self.context.graph.nodes()[at].name.clone()),
                _ => {}
            }
        }
        self.outcome
    }
}
