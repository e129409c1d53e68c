//! The coordinator: decides what is next, hands it to workers, and takes note of what they say.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::resolve::{derivation, look_up, outline};
use super::work::{Report, Task, commit, work};
use super::{Context, Done, ExecError, Options, Outcome, in_build, in_store};
use crate::base::digest::ObjectId;
use crate::base::event::Event;
use crate::engine::store::{Output, Realisation, Using};

/// Derivations that are under way for every one that is being built: while the disk syncs, workers go on.
const PIPELINE: usize = 16;

/// How often a running build looks whether the user wants to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// Builds what the targets need and the store does not have.
pub fn build(context: Context<'_>, targets: &[usize], options: Options) -> Result<Outcome, ExecError> {
    let mut coordinator = Coordinator::new(context, targets);
    coordinator.resolve_all()?;
    context
        .events
        .emit(Event::Planned { total: coordinator.wanted.len(), cached: coordinator.outcome.done.len() });
    if !coordinator.ready.is_empty() {
        coordinator.check_jobs();
        if coordinator.outcome.failed.is_empty() {
            coordinator.run(options);
        }
    }
    Ok(coordinator.finish())
}

struct Coordinator<'a> {
    context: Context<'a>,
    /// What the targets need.
    wanted: BTreeSet<usize>,
    /// For each wanted derivation that is not done: how many of its inputs are not.
    missing: BTreeMap<usize, usize>,
    users: Vec<Vec<usize>>,
    /// Longest way to a target, counted in derivations: the critical path goes first.
    height: Vec<u32>,
    ready: BinaryHeap<(u32, std::cmp::Reverse<usize>)>,
    outcome: Outcome,
    /// Derivations that failed or need one that did.
    lost: BTreeSet<usize>,
}

impl<'a> Coordinator<'a> {
    fn new(context: Context<'a>, targets: &[usize]) -> Self {
        let graph = context.graph;
        let wanted = graph.closure(targets);
        let users = graph.users();
        let mut height = vec![0; graph.nodes().len()];
        for at in wanted.iter().rev() {
            height[*at] = users[*at]
                .iter()
                .filter(|user| wanted.contains(user))
                .map(|user| height[*user] + 1)
                .max()
                .unwrap_or(0);
        }
        let missing = wanted
            .iter()
            .map(|at| {
                (*at, graph.nodes()[*at].inputs.values().map(|edge| edge.node).collect::<BTreeSet<_>>().len())
            })
            .collect();
        let outcome = Outcome::default();
        Self {
            context,
            wanted,
            missing,
            users,
            height,
            ready: BinaryHeap::new(),
            outcome,
            lost: BTreeSet::new(),
        }
    }

    /// Takes from the store what it has, in one go.
    fn resolve_all(&mut self) -> Result<(), ExecError> {
        let open: Vec<usize> =
            self.missing.iter().filter(|(_, inputs)| **inputs == 0).map(|(at, _)| *at).collect();
        self.resolve(open)
    }

    /// Looks derivations up whose inputs are all done; those found make their users' turn come.
    fn resolve(&mut self, open: Vec<usize>) -> Result<(), ExecError> {
        let Some(first) = open.first() else { return Ok(()) };
        let first = &self.context.graph.nodes()[*first];
        let using = self.context.session.using().map_err(in_store(first))?;
        let mut found = Vec::new();
        let resolved = self.resolve_while(&using, open, &mut found);
        // Whatever went wrong meanwhile: what was found may be used, so it is claimed, with one write for all.
        self.context.session.claim(&using, &found).map_err(in_store(first))?;
        resolved
    }

    fn resolve_while(
        &mut self,
        using: &Using,
        mut open: Vec<usize>,
        found: &mut Vec<ObjectId>,
    ) -> Result<(), ExecError> {
        open.reverse();
        while let Some(at) = open.pop() {
            let node = &self.context.graph.nodes()[at];
            let drv = match derivation(self.context, node, &self.outcome.done) {
                Ok(drv) => drv,
                Err(error) => {
                    self.fail(at, error);
                    continue;
                }
            };
            match look_up(self.context, using, node, &drv)? {
                Some((done, realisation)) => {
                    found.push(done.output.object);
                    self.outcome.cached.push(node.name.clone());
                    self.context.events.emit(Event::Cached { name: node.name.clone() });
                    open.extend(self.done(at, done, &realisation));
                }
                None => self.ready.push((self.height[at], std::cmp::Reverse(at))),
            }
        }
        Ok(())
    }

    /// Notes an output; returns the users whose inputs are now all done.
    fn done(&mut self, at: usize, done: Done, realisation: &Realisation) -> Vec<usize> {
        if realisation.outputs.len() > 1 {
            let name = self.context.graph.nodes()[at].name.clone();
            self.outcome
                .diverged
                .push((name, realisation.outputs.iter().map(|output| output.object).collect()));
        }
        self.outcome.done.insert(at, done);
        self.missing.remove(&at);
        let mut free = Vec::new();
        for user in &self.users[at] {
            if let Some(inputs) = self.missing.get_mut(user) {
                *inputs -= 1;
                if *inputs == 0 {
                    free.push(*user);
                }
            }
        }
        free
    }

    /// Looks at every job that may have to be done before the first one is: all typos are found in milliseconds.
    fn check_jobs(&mut self) {
        let graph = self.context.graph;
        let wrong: Vec<(usize, ExecError)> = self
            .missing
            .keys()
            .filter_map(|at| {
                let node = &graph.nodes()[*at];
                let checked = self
                    .context
                    .builder_of(node)
                    .and_then(|builder| builder.check(&outline(node)).map_err(in_build(node)));
                checked.err().map(|error| (*at, error))
            })
            .collect();
        for (at, error) in wrong {
            self.fail(at, error);
        }
    }

