//! From a node to a derivation: replaces inputs by the content of their outputs. Also the dry run.

use std::collections::{BTreeMap, BTreeSet};

use super::{BuildContext, Done, ExecError, in_store, output_source};
use crate::base::digest::{Digest, ObjectId};
use crate::engine::builders::{InputTree, Job, Notes};
use crate::engine::cache::ClosureId;
use crate::engine::drv::{Derivation, Explanation, Input, InputKind};
use crate::engine::recipe::{Edge, GraphNode, NodeIndex};
use crate::engine::store::Object;

/// The name of the seed among a derivation's secrets; no recipe can use it for another.
pub(crate) const SEED: &str = "cluster.seed";

/// The derivation of a node whose inputs are all done.
pub(super) fn derivation<'n, 'd>(
    context: BuildContext<'_>,
    node: &'n GraphNode,
    output: impl Fn(NodeIndex) -> Option<&'d Done>,
) -> Result<Derivation<'n>, ExecError> {
    let mut inputs = BTreeMap::new();
    for (alias, edge) in &node.inputs {
        let Some(from) = output(edge.node) else { continue }; // excluded by the caller
        inputs.insert(alias.clone(), input(context, node, edge, from.output.object)?);
    }
    let builder = context.builder_of(node)?;
    let no_seed = || ExecError::NoSeed { name: node.name.clone() };
    let mut secrets = BTreeMap::new();
    for (alias, secret) in &node.secrets {
        secrets.insert(alias.clone(), context.session.key().ok_or_else(no_seed)?.digest_value(secret));
    }
    if builder.grants().seed {
        secrets.insert(SEED.to_owned(), context.seed.ok_or_else(no_seed)?.digest());
    }
    Ok(Derivation { label: &node.name, builder: builder.id(), inputs, params: &node.params, secrets })
}

fn input(
    context: BuildContext<'_>,
    node: &GraphNode,
    edge: &Edge,
    object: ObjectId,
) -> Result<Input, ExecError> {
    let Some(path) = &edge.path else {
        return Ok(Input { kind: InputKind::Dir, digest: object.0 });
    };
    let found = context.session.store().object(object).map_err(in_store(node))?;
    match found.listing.get(path).and_then(Input::of) {
        Some(input) => Ok(input),
        None => Err(no_path(context, node, edge, path, found)),
    }
}

/// Describes a missing path, in the words of the builder whose output lacks it.
fn no_path(context: BuildContext<'_>, node: &GraphNode, edge: &Edge, path: &str, found: Object) -> ExecError {
    let (name, recipe) = (node.name.clone(), node.recipe.clone());
    let output = InputTree {
        root: found.path,
        listing: Some(std::sync::Arc::new(found.listing)),
        path: String::new(),
        derivation: edge.from.clone(),
    };
    let made_by = context.builder_of(&context.graph.nodes()[edge.node]).ok();
    match made_by.and_then(|builder| builder.lacks(path, &output)) {
        Some(lack) => ExecError::Lack { name, recipe, lack },
        None => {
            let has = output.leaves().map(|(path, ..)| path.to_owned()).collect();
            ExecError::NoPath { name, recipe, from: edge.from.clone(), path: path.to_owned(), has }
        }
    }
}

/// Names everything that decides what these derivations and their inputs become, before any of it is built: builders,
/// parameters, keyed digests of secrets, and who needs what of whom.
pub(crate) fn closure_id(context: BuildContext<'_>, targets: &[NodeIndex]) -> Result<ClosureId, ExecError> {
    let nodes = context.graph.nodes();
    let mut ids: BTreeMap<NodeIndex, Digest> = BTreeMap::new();
    // In build order: inputs come first.
    for at in context.graph.closure(targets) {
        let node = &nodes[at];
        let derivation = derivation(context, node, |_| None)?;
        let mut hasher = blake3::Hasher::new_derive_key("tinderbox 2026-11-18 closure v1");
        hasher.update(derivation.id().0.as_bytes());
        for (alias, edge) in &node.inputs {
            for text in [alias.as_str(), edge.path.as_deref().unwrap_or_default()] {
                hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
            }
            hasher.update(ids.get(&edge.node).map_or(&[][..], |id| id.as_bytes()));
        }
        ids.insert(at, hasher.finalize().into());
    }
    let mut hasher = blake3::Hasher::new_derive_key("tinderbox 2026-11-18 closure of targets v1");
    let all: BTreeSet<&Digest> = targets.iter().filter_map(|at| ids.get(at)).collect();
    for id in all {
        hasher.update(id.as_bytes());
    }
    Ok(ClosureId(hasher.finalize().into()))
}

/// A job without the content of its inputs, for [`crate::engine::builders::Builder::check`].
pub(super) fn outline(node: &GraphNode) -> Job<'_> {
    let inputs = node.inputs.keys().map(|alias| (alias.clone(), InputTree::default())).collect();
    Job {
        aliases: &node.aliases,
        inputs,
        params: &node.params,
        secrets: &node.secrets,
        images: None,
        files: None,
        seed: None,
        programs: None,
        notes: Notes::default(),
    }
}

/// What a build would do.
#[derive(Debug, Default)]
pub(crate) struct BuildPlan {
    /// Outputs in the store.
    pub done: BTreeMap<NodeIndex, Done>,
    /// Derivations to build: those missing from the store, and all that need one of them.
    pub missing: BTreeSet<NodeIndex>,
}

/// Plans a build of these derivations. Writes nothing.
pub(crate) fn plan(context: BuildContext<'_>, targets: &[NodeIndex]) -> Result<BuildPlan, ExecError> {
    let mut plan = BuildPlan::default();
    let nodes = context.graph.nodes();
    let closure = context.graph.closure(targets);
    let Some(first) = closure.first() else { return Ok(plan) };
    let using = context.session.using().map_err(in_store(&nodes[*first]))?;
    for at in closure {
        let node = &nodes[at];
        if node.inputs.values().any(|edge| plan.missing.contains(&edge.node)) {
            plan.missing.insert(at);
            continue;
        }
        let derivation = derivation(context, node, |at| plan.done.get(&at))?;
        match output_source::find(context, &using, node, derivation.id())? {
            Some(found) => drop(plan.done.insert(at, found.done)),
            None => drop(plan.missing.insert(at)),
        }
    }
    Ok(plan)
}

/// The identities of derivations that are not in the store, as far as their inputs are known.
///
/// An input that is not built yet has no content: it appears as unset, which differs from any previous value.
pub(crate) fn explain(
    context: BuildContext<'_>,
    plan: &BuildPlan,
    targets: &[NodeIndex],
) -> Result<BTreeMap<NodeIndex, Explanation>, ExecError> {
    let nodes = context.graph.nodes();
    let closure = context.graph.closure(targets);
    closure
        .into_iter()
        .map(|at| Ok((at, derivation(context, &nodes[at], |at| plan.done.get(&at))?.explain())))
        .collect()
}
