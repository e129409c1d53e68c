//! The graph: the derivations of one cluster with all names resolved, in build order.

use std::collections::{BTreeMap, BTreeSet};

use super::index::{NodeIndex, NodeMap};
use crate::base::hint::{Place, Problem, Problems};
use crate::base::secret::Secret;
use crate::base::value::Value;
use crate::engine::fields::{FieldError, Fields, Projected, Read};

/// One derivation of the graph, before its inputs are built.
#[derive(Debug, Clone)]
pub struct GraphNode {
    /// For example `manifest/dns`.
    pub name: String,
    pub stage: u32,
    /// As shown to the user.
    pub recipe: String,
    /// From the recipe's first line.
    pub summary: String,
    /// Kind of its builder, and where the recipe names it.
    pub builder: (String, Place),
    /// Input aliases as the recipe declares them; an empty group has no inputs.
    pub aliases: BTreeSet<String>,
    pub inputs: BTreeMap<String, Edge>,
    /// Including `config` and `files`.
    pub params: BTreeMap<String, Value>,
    /// The tables that parameters came from: their files by path, such as `params.values.modes`.
    pub tables: BTreeMap<String, String>,
    /// Secret config values by alias.
    pub secrets: BTreeMap<String, Secret>,
    /// The config fields that it names: alias, path as written (with `node` bound), and every field read.
    pub reads: Vec<(String, String, Vec<Read>)>,
    /// Its text files by alias, as shown to the user.
    pub files: BTreeMap<String, String>,
    /// The fields that its recipe's condition reads, by their paths.
    pub when: Vec<String>,
    /// Whether another run may produce something else: it is always rebuilt, and cannot be an input.
    pub impure: bool,
}

/// An input: a derivation and the requested part of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub from: String,
    pub node: NodeIndex,
    /// None for the whole output.
    pub path: Option<String>,
}

impl GraphNode {
    /// Its direct inputs, each once.
    pub fn needs(&self) -> BTreeSet<NodeIndex> {
        self.inputs.values().map(|edge| edge.node).collect()
    }
}

/// All derivations of a cluster, inputs before their users.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    nodes: NodeMap<GraphNode>,
    index: BTreeMap<String, NodeIndex>,
    /// Names of recipes that do not apply to this cluster.
    absent: BTreeMap<String, Missing>,
}

#[derive(Debug, Clone)]
pub struct Missing {
    pub why: Absent,
    /// The fields that its recipe's condition reads, by their paths.
    pub reads: Vec<String>,
}

/// Why a recipe produces no derivation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// Its `when` requires this config field.
    Unset(String),
    /// Its `when` requires another value of a field, whose value is `found` if known.
    Otherwise { asked: String, name: String, found: Option<String> },
    /// No alternative of its `when` holds, or a list lacks what it asks for.
    NoneOf(String),
    /// It never does, and says why: `none`.
    Never(String),
}

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unset(field) => write!(f, "its recipe asks for `{field}`"),
            Self::Otherwise { asked, name, found: Some(found) } => {
                write!(f, "its recipe asks for `{asked}`, and `{name}` is `{found}`")
            }
            Self::Otherwise { asked, name, found: None } => {
                write!(f, "its recipe asks for `{asked}`, and `{name}` is not known yet")
            }
            Self::NoneOf(asked) => write!(f, "its recipe asks for `{asked}`, which does not hold"),
            Self::Never(why) => f.write_str(why),
        }
    }
}

