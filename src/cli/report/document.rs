//! The current generation as one document: what was built, when and from what, its size, the dates of its certificates,
//! and what each node gets. Names, ids, times, sizes, and the public fields of certificates; no file's content, so it
//! cannot contain a secret.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;

use super::certificates::{self, Decoded};
use super::changes::{Changes, changes};
use super::contents::{self, KubeconfigTarget};
use super::deadlines::{Deadline, deadlines};
use super::machines::{self, Hardware};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::fs;
use crate::cli::check::{self, Made};
use crate::cli::expiry::{self, Expiry, Output};
use crate::cli::graph::machine;
use crate::cli::node_entries::{self, NodeEntry};
use crate::cli::{Error, Result};
use crate::engine::recipe::GraphNode;
use crate::engine::store::{Generation, Named, Object, Roots, Store, Trace, TraceInput};
use crate::openshift::knowledge::Knowledge;
use crate::openshift::trust::{Machine, Pool, Trust};
use crate::openshift::workspace::{self, ClusterDir, Env, Missing, Workspace};

/// Identifies the format of the document.
const SHAPE: &str = "tinderbox-report/1";
/// The folder of nodes' configurations.
const NODES: &str = "ignition/";
/// The folder of checks.
const CHECKS: &str = "check/";
/// The output that names its release.
const IMAGES: &str = "release/images";

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) shape: &'static str,
    pub(super) cluster: String,
    pub(super) generation: u64,
    pub(super) time: String,
    /// The object that `result` points to.
    pub(super) object: ObjectId,
    /// The previous generation, if it is retained.
    pub(super) before: Option<u64>,
    /// None if the build has no release.
    pub(super) release: Option<BuiltRelease>,
    /// The cluster's domain, if the current files still say it.
    pub(super) domain: Option<String>,
    /// What differs from the previous generation; none if that is not retained.
    pub(super) changes: Option<Changes>,
    /// Every check that ran.
    pub(super) checks: Vec<Made>,
    /// What ends when, the next one first.
    pub(super) deadlines: Vec<Deadline>,
    /// Every derivation, in dependency order as far as the current files know it.
    pub(super) artifacts: Vec<Artifact>,
    /// All certificates, and until when the set can boot.
    pub(super) expiry: Expiry,
    /// All certificates, decoded.
    pub(super) certificates: Vec<Decoded>,
    pub(super) nodes: Vec<NodeTable>,
    /// All trust verifications; none if cluster.yaml no longer has all these nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trust: Option<Trust>,
}

/// The release that a build is of.
#[derive(Debug, Serialize)]
pub(super) struct BuiltRelease {
    pub(super) version: String,
    /// As cluster.yaml names it; none if the lock pins another one by now.
    pub(super) reference: Option<String>,
    /// By digest.
    pub(super) image: Option<String>,
}

/// A derivation and its output.
#[derive(Debug, Serialize)]
pub(super) struct Artifact {
    pub(super) name: String,
    /// The number of its folder; none if no recipe has it any more.
    pub(super) stage: Option<u32>,
    /// From its recipe; none if no recipe has it any more.
    pub(super) summary: Option<String>,
    pub(super) recipe: Option<String>,
    /// With its version.
    pub(super) builder: Option<String>,
    pub(super) drv: DrvId,
    pub(super) object: ObjectId,
    pub(super) path: PathBuf,
    /// Whether any file is secret.
    pub(super) secret: bool,
    /// Total size of its files.
    pub(super) size: u64,
    /// Number of files and links.
    pub(super) files: usize,
    /// Where this generation got it from.
    pub(super) state: Origin,
    /// When it was built; none if the store has no trace.
    pub(super) time: Option<String>,
    pub(super) milliseconds: Option<u64>,
    /// How the programs that produced it were isolated, if any ran.
    pub(super) isolation: Option<String>,
    pub(super) inputs: Vec<Input>,
    /// The objects of the API in it, as `Kind namespace/name`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) objects: Vec<String>,
    /// For a kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) leads: Option<KubeconfigTarget>,
}

