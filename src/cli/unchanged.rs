//! Nothing changed: a build of the whole cluster that found everything is remembered, and the next one only looks whether anything
//! that decides it is different.
//!
//! What decides is not listed here: it is what that build looked at. Every question that reading the cluster directory and the user's
//! configuration asked the file system is asked again ([`fs::looks`]); what is in no file is compared as it is
//! ([`workspace::given`]); of the store, whatever looking up the derivations would read ([`Store::evidence`]).
//! The clock is asked anew. Only what a build really said is repeated: a memo from which report and events do not come out equal
//! is not kept.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::build::{BuildReport, Target};
use super::expiry::{self, Dated};
use crate::base::digest::Digest;
use crate::base::event::{Event, Events};
use crate::base::fs::{self, looks::Looks, looks::Recorded};
use crate::engine::exec::Outcome;
use crate::engine::store::{Evidence, Held, Moment, Session, Store};
use crate::openshift::workspace::{self, ClusterDir, Env, Workspace};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memo {
    given: Digest,
    looks: Looks,
    evidence: Evidence,
    /// What was said about the cluster directory.
    said: Vec<Said>,
    /// In the order in which they were found.
    held: Vec<Held>,
    /// The targets among them.
    targets: Vec<String>,
    generation: u64,
    disabled_checks: Vec<String>,
    dated: Dated,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Notice(String),
    Warning(String),
}

impl Memo {
    fn report(&self, store: &Store) -> Option<BuildReport> {
        let target = |name: &String| {
            let held = self.held.iter().find(|held| held.name == *name)?;
            Some(Target {
                name: name.clone(),
                drv: held.drv,
                object: held.object,
                path: store.path_of_held(held),
            })
        };
        let mut cached: Vec<String> = self.held.iter().map(|held| held.name.clone()).collect();
        cached.sort_unstable();
        Some(BuildReport {
            targets: self.targets.iter().map(target).collect::<Option<_>>()?,
            built: Some(Vec::new()),
            cached,
            generation: Some(self.generation),
            disabled_checks: self.disabled_checks.clone(),
            ..BuildReport::default()
        })
    }

    fn events(&self) -> Vec<Event> {
        let said = self.said.iter().map(|said| match said {
            Said::Notice(text) => Event::Notice { text: text.clone() },
            Said::Warning(text) => Event::Warning { text: text.clone() },
        });
        let found = self.held.iter().map(|held| Event::Cached { name: held.name.clone(), source: "store" });
        let count = self.held.len();
        said.chain(found).chain([Event::Planned { total: count, cached: count }]).collect()
    }
}

/// The report of a build of the cluster, if nothing that decides it changed since it was remembered.
pub(super) fn recall(env: Env<'_>) -> Option<BuildReport> {
    let directory = env.cluster_dir().ok()?;
    let store = workspace::open_store(env.store, directory.path()).ok()?;
    let roots = store.roots_of(directory.home());
    let (memo, key) = store.memo::<Memo>(&roots)?;
    let is_same = memo.given == workspace::given(env, &directory)?
        && store.is_idle()
        && memo.looks.still_hold(&key)
        && store.evidence(&roots, memo.generation, &memo.held, None) == Some(memo.evidence);
    let mut report = is_same.then(|| memo.report(&store)).flatten()?;
    (result_of(&directory)? == report.targets.iter().find(|target| target.name == "cluster")?.path)
        .then_some(())?;
    memo.events().into_iter().for_each(|event| env.events.emit(event));
    report.ended = expiry::warn(env, &memo.dated, workspace::this_second());
    Some(report)
}

/// What `result` points to.
fn result_of(directory: &ClusterDir) -> Option<PathBuf> {
    fs::read_link(&directory.result()).ok()
}

/// A build that may be remembered: when it began, and what it said so far.
pub(super) struct Attempt<'a> {
    began: Moment,
    events: &'a dyn Events,
    said: Mutex<Vec<Event>>,
}

impl<'a> Attempt<'a> {
    pub(super) fn begin(events: &'a dyn Events) -> Self {
        Self { began: Moment::now(), events, said: Mutex::default() }
    }

    /// What was said so far.
    pub(super) fn said(&self) -> Vec<Event> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Events for Attempt<'_> {
    fn emit(&self, event: Event) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        self.events.emit(event);
    }

    fn settle(&self) {
        self.events.settle();
    }
}

/// What a build found.
pub(super) struct Found<'a> {
    /// What was looked at to read the cluster.
    pub(super) looks: Recorded,
    /// What was said before the clock was asked.
    pub(super) said: Vec<Event>,
    pub(super) held: Vec<Held>,
    pub(super) dated: Dated,
    pub(super) report: &'a BuildReport,
}

/// Every derivation that a build found or built.
pub(super) fn held(workspace: &Workspace, outcome: &Outcome) -> Vec<Held> {
    let nodes = workspace.graph.nodes();
    let held = outcome.done.iter().map(|(at, done)| Held {
        name: nodes[*at].name.clone(),
        drv: done.drv,
        object: done.output.object,
        title: done.output.name.clone(),
    });
    held.collect()
}

/// Remembers a build that found everything. If that fails, or a memo would not say the same, the next build takes longer.
pub(super) fn remember(
    env: Env<'_>,
    attempt: &Attempt<'_>,
    workspace: &Workspace,
    session: &Session,
    found: Found<'_>,
) -> Option<()> {
    let Found { looks, said, held, dated, report } = found;
    let (store, key) = (session.store(), workspace.id_key());
    let roots = workspace.roots(store);
    let mut position = std::collections::BTreeMap::new();
    for event in &said {
        if let Event::Cached { name, .. } = event {
            position.insert(name.clone(), position.len());
        }
    }
    let mut held = held;
    held.sort_by_key(|held| position.get(&held.name).copied());
    let notes = said.iter().filter_map(|event| match event {
        Event::Notice { text } => Some(Said::Notice(text.clone())),
        Event::Warning { text } => Some(Said::Warning(text.clone())),
        _ => None,
    });
    let generation = report.generation?;
    let memo = Memo {
        given: workspace::given(env, &workspace.directory)?,
        looks: looks.keyed(&key)?,
        evidence: store.evidence(&roots, generation, &held, Some(attempt.began))?,
        said: notes.collect(),
        targets: report.targets.iter().map(|target| target.name.clone()).collect(),
        disabled_checks: report.disabled_checks.clone(),
        held,
        generation,
        dated,
    };
    let is_same = is_equal(&memo.report(store)?, report)? && is_equal(&memo.events(), &said)?;
    (is_same && !session.is_reading()).then_some(())?;
    store.keep_memo(session, &roots, &key, &memo).ok()
}

fn is_equal<T: Serialize>(one: &T, other: &T) -> Option<bool> {
    Some(serde_json::to_string(one).ok()? == serde_json::to_string(other).ok()?)
}
