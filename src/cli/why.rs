//! `why`: why a derivation was rebuilt, or would be: root causes and the cascade from them, separately.
//!
//! Compares two identities of a name: the last build and the current files, or, if nothing changed since, the last two
//! builds that differ.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::document::{Document, Documented};
use super::output::{Colour, line, stdout_paint};
use super::{Error, Printer, Result, complete, targets};
use crate::base::digest::DrvId;
use crate::base::event::Event;
use crate::base::hint::{Place, chain};
use crate::compare::cause::{Cause, CauseKind};
use crate::engine::drv::Explanation;
use crate::engine::exec::{self, BuildPlan};
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::engine::store::{Record, Session, Store};
use crate::openshift::workspace::{self, Env, Missing, Workspace};

/// Explain why a derivation was rebuilt, or would be
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tinderbox why infra/haproxy")]
pub(super) struct Args {
    /// A derivation, or a folder of them
    #[arg(add = complete::target())]
    target: Option<String>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Why>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let accepted = "a derivation (`infra/haproxy`) or a folder of them (`infra`)";
        let target = self.target.ok_or_else(|| targets::needed(env, "why", accepted))?;
        let found = why(env, &target)?;
        Ok(printer.answer(&found, || show(&found)))
    }
}

pub(super) fn show(why: &Why) {
    line(match why.status {
        Status::New => format!("{} was never built here", why.target),
        Status::Changed => format!("{} changed since the last build", why.target),
        Status::UpToDate => format!("{} is up to date; this was its last change", why.target),
        Status::Unchanged => format!("{} is up to date, and has never changed", why.target),
    });
    if !why.causes.is_empty() {
        line(stdout_paint("root cause", Colour::Cyan));
        // One line of a file may set several fields that several derivations read: that is one cause.
        let mut shown: Vec<&Cause> = Vec::new();
        for cause in &why.causes {
            let same =
                |one: &&Cause| (&one.places, &one.from, &one.to) == (&cause.places, &cause.from, &cause.to);
            if !shown.iter().any(same) {
                shown.push(cause);
            }
        }
        shown.into_iter().map(show_cause).for_each(line);
    }
    if !why.cascade.is_empty() {
        line(stdout_paint("cascade", Colour::Cyan));
        why.cascade.iter().for_each(|way| line(format!("  {}", way.join(" → "))));
    }
    if !why.follows.is_empty() && why.status == Status::Changed {
        line(stdout_paint("what follows", Colour::Cyan));
        why.follows.iter().for_each(|name| line(format!("  {name}")));
    }
}

fn show_cause(cause: &Cause) -> String {
    let kind = match cause.kind {
        CauseKind::Seed => "seed",
        CauseKind::Release | CauseKind::Component | CauseKind::Config | CauseKind::Epoch => "config field",
        CauseKind::File => "file",
        CauseKind::Parameter | CauseKind::Versioned => "parameter",
        CauseKind::Inputs => "input",
        CauseKind::Builder => "builder",
        CauseKind::Unknown => return format!("  unknown: {}", cause.what),
    };
    let places: Vec<String> = cause.places.iter().map(ToString::to_string).collect();
    let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join("; ")) };
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "(nothing)".into());
    format!("  {kind} {}{places}: {} → {}", cause.what, side(&cause.from), side(&cause.to))
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Why {
    pub target: String,
    pub status: Status,
    #[serde(serialize_with = "causes")]
    #[schemars(with = "Vec<ReadCause<'static>>")]
    pub causes: Vec<Cause>,
    /// Paths from a cause down to the target, each from the derivation that reads what changed.
    pub cascade: Vec<Vec<String>>,
    /// Derivations that need the target.
    pub follows: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    /// A build would build it, or find an earlier output.
    Changed,
    New,
    /// Unchanged since the last build; the causes are those of that build.
    UpToDate,
    /// Unchanged since the last build, and never changed before.
    Unchanged,
}

/// A cause, by the derivation that reads it.
#[derive(Serialize, JsonSchema)]
struct ReadCause<'a> {
    derivation: &'a str,
    kind: &'static str,
    what: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    places: &'a [Place],
    from: &'a Option<String>,
    to: &'a Option<String>,
}