/// Where a generation got an artifact from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Origin {
    Built,
    /// The previous generation has it.
    Kept,
    /// Found in the store: built earlier, or by another cluster.
    Found,
}

#[derive(Debug, Serialize)]
pub(super) struct Input {
    /// Its name in the recipe.
    pub(super) alias: String,
    /// The derivation that produced it.
    pub(super) from: String,
    pub(super) object: ObjectId,
    /// None for the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
}

/// A node's files, units and users.
#[derive(Debug, Serialize)]
pub(super) struct NodeTable {
    pub(super) node: String,
    pub(super) machine: Hardware,
    /// Its addresses, if cluster.yaml still has the node.
    pub(super) addresses: Vec<String>,
    /// Of the config that it boots with, in bytes.
    pub(super) ignition: u64,
    /// Paths that no other node has with this content.
    pub(super) own: Vec<String>,
    pub(super) entries: Vec<NodeEntry>,
}

pub(super) fn report(env: Env<'_>) -> Result<Report> {
    let directory = env.cluster_dir()?;
    let not_built = || Error::NotBuilt { target: "cluster".into() };
    let store = workspace::open_store_if_there(env.store, directory.path())?.ok_or_else(not_built)?;
    let roots = store.roots_of(directory.home());
    let generation = roots.generation(roots.current()?.ok_or_else(not_built)?)?;
    let mut earlier = earlier(&roots, &generation)?;
    let before = earlier.pop();
    let older = earlier.iter().flat_map(|older| older.names.values()).map(|named| named.drv).collect();
    // The current files explain what was built, as far as they still match.
    let workspace = Workspace::load(env, Missing::Imagine).ok();
    let known = Known { store: &store, workspace: workspace.as_ref(), before: before.as_ref(), older };
    let mut parts = Parts::default();
    for (name, named) in &generation.names {
        known.add(name, named, &generation, &mut parts)?;
    }
    parts.finish(workspace.as_ref());
    let built_in = Knowledge::built_in()?;
    let adopted = match &workspace {
        Some(workspace) => workspace.hand_over()?,
        None => (built_in.hand_over.get()?, None),
    };
    let Parts { artifacts, nodes, machines, mut certificates, .. } = parts;
    let expiry = expiry::of(&store, &artifacts.iter().map(output).collect::<Vec<_>>(), adopted)?;
    let is_whole = machines.len() == nodes.len() && !nodes.is_empty();
    let trust = match workspace.as_ref().filter(|_| is_whole) {
        Some(workspace) => Some(Trust::of(&machines, workspace.trust_edges()?)),
        None => None,
    };
    if let Some(trust) = &trust {
        certificates::add_readers(&mut certificates, trust);
    }
    let since = before.as_ref().map(|before| before.number);
    Ok(Report {
        shape: SHAPE,
        cluster: directory
            .path()
            .file_name()
            .map_or("cluster".into(), |name| name.to_string_lossy().into_owned()),
        generation: generation.number,
        time: generation.time.clone(),
        object: generation.object,
        before: since,
        release: known.release(&generation, &directory)?,
        domain: workspace.as_ref().map(|it| format!("{}.{}", it.cluster.name, it.cluster.base_domain)),
        changes: since.map(|since| changes(env, since, generation.number)).transpose()?,
        checks: known.checks(&generation, &built_in)?,
        deadlines: deadlines(&expiry),
        certificates,
        expiry,
        trust,
        nodes,
        artifacts,
    })
}

/// What the outputs of a generation add up to.
#[derive(Default)]
struct Parts {
    artifacts: Vec<Artifact>,
    nodes: Vec<NodeTable>,
    machines: Vec<Machine>,
    certificates: Vec<Decoded>,
    /// What every node's files contain, as digests.
    contents: BTreeMap<String, BTreeMap<String, String>>,
}

