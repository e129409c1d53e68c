//! Recipes: data that names a builder, its inputs and its parameters; and the graph they make for one cluster.
//!
//! ```toml
//! # One sentence: what the artifact is and why it must exist.
//! builder = "template"
//! for_each = "nodes"              # optional: a list of the configuration whose elements have names, or a list of names
//! name = "peer-{node}"            # optional: the file's stem otherwise
//! when = "proxy"                  # optional: the derivation is absent unless this config field is set; or a comparison:
//!                                 # `release >= 4.20, < 4.22`, `flavor = okd`; or several, joined by `and`
//! impure = true                   # optional: may give something else each time; never cached, and no input of anything
//!
//! # Or, in place of all that, a name which people look for and which is no artifact:
//! none = "this component has no render command"
//!
//! [inputs]                        # alias → derivation, `derivation:path/inside`, or a group: `manifest/*`; `user/*?` may be empty;
//!                                 # `disk/*:*.img` takes the file that is called after each one; `render/x?` may be absent
//! ca = "pki/root-ca:ca.crt"
//!
//! [config]                        # alias → config field, projected: `workers.*.{name,ip}`, `node.ip`
//! domain = "cluster.domain"
//!
//! [files]                         # alias → text file beside the recipe, or `/stage/file` of another folder
//! "dns.yaml" = "dns.yaml.j2"
//!
//! [params]                        # whatever else the builder wants
//! ```
//!
//! A recipe lives in a numbered stage folder (`50-manifest/dns.toml` is `manifest/dns`) or beside the folders
//! (`99-cluster.toml` is `cluster`). Inputs come from the same or a lower stage. `{node}` in any text of a `for_each`
//! recipe is the node's name; where the recipe lists the names itself, it is `{each}`. Files below `knowledge/` are tables, not
//! recipes. This module is pure: text in, graph out.

mod condition;
mod graph;
mod index;
mod parse;
mod resolve;
mod sources;

pub(crate) use condition::Aliases;
pub use graph::Graph;
pub(crate) use graph::{Absent, Edge, GraphNode};
pub(crate) use index::{NodeIndex, NodeMap};
pub(crate) use parse::is_name;
pub use sources::Sources;
pub(crate) use sources::TABLES;

use crate::base::hint::Problems;
use crate::engine::fields::Fields;

/// The graph of one cluster: all recipes, expanded and connected. Every problem is reported at once.
pub fn load(sources: &Sources, fields: &Fields, aliases: &Aliases<'_>) -> Result<Graph, Problems> {
    let mut problems = Problems::default();
    let recipes = parse::recipes(sources, &mut problems);
    let drafts = resolve::expand(&recipes, fields, aliases, &mut problems);
    let absent = resolve::absent(&drafts);
    let nodes = resolve::connect(&recipes, drafts, sources, fields, &mut problems);
    let graph = Graph::sort(nodes, absent, &mut problems);
    problems.or(graph)
}