impl Graph {
    /// Sorts nodes topologically, then by stage and name. A cycle is a problem that names its members.
    pub(super) fn sort(
        mut nodes: Vec<GraphNode>,
        absent: BTreeMap<String, Missing>,
        problems: &mut Problems,
    ) -> Self {
        nodes.sort_by(|one, other| (one.stage, &one.name).cmp(&(other.stage, &other.name)));
        let places: BTreeMap<String, usize> =
            nodes.iter().enumerate().map(|(at, node)| (node.name.clone(), at)).collect();
        let mut missing = Vec::with_capacity(nodes.len());
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            let inputs: BTreeSet<usize> =
                node.inputs.values().filter_map(|edge| places.get(&edge.from)).copied().collect();
            missing.push(inputs.len());
            inputs.into_iter().for_each(|input| users[input].push(at));
        }
        let mut ready: BTreeSet<usize> = (0..nodes.len()).filter(|at| missing[*at] == 0).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(at) = ready.pop_first() {
            order.push(at);
            for user in &users[at] {
                missing[*user] -= 1;
                if missing[*user] == 0 {
                    ready.insert(*user);
                }
            }
        }
        if order.len() < nodes.len() {
            problems.push(cycle(&nodes, &places, &missing));
            return Self::default();
        }
        let mut slots: Vec<Option<GraphNode>> = nodes.into_iter().map(Some).collect();
        let mut sorted = NodeMap::new(order.into_iter().filter_map(|at| slots[at].take()).collect());
        let index: BTreeMap<String, NodeIndex> =
            sorted.entries().map(|(at, node): (_, &GraphNode)| (node.name.clone(), at)).collect();
        for node in sorted.iter_mut() {
            for edge in node.inputs.values_mut() {
                edge.node = index.get(&edge.from).copied().unwrap_or(NodeIndex::UNSORTED);
            }
        }
        Self { nodes: sorted, index, absent }
    }

    /// Gives a derivation one more config field, as if its recipe named it.
    pub(crate) fn add_config(
        &mut self,
        at: NodeIndex,
        alias: &str,
        path: &str,
        fields: &Fields,
    ) -> Result<(), FieldError> {
        let found = fields.project(path)?;
        let node = &mut self.nodes[at];
        match found.value {
            Projected::Plain(value) => {
                let config =
                    node.params.entry("config".to_owned()).or_insert_with(|| Value::Map(BTreeMap::new()));
                if let Value::Map(config) = config {
                    config.insert(alias.to_owned(), value);
                }
            }
            Projected::Secret(secret) => drop(node.secrets.insert(alias.to_owned(), secret)),
        }
        node.reads.push((alias.to_owned(), path.to_owned(), found.reads));
        Ok(())
    }

    /// All derivations, inputs first.
    pub fn nodes(&self) -> &NodeMap<GraphNode> {
        &self.nodes
    }

    pub fn find(&self, name: &str) -> Option<NodeIndex> {
        self.index.get(name).copied()
    }

    /// The derivations of a target: one by name, or all of a folder.
    pub fn select(&self, target: &str) -> Vec<NodeIndex> {
        if let Some(at) = self.find(target) {
            return vec![at];
        }
        let below = format!("{}/", target.trim_end_matches('/'));
        self.index.iter().filter(|(name, _)| name.starts_with(&below)).map(|(_, at)| *at).collect()
    }

    /// Why there is no derivation with this name or in this folder, if a recipe has it.
    pub fn absent(&self, target: &str) -> Option<&Absent> {
        let below = format!("{}/", target.trim_end_matches('/'));
        let meant = |name: &str| name == target || name.starts_with(&below);
        self.absent.iter().find(|(name, _)| meant(name)).map(|(_, missing)| &missing.why)
    }

    /// The fields that decide whether there is a derivation of this name.
    pub fn condition(&self, name: &str) -> &[String] {
        match self.find(name) {
            Some(at) => &self.nodes[at].when,
            None => self.absent.get(name).map_or(&[], |missing| &missing.reads),
        }
    }

    /// All names of recipes that do not apply to this cluster.
    pub fn all_absent(&self) -> impl Iterator<Item = (&str, &Missing)> {
        self.absent.iter().map(|(name, missing)| (name.as_str(), missing))
    }

    /// The given derivations and everything that they need, sorted.
    pub fn closure(&self, of: &[NodeIndex]) -> BTreeSet<NodeIndex> {
        let mut found = BTreeSet::new();
        let mut open = of.to_vec();
        while let Some(at) = open.pop() {
            if found.insert(at) {
                open.extend(self.nodes[at].inputs.values().map(|edge| edge.node));
            }
        }
        found
    }

    /// The direct users of each derivation.
    pub fn users(&self) -> NodeMap<Vec<NodeIndex>> {
        let mut users = self.nodes.with(Vec::new());
        for (at, node) in self.nodes.entries() {
            node.needs().into_iter().for_each(|input| users[input].push(at));
        }
        users
    }
}

/// Follows inputs among the unsorted nodes until one repeats.
fn cycle(nodes: &[GraphNode], places: &BTreeMap<String, usize>, missing: &[usize]) -> Problem {
    let stuck = |name: &str| places.get(name).copied().filter(|at| missing[*at] > 0);
    let mut path: Vec<usize> = missing.iter().position(|count| *count > 0).into_iter().collect();
    while let Some(last) = path.last() {
        let Some(next) = nodes[*last].inputs.values().find_map(|edge| stuck(&edge.from)) else { break };
        if let Some(start) = path.iter().position(|at| *at == next) {
            path.drain(..start);
            break;
        }
        path.push(next);
    }
    let mut names: Vec<String> =
        path.iter().map(|at| format!("`{}` ({})", nodes[*at].name, nodes[*at].recipe)).collect();
    names.extend(names.first().cloned());
    let file = path.first().map_or_else(String::new, |at| nodes[*at].recipe.clone());
    Problem::new(Place::file(file), format!("a cycle: {}", names.join(" needs ")))
}
