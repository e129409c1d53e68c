//! `build --check`: builds everything a second time and reports every difference. Both outputs are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use rayon::prelude::*;
use serde::Serialize;

use super::resolve::derivation;
use super::work::stage;
use super::{BuildContext, Done, ExecError, in_store};
use crate::base::event::Event;
use crate::engine::recipe::NodeIndex;
use crate::engine::store::{Output, Trace};
use crate::engine::tree::Listing;

/// A derivation whose two builds differ.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Nondeterminism {
    pub name: String,
    pub before: String,
    pub now: String,
    /// Every path that differs, and how.
    pub paths: Vec<(String, &'static str)>,
}

#[derive(Debug, Clone, Default, Serialize)]
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
    });
    if staged.id() == known.output.object {
        return Ok(None);
    }
    let store = context.session.store();
    let before = store.object(known.output.object).map_err(in_store(node))?;
    context.session.sync().map_err(in_store(node))?;
    let output = context.session.publish(&staged).map_err(in_store(node))?;
    let now = store.object(output.object).map_err(in_store(node))?;
    let identity = derivation(context, node, |at| done.get(&at))?.explain();
    let trace = Trace {
        label: node.name.clone(),
        inputs: BTreeMap::new(),
        identity,
        time: super::work::now(),
        milliseconds,
        isolation: said.programs.map(|note| note.isolation.to_owned()),
    };
    context.session.record(known.drv, &output, &trace).map_err(in_store(node))?;
    Ok(Some(Nondeterminism {
        name: node.name.clone(),
        before: before.path.display().to_string(),
        now: now.path.display().to_string(),
        paths: compare(&before.listing, &now.listing),
    }))
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