    fn run(&mut self, options: Options) {
        let context = self.context;
        let (to_commit, finished) = mpsc::channel();
        let (report, reports) = mpsc::channel();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(options.jobs.max(1)).build();
        let halt = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let committed = report.clone();
            threads.spawn(move || commit(context, &finished, &committed));
            match &pool {
                Ok(pool) => pool.in_place_scope(|scope| {
                    let start = |task: Task<'a>| {
                        let (to_commit, report) = (to_commit.clone(), report.clone());
                        let halt = &halt;
                        scope.spawn(move |_| work(context, task, halt, &to_commit, &report));
                    };
                    self.coordinate(options, &start, &halt, &report, &reports);
                }),
                // No threads to be had: one derivation after the other does it too.
                Err(_) => {
                    let start = |task: Task<'a>| work(context, task, &halt, &to_commit, &report);
                    self.coordinate(Options { jobs: 1, ..options }, &start, &halt, &report, &reports);
                }
            }
            drop(to_commit); // the committer ends when the last worker has hung up
        });
        // Whatever was published after the user stopped is in the store, and counts.
        drop(report);
        while let Ok(told) = reports.try_recv() {
            self.take(told, &mut 0, &mpsc::channel().0);
        }
        if !self.outcome.built.is_empty() {
            // What makes the new objects findable is made durable too. If that fails, they are built again.
            let _ = context.session.sync();
        }
    }

    fn coordinate(
        &mut self,
        options: Options,
        start: &dyn Fn(Task<'a>),
        halt: &AtomicBool,
        report: &Sender<Report>,
        reports: &Receiver<Report>,
    ) {
        let mut running = 0;
        loop {
            if self.context.cancel.load(Ordering::Relaxed) {
                self.outcome.cancelled = true;
                halt.store(true, Ordering::Relaxed);
                return;
            }
            let stopped = !self.outcome.failed.is_empty() && !options.keep_going;
            halt.store(stopped, Ordering::Relaxed);
            while running < options.jobs.max(1) * PIPELINE && !stopped {
                let Some((_, std::cmp::Reverse(at))) = self.ready.pop() else { break };
                if let Some(task) = self.task(at) {
                    running += 1;
                    start(task);
                }
            }
            if running == 0 {
                return;
            }
            match reports.recv_timeout(GLANCE) {
                Ok(told) => self.take(told, &mut running, report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(told) = reports.try_recv() {
                self.take(told, &mut running, report);
            }
        }
    }

    fn task(&mut self, at: usize) -> Option<Task<'a>> {
        let node = &self.context.graph.nodes()[at];
        let derivation = match derivation(self.context, node, &self.outcome.done) {
            Ok(derivation) => derivation,
            Err(error) => {
                self.fail(at, error);
                return None;
            }
        };
        let output =
            |node: &usize| -> Option<Output> { self.outcome.done.get(node).map(|done| done.output.clone()) };
        let inputs = node
            .inputs
            .iter()
            .filter_map(|(alias, edge)| Some((alias.clone(), output(&edge.node)?)))
            .collect();
        Some(Task { at, node, derivation, inputs })
    }

    fn take(&mut self, told: Report, running: &mut usize, report: &Sender<Report>) {
        let name = |at: usize| self.context.graph.nodes()[at].name.clone();
        match told {
            Report::Busy { at, drv } => {
                self.context.events.emit(Event::Waiting { name: name(at) });
                let (store, report) = (self.context.session.store().clone(), report.clone());
                // Its own thread, outside of the scope: a user who stops must not wait for another process.
                std::thread::spawn(move || {
                    let _ = store.wait_for(drv); // if waiting fails, trying again says why
                    let _ = report.send(Report::Free { at });
                });
            }
            Report::Dropped => *running = running.saturating_sub(1),
            Report::Free { at } => {
                *running = running.saturating_sub(1);
                self.ready.push((self.height[at], std::cmp::Reverse(at)));
            }
            Report::Found { at, done } => {
                *running = running.saturating_sub(1);
                self.outcome.cached.push(name(at));
                self.context.events.emit(Event::Cached { name: name(at) });
                let free = self.done(at, done, &Realisation { outputs: Vec::new() });
                self.resolve_or_fail(free);
            }
            Report::Published { at, done, realisation, milliseconds } => {
                *running = running.saturating_sub(1);
                let object = done.output.object.to_string();
                self.outcome.built.push(name(at));
                self.context.events.emit(Event::Built { name: name(at), object, milliseconds });
                let free = self.done(at, done, &realisation);
                self.resolve_or_fail(free);
            }
            Report::Failed { at, error } => {
                *running = running.saturating_sub(1);
                self.fail(at, error);
            }
        }
    }

    fn resolve_or_fail(&mut self, free: Vec<usize>) {
        let first = free.first().copied();
        if let (Err(error), Some(at)) = (self.resolve(free), first) {
            self.fail(at, error);
        }
    }

    fn fail(&mut self, at: usize, mut error: ExecError) {
        super::origin::name(self.context, &self.outcome.done, at, &mut error);
        let name = self.context.graph.nodes()[at].name.clone();
        let shown = crate::base::hint::chain(&error);
        self.context.events.emit(Event::Failed { name: name.clone(), error: shown });
        self.outcome.failed.push((name.clone(), Arc::new(error)));
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            for user in self.users[at].iter().filter(|user| self.wanted.contains(user)) {
                if self.lost.insert(*user) {
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
        self.outcome.skipped =
            self.lost.iter().map(|at| self.context.graph.nodes()[*at].name.clone()).collect();
        self.outcome
    }
}