/// Causes as data, by the derivation that reads each; a field of the lock counts as configuration.
fn causes<S: Serializer>(causes: &[Cause], to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_seq(causes.iter().map(|Cause { kind, what, from, to, places, read_by }| ReadCause {
        derivation: read_by.first().map_or("", String::as_str),
        kind: word(*kind).1,
        what,
        places,
        from,
        to,
    }))
}

/// The sort order of this kind, and its name in the document.
fn word(kind: CauseKind) -> (u8, &'static str) {
    match kind {
        CauseKind::Seed => (0, "seed"),
        CauseKind::Release | CauseKind::Component | CauseKind::Config | CauseKind::Epoch => (1, "config"),
        CauseKind::File => (2, "file"),
        CauseKind::Parameter | CauseKind::Versioned => (3, "parameter"),
        CauseKind::Inputs => (4, "inputs"),
        CauseKind::Builder => (5, "builder"),
        CauseKind::Unknown => (6, "forgotten"),
    }
}

pub(crate) fn why(env: Env<'_>, target: &str) -> Result<Why> {
    let workspace = Workspace::load(env, Missing::Imagine)?;
    if let Some(refused) = workspace.lock_is_behind(env)? {
        let text = format!("the next build fails: {}", chain(&refused));
        env.events.emit(Event::Warning { text });
    }
    let selected = workspace.select(&[target.to_owned()])?;
    let not_built = || Error::NotBuilt { target: target.to_owned() };
    let store =
        workspace::open_store_if_there(env.store, workspace.directory.path())?.ok_or_else(not_built)?;
    let record = workspace.roots(&store).record()?;
    let session = Session::reading(&store, Some(workspace.id_key()));
    let context = workspace.context(env, &session);
    let plan = exec::plan(context, &selected)?;
    let explained = exec::explain(context, &plan, &selected)?;
    let history = History { workspace: &workspace, store: &store, record: &record, plan: &plan, explained };
    // Of a folder, what changed most recently decides, and only that is traced.
    let status = selected.iter().map(|at| history.status(*at)).min().unwrap_or(Status::Unchanged);
    let decisive: Vec<NodeIndex> = selected.into_iter().filter(|at| history.status(*at) == status).collect();
    let mut tracker = Tracker { history: &history, past: status == Status::UpToDate, seen: BTreeMap::new() };
    if matches!(status, Status::Changed | Status::UpToDate) {
        decisive.iter().for_each(|at| tracker.trace(*at));
    }
    let (causes, cascade) = tracker.collect(&decisive);
    let follows = follows(&workspace, &decisive);
    Ok(Why { target: target.to_owned(), status, causes, cascade, follows })
}

fn follows(workspace: &Workspace, of: &[NodeIndex]) -> Vec<String> {
    let users = workspace.graph.users();
    let mut found = BTreeSet::new();
    let mut open = of.to_vec();
    while let Some(at) = open.pop() {
        open.extend(users[at].iter().filter(|user| found.insert(**user)));
    }
    found.into_iter().map(|at| workspace.graph.nodes()[at].name.clone()).collect()
}

struct History<'a> {
    workspace: &'a Workspace,
    store: &'a Store,
    record: &'a Record,
    plan: &'a BuildPlan,
    /// Identities for the current files, as far as inputs are known.
    explained: BTreeMap<NodeIndex, Explanation>,
}

impl History<'_> {
    fn node(&self, at: NodeIndex) -> &GraphNode {
        &self.workspace.graph.nodes()[at]
    }

    fn status(&self, at: NodeIndex) -> Status {
        match self.record.names.get(&self.node(at).name) {
            None => Status::New,
            Some(last) => match self.plan.done.get(&at) {
                Some(done) if done.drv == last.drv => {
                    if last.before.is_some() {
                        Status::UpToDate
                    } else {
                        Status::Unchanged
                    }
                }
                _ => Status::Changed,
            },
        }
    }

    /// The identities to compare: before and after. None if there is nothing to compare with.
    fn sides(&self, at: NodeIndex, past: bool) -> Option<(Option<Explanation>, Explanation)> {
        let last = self.record.names.get(&self.node(at).name)?;
        if past {
            Some((self.kept(last.before?), self.kept(last.drv)?))
        } else {
            Some((self.kept(last.drv), self.explained.get(&at)?.clone()))
        }
    }

    fn kept(&self, drv: DrvId) -> Option<Explanation> {
        self.store.traces(drv).ok()?.pop().map(|trace| trace.identity)
    }
}