impl Parts {
    /// Brings all in order, and finds out what belongs to one node alone.
    fn finish(&mut self, workspace: Option<&Workspace>) {
        if let Some(workspace) = workspace {
            self.artifacts.sort_by_key(|artifact| {
                let at = workspace.graph.find(&artifact.name);
                (at.is_none(), at)
            });
        }
        for table in &mut self.nodes {
            table.own = machines::own(&self.contents, &table.node);
        }
    }
}

/// The previous retained generations, oldest first.
fn earlier(roots: &Roots, generation: &Generation) -> Result<Vec<Generation>> {
    let numbers = roots.numbers()?.into_iter().filter(|number| *number < generation.number);
    Ok(numbers.map(|number| roots.generation(number)).collect::<std::result::Result<_, _>>()?)
}

fn output(artifact: &Artifact) -> Output<'_> {
    let Artifact { name, builder, object, .. } = artifact;
    Output { name, builder: builder.as_deref().map_or("", kind), object: *object }
}

/// `certificate` for `certificate@1`.
fn kind(builder: &str) -> &str {
    builder.split_once('@').map_or(builder, |(kind, _)| kind)
}

/// Sources of explanations.
struct Known<'a> {
    store: &'a Store,
    workspace: Option<&'a Workspace>,
    before: Option<&'a Generation>,
    /// Derivations of the generations before the previous one.
    older: BTreeSet<DrvId>,
}

impl<'a> Known<'a> {
    /// Adds an output of a generation, with all that it says.
    fn add(&self, name: &str, named: &Named, generation: &Generation, parts: &mut Parts) -> Result<()> {
        let object = self.store.object(named.object)?;
        let artifact = self.artifact(name, named, &object)?;
        parts.certificates.extend(certificates::decode(name, &object)?);
        if let (Some(node), Some("ignition")) =
            (name.strip_prefix(NODES), artifact.builder.as_deref().map(kind))
        {
            parts.machines.extend(self.machine(node, &object)?);
            let entries = node_entries::list(&object, self.recipe(name))?;
            parts.contents.insert(node.to_owned(), machines::contents(&object, &entries));
            let domain = generation.names.get(&format!("infra/{node}"));
            let machine = match domain {
                Some(domain) => Hardware::read(&self.store.object(domain.object)?)?,
                None => Hardware::default(),
            };
            let config = object.listing.leaves("").find(|(path, _)| path.ends_with(".ign"));
            let ignition = config.map_or(0, |(_, entry)| entry.size());
            let (node, addresses) = (node.to_owned(), self.addresses(node));
            parts.nodes.push(NodeTable { node, machine, addresses, ignition, own: Vec::new(), entries });
        }
        parts.artifacts.push(artifact);
        Ok(())
    }

    fn addresses(&self, node: &str) -> Vec<String> {
        let nodes = self.workspace.map(|workspace| workspace.cluster.nodes.iter());
        let known = nodes.into_iter().flatten().find(|known| known.name == node);
        known.map(|known| known.ips.iter().map(ToString::to_string).collect()).unwrap_or_default()
    }

    /// The release of a generation; what the lock says about it, if that is still the same.
    fn release(&self, generation: &Generation, directory: &ClusterDir) -> Result<Option<BuiltRelease>> {
        let Some(named) = generation.names.get(IMAGES) else { return Ok(None) };
        let path = self.store.object(named.object)?.path.join("release");
        let Some(version) = fs::optional(fs::read_text(&path))? else { return Ok(None) };
        let version = version.trim().to_owned();
        let locked = workspace::parse_lock(directory)?.and_then(|lock| lock.release);
        let locked = locked.filter(|locked| locked.version == version);
        let (reference, image) = locked.map(|locked| (locked.reference, locked.image)).unzip();
        Ok(Some(BuiltRelease { version, reference, image }))
    }

