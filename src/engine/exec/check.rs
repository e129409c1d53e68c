//! `build --check`: builds everything a second time and reports every difference. Both outputs are kept.
//!
//! Programs run under other conditions the second time ([`Variation`]). If that makes a difference, further runs find out
//! which condition it was.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::resolve::derivation;
use super::work::{stage, trace_inputs};
use super::{BuildContext, Done, ExecError, in_store};
use crate::base::event::Event;
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::engine::sandbox::Variation;
use crate::engine::store::{Output, Trace};
use crate::engine::tree::Listing;

/// A derivation whose two builds differ.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Nondeterminism {
    pub name: String,
    pub before: String,
    pub now: String,
    /// Every path that differs, and how.
    pub paths: Vec<(String, &'static str)>,
    /// What the output depends on; empty if no program ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Recheck {
    pub checked: usize,
    pub differences: Vec<Nondeterminism>,
}

/// Rebuilds every derivation of `done` and compares.
pub(crate) fn recheck(
    context: BuildContext<'_>,
    done: &BTreeMap<NodeIndex, Done>,
    jobs: usize,
) -> Result<Recheck, ExecError> {
    let sandbox = context.sandbox.varied(Variation::ALL);
    let context = BuildContext { sandbox: &sandbox, ..context };
    let again = || {
        done.par_iter()
            .filter(|_| !context.cancel.load(Ordering::Relaxed))
            .filter(|(at, _)| !context.graph.nodes()[**at].impure)
            .map(|(at, known)| rebuild(context, *at, known, done))
            .collect::<Result<Vec<_>, _>>()
    };
    let results = match rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build() {
        Ok(pool) => pool.install(again),
        Err(_) => again(),
    }?;
    let checked = results.len();
    let mut differences: Vec<Nondeterminism> = results.into_iter().flatten().collect();
    differences.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Recheck { checked, differences })
}

fn rebuild(
    context: BuildContext<'_>,
    at: NodeIndex,
    known: &Done,
    done: &BTreeMap<NodeIndex, Done>,
) -> Result<Option<Nondeterminism>, ExecError> {
    let node = &context.graph.nodes()[at];
    context.events.emit(Event::Started { name: node.name.clone(), builder: node.builder.0.clone() });
    let inputs: BTreeMap<String, Output> = node
        .inputs
        .iter()
        .filter_map(|(alias, edge)| Some((alias.clone(), done.get(&edge.node)?.output.clone())))
        .collect();
    let start = std::time::Instant::now();
    let (staged, said) = stage(context, node, &inputs)?;
    let milliseconds = start.elapsed().as_millis() as u64;
    context.events.emit(Event::Built {
        name: node.name.clone(),
        object: staged.id().to_string(),
        milliseconds,
        executor: None,
    });
    let store = context.session.store();
    let identity = derivation(context, node, |at| done.get(&at))?.explain();
    let trace = Trace {
        label: node.name.clone(),
        inputs: BTreeMap::new(),
        identity,
        time: super::work::now(),
        milliseconds,
        isolation: said.programs.as_ref().map(|note| note.isolation.to_owned()),
        substituted: None,
        executor: None,
    };
    if staged.id() == known.output.object {
        context.session.discard_staged(&staged);
        let realisation = store.realisation(known.drv).map_err(in_store(node))?;
        // Whoever vouched for it until now was right, and is not needed any more.
        if realisation.is_some_and(|realisation| realisation.signed.contains_key(&known.output.object)) {
            let trace = Trace { inputs: trace_inputs(node, &inputs), ..trace };
            context.session.record(known.drv, &known.output, &trace).map_err(in_store(node))?;
        }
        return Ok(None);
    }
    let before = store.object(known.output.object).map_err(in_store(node))?;
    context.session.sync().map_err(in_store(node))?;
    let output = context.session.publish(&staged).map_err(in_store(node))?;
    let now = store.object(output.object).map_err(in_store(node))?;
    let depends_on = match said.programs {
        Some(_) => find_cause(context, node, &inputs, known)?,
        None => Vec::new(),
    };
    context.session.record(known.drv, &output, &trace).map_err(in_store(node))?;
    Ok(Some(Nondeterminism {
        name: node.name.clone(),
        before: before.path.display().to_string(),
        now: now.path.display().to_string(),
        paths: compare(&before.listing, &now.listing),
        depends_on,
    }))
}

/// Runs it again under each condition alone. A program that gives other bytes without any depends on something else.
fn find_cause(
    context: BuildContext<'_>,
    node: &GraphNode,
    inputs: &BTreeMap<String, Output>,
    known: &Done,
) -> Result<Vec<String>, ExecError> {
    let differs = |variation: Variation| {
        let sandbox = context.sandbox.varied(variation);
        let (staged, _) = stage(BuildContext { sandbox: &sandbox, ..context }, node, inputs)?;
        Ok::<_, ExecError>(staged.id() != known.output.object)
    };
    if differs(Variation::default())? {
        return Ok(vec!["something that differs from run to run, such as the time or random numbers".into()]);
    }
    let mut causes = Vec::new();
    for variation in Variation::each() {
        if differs(variation)? {
            causes.extend(variation.describe());
        }
    }
    // Only all of them together make a difference.
    Ok(if causes.is_empty() { Variation::ALL.describe() } else { causes })
}

/// Files and links that differ between two listings.
fn compare(before: &Listing, now: &Listing) -> Vec<(String, &'static str)> {
    let paths: BTreeSet<&str> = before.leaves("").chain(now.leaves("")).map(|(path, _)| path).collect();
    paths
        .into_iter()
        .filter_map(|path| match (before.get(path), now.get(path)) {
            (Some(one), Some(other)) if one == other => None,
            (Some(_), Some(_)) => Some((path.to_owned(), "changed")),
            (Some(_), None) => Some((path.to_owned(), "gone")),
            (None, _) => Some((path.to_owned(), "new")),
        })
        .collect()
}
