//! Recipes: data that names a builder, its inputs and its parameters; and the graph that they form for one cluster.
//!
//! ```toml
//! # One sentence: what the artifact is and why it must exist.
//! builder = "template"
//! for_each = "nodes"              # optional: a list of the configuration whose elements have names, or a list of names
//! name = "peer-{node}"            # optional: the file's stem otherwise
//! when = "proxy"                  # optional: absent unless this config field is set; or a comparison:
//!                                 # `release >= 4.20, < 4.22`, `flavor = okd`, `manifests has Secret`; or several,
//!                                 # joined by `and` or `or`
//! impure = true                   # optional: another run may differ; never cached, and cannot be an input
//!
//! # Or, instead of all that, a name that people look for although there is no such artifact:
//! none = "this component has no render command"
//!
//! [inputs]                        # alias → derivation, `derivation:path/inside`, or a group: `manifest/*`;
//!                                 # `user/*?` may be empty, `render/x?` may be absent;
//!                                 # `disk/*:*.img` takes the file named after each member
//! ca = "pki/root-ca:ca.crt"
//!
//! [config]                        # alias → config field, projected: `workers.*.{name,ip}`, `node.ip`
//! domain = "cluster.domain"
//!
//! [files]                         # alias → text file next to the recipe, or `/stage/file` in another folder
//! "dns.yaml" = "dns.yaml.j2"
//!
//! [params]                        # specific to the builder
//! ```
//!
//! A recipe lives in a numbered stage folder (`50-manifest/dns.toml` is `manifest/dns`) or next to the folders
//! (`99-cluster.toml` is `cluster`). Inputs come from the same or a lower stage. `{node}` in any text of a `for_each`
//! recipe is the node's name; if the recipe lists the names itself, it is `{each}`. Files below `knowledge/` are
//! tables, not recipes; `{component.pod}` in inputs, parameters and conditions is the value of `pod` in the table `component`.
//! This module is pure: text in, graph out.

mod condition;
mod graph;
mod index;
mod names;
mod parse;
mod resolve;
mod sources;

pub use graph::Graph;
pub(crate) use graph::{Absent, Edge, GraphNode};
pub(crate) use index::{NodeIndex, NodeMap};
pub(crate) use names::NameTable;
pub use names::Names;
pub(crate) use parse::is_name;
pub(crate) use sources::SourceFile;
pub use sources::Sources;
pub(crate) use sources::TABLES;

use crate::base::hint::Problems;
use crate::engine::fields::Fields;

/// Builds the graph of one cluster: all recipes, expanded and connected. Reports every problem at once.
pub fn load(sources: &Sources, fields: &Fields, names: &Names<'_>) -> Result<Graph, Problems> {
    let mut problems = Problems::default();
    let mut recipes = parse::recipes(sources, &mut problems);
    condition::name(&mut recipes, names, &mut problems);
    let drafts = resolve::expand(&recipes, fields, names.aliases, &mut problems);
    let absent = resolve::absent(&drafts);
    let nodes = resolve::connect(&recipes, drafts, sources, fields, names, &mut problems);
    let graph = Graph::sort(nodes, absent, &mut problems);
    problems.or(graph)
}