    /// The checks of a generation: its outputs below `check/` say how they ended.
    fn checks(&self, generation: &Generation, built_in: &Knowledge) -> Result<Vec<Made>> {
        let named = generation.names.iter().filter(|(name, _)| name.starts_with(CHECKS));
        let objects = named.map(|(_, named)| self.store.object(named.object));
        let objects: Vec<Object> = objects.collect::<std::result::Result<_, _>>()?;
        let knowledge = self.workspace.map_or(built_in, |workspace| &workspace.knowledge);
        let disabled = self.workspace.map(|workspace| workspace.cluster.disabled_checks.as_slice());
        let outputs = objects.iter().map(|object| object.path.as_path());
        let made = check::made(knowledge.boot_facts.get()?, disabled.unwrap_or_default(), outputs)?;
        Ok(check::once(made))
    }

    fn recipe(&self, name: &str) -> Option<&'a GraphNode> {
        let graph = &self.workspace?.graph;
        Some(&graph.nodes()[graph.find(name)?])
    }

    /// The machine with this configuration, if cluster.yaml still has the node.
    fn machine(&self, node: &str, object: &Object) -> Result<Option<Machine>> {
        let Some(cluster) = self.workspace.map(|workspace| &workspace.cluster) else { return Ok(None) };
        let is_known = cluster.nodes.iter().any(|known| known.name == node);
        is_known.then(|| machine(node, Pool::of(cluster, node), object)).transpose()
    }

    /// The trace of this object, if the store has it.
    fn trace(&self, named: &Named) -> Result<Option<Trace>> {
        let Some(known) = self.store.realisation(named.drv)? else { return Ok(None) };
        let at = known.outputs.iter().position(|output| output.object == named.object);
        Ok(at.and_then(|at| self.store.traces(named.drv).ok()?.into_iter().nth(at)))
    }

    /// From the previous or an older generation, else by whether it was built before or after the previous one.
    fn origin(&self, name: &str, named: &Named, trace: Option<&Trace>) -> Origin {
        let Some(before) = self.before else { return Origin::Built };
        let same = before.names.get(name).is_some_and(|old| old.drv == named.drv);
        match trace {
            _ if same => Origin::Kept,
            _ if self.older.contains(&named.drv) => Origin::Found,
            // Times are UTC in one format: they sort as text.
            Some(trace) if trace.time >= before.time => Origin::Built,
            _ => Origin::Found,
        }
    }

    fn artifact(&self, name: &str, named: &Named, object: &Object) -> Result<Artifact> {
        let (recipe, trace) = (self.recipe(name), self.trace(named)?);
        let state = self.origin(name, named, trace.as_ref());
        let builder =
            trace.as_ref().and_then(|trace| trace.identity.0.get("builder")).map(ToString::to_string);
        let (inputs, time, milliseconds, isolation) = match trace {
            Some(Trace { inputs, time, milliseconds, isolation, .. }) => {
                (inputs, Some(time), Some(milliseconds), isolation)
            }
            None => Default::default(),
        };
        let input = |(alias, input): (String, TraceInput)| {
            let TraceInput { from, object, path } = input;
            Input { alias, from, object, path }
        };
        Ok(Artifact {
            name: name.to_owned(),
            stage: recipe.map(|recipe| recipe.stage),
            objects: contents::objects(name, object)?,
            leads: contents::leads(name, object)?,
            summary: recipe.map(|recipe| recipe.summary.clone()),
            recipe: recipe.map(|recipe| recipe.recipe.clone()),
            builder: builder.or_else(|| recipe.map(|recipe| recipe.builder.0.clone())),
            drv: named.drv,
            object: object.id,
            path: object.path.clone(),
            secret: object.listing.entries().any(|(_, entry)| entry.secret),
            size: object.listing.size(),
            files: object.listing.leaves("").count(),
            state,
            time,
            milliseconds,
            isolation,
            inputs: inputs.into_iter().map(input).collect(),
        })
    }
}
