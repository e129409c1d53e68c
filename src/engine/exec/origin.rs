//! Finds the origin of a file in a builder's error: not the tree that last contained it, but the derivation that wrote
//! it and the patches that changed it. Searches by content, backwards through the graph, since outputs contain no
//! names.

use std::collections::BTreeMap;

use super::{BuildContext, Done, ExecError};
use crate::engine::builders::BuildError;
use crate::engine::recipe::{Graph, NodeIndex};
use crate::engine::tree::{Listing, leaf};

/// Adds the origin of its file to every finding.
pub(super) fn name<'a>(
    context: BuildContext<'a>,
    output: &'a dyn Fn(NodeIndex) -> Option<&'a Done>,
    at: NodeIndex,
    error: &mut ExecError,
) {
    let ExecError::Build { source, .. } = error else { return };
    let BuildError::Builder(failure) = source.as_mut() else { return };
    let walk = OriginWalk { context, output };
    for (path, derivation) in failure.artifacts() {
        if let Some(origin) = walk.of_input(at, path) {
            *derivation = origin;
        }
    }
}

/// The origin of a file of an output; none if it is not in it.
pub(crate) fn origin_of(
    context: BuildContext<'_>,
    done: &BTreeMap<NodeIndex, Done>,
    at: NodeIndex,
    path: &str,
) -> Option<String> {
    let output = |at: NodeIndex| done.get(&at);
    let walk = OriginWalk { context, output: &output };
    walk.listing(at)?.get(path)?;
    Some(walk.back(at, path.to_owned()))
}

struct OriginWalk<'a> {
    context: BuildContext<'a>,
    output: &'a dyn Fn(NodeIndex) -> Option<&'a Done>,
}

impl OriginWalk<'_> {
    fn listing(&self, at: NodeIndex) -> Option<Listing> {
        Some(self.context.session.store().object((self.output)(at)?.output.object).ok()?.listing)
    }

    /// The origin of a file, by its path in one of a derivation's inputs.
    fn of_input(&self, at: NodeIndex, path: &str) -> Option<String> {
        self.context.graph.nodes()[at].inputs.values().find_map(|edge| {
            let whole = match &edge.path {
                Some(inside) => format!("{inside}/{path}"),
                None => path.to_owned(),
            };
            self.listing(edge.node)?.get(&whole)?;
            Some(self.back(edge.node, whole))
        })
    }

    /// Walks back while an input has the same file or, at a patch, the file that it changed.
    fn back(&self, mut at: NodeIndex, mut path: String) -> String {
        let mut patches = Vec::new();
        let nodes = self.context.graph.nodes();
        loop {
            let node = &nodes[at];
            let builder = self.context.builder_of(node).ok();
            let changed = builder.and_then(|builder| node.inputs.get(builder.changes()?));
            if let Some(before) = unchanged(self.context.graph, at, &path, |at| self.listing(at)) {
                (at, path) = before;
            } else if let Some(edge) = changed {
                patches.push(node.name.as_str());
                at = edge.node;
            } else {
                let written =
                    node.files.get(&path).filter(|_| builder.is_some_and(|builder| builder.copies_texts()));
                let field =
                    node.reads.iter().find(|(alias, ..)| *alias == path && node.secrets.contains_key(alias));
                let place = field.and_then(|(_, _, reads)| reads.first()?.origins.first());
                let origin = written.or(place.map(|place| &place.file)).unwrap_or(&node.name);
                patches.reverse();
                let changed = if patches.is_empty() { "" } else { ", changed by " };
                return format!("{origin}{changed}{}", patches.join(", "));
            }
        }
    }
}

/// The input of a derivation with the same file, and its path there.
pub(crate) fn unchanged(
    graph: &Graph,
    at: NodeIndex,
    path: &str,
    listing: impl Fn(NodeIndex) -> Option<Listing>,
) -> Option<(NodeIndex, String)> {
    let wanted = listing(at)?.get(path)?.clone();
    graph.nodes()[at].inputs.values().find_map(|edge| {
        let listing = listing(edge.node)?;
        let mut leaves = listing.leaves(edge.path.as_deref().unwrap_or_default());
        let found = leaves.find(|(found, entry)| **entry == wanted && leaf(found) == leaf(path))?.0;
        Some((edge.node, found.to_owned()))
    })
}