/// What the walk found about one derivation.
#[derive(Debug, Default)]
struct TracedNode {
    causes: Vec<Cause>,
    /// Inputs that changed too.
    from: Vec<NodeIndex>,
}

struct Tracker<'a> {
    history: &'a History<'a>,
    past: bool,
    seen: BTreeMap<NodeIndex, TracedNode>,
}

impl Tracker<'_> {
    /// Finds what changed in a derivation, and continues with inputs whose content changed.
    fn trace(&mut self, at: NodeIndex) {
        if self.seen.contains_key(&at) {
            return;
        }
        self.seen.insert(at, TracedNode::default());
        let node = self.history.node(at);
        let mut found = TracedNode::default();
        let Some((before, after)) = self.history.sides(at, self.past) else { return };
        let Some(before) = before else {
            let cause = Cause::new(CauseKind::Unknown, "the trace of the build before was collected");
            found.causes.push(Cause { read_by: vec![node.name.clone()], ..cause });
            self.seen.insert(at, found);
            return;
        };
        let mut inputs = BTreeSet::new();
        for change in before.changes(&after) {
            let input = change.path.strip_prefix("inputs.").map(|alias| alias.trim_matches('"'));
            match input.and_then(|alias| node.inputs.get(alias)) {
                Some(edge) if change.from.is_some() => drop(inputs.insert(edge.node)),
                _ => {
                    let cause = Cause::named(&self.history.workspace.fields, node, &change);
                    found.causes.push(Cause { read_by: vec![node.name.clone()], ..cause });
                }
            }
        }
        // An input that is not built yet has no content to compare; its own changes count.
        let unknown = |edge: &&crate::engine::recipe::Edge| {
            !self.past && self.history.plan.missing.contains(&edge.node)
        };
        inputs.extend(node.inputs.values().filter(unknown).map(|edge| edge.node));
        found.from = inputs.iter().copied().collect();
        self.seen.insert(at, found);
        inputs.into_iter().for_each(|input| self.trace(input));
    }

    /// All causes, and the paths from them to the targets.
    fn collect(&self, targets: &[NodeIndex]) -> (Vec<Cause>, Vec<Vec<String>>) {
        let mut causes: Vec<Cause> =
            self.seen.values().flat_map(|found| found.causes.iter().cloned()).collect();
        causes.sort_by(|one, other| {
            (word(one.kind), &one.what, &one.read_by).cmp(&(word(other.kind), &other.what, &other.read_by))
        });
        let mut ways = Vec::new();
        let elsewhere =
            self.seen.iter().filter(|(at, found)| !found.causes.is_empty() && !targets.contains(at));
        for (at, _) in elsewhere {
            for way in targets.iter().filter_map(|target| self.way(*at, *target)) {
                ways.push(way.into_iter().map(|at| self.history.node(at).name.clone()).collect());
            }
        }
        (causes, ways)
    }

    /// The shortest path along changed inputs.
    fn way(&self, from: NodeIndex, to: NodeIndex) -> Option<Vec<NodeIndex>> {
        let mut next: BTreeMap<NodeIndex, NodeIndex> = BTreeMap::new();
        let mut open = std::collections::VecDeque::from([to]);
        while let Some(at) = open.pop_front() {
            if at == from {
                let mut way = vec![at];
                while let Some(step) = way.last().and_then(|at| next.get(at)) {
                    way.push(*step);
                }
                return Some(way);
            }
            for input in &self.seen.get(&at)?.from {
                if *input != to && !next.contains_key(input) {
                    next.insert(*input, at);
                    open.push_back(*input);
                }
            }
        }
        None
    }
}
