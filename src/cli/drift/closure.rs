//! Which closure made a cluster, and what it says: objects, rendered configs, nodes, release and authorities.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::base::fs;
use crate::base::hint::Problems;
use crate::base::pki::Certificate;
use crate::base::yaml::{self, Source};
use crate::cli::diff::of_generation;
use crate::cli::{Error, Result};
use crate::compare::drift::{Closure, ClosureNode, ObjectRef, RenderedConfig};
use crate::engine::store::{Generation, Roots, Store};
use crate::openshift::config::Role;
use crate::openshift::ignition::{Config, Contents};
use crate::openshift::schema;
use crate::openshift::workspace::{self, Env, Workspace};
use crate::realize::StateDir;
use crate::realize::approve::NodeIdentity;

/// A generation, and where its files are.
pub(super) struct Chosen {
    pub(super) store: Store,
    pub(super) generation: Generation,
}

/// The generation that the user names, else the one that `realize` applied last, else the current one.
pub(super) fn choose(env: Env<'_>, number: Option<u64>) -> Result<Chosen> {
    let directory = env.cluster_dir()?;
    let store = workspace::open_store(env.store, directory.path())?;
    let roots = store.roots_of(directory.home());
    let number = match number {
        Some(number) => number,
        None => match applied(env, &store, &roots)? {
            Some(number) => number,
            None => roots.current()?.ok_or(Error::NotBuilt { target: "cluster".into() })?,
        },
    };
    Ok(Chosen { generation: roots.generation(number)?, store })
}

/// The newest generation with the closure that `realize` applied last.
fn applied(env: Env<'_>, store: &Store, roots: &Roots) -> Result<Option<u64>> {
    let Some(journal) = StateDir::of(env.directory).journal()? else { return Ok(None) };
    for number in roots.numbers()?.into_iter().rev() {
        let object = store.object(roots.generation(number)?.object)?;
        if Path::new(&journal.closure) == object.path {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

impl Chosen {
    /// What it says. What somebody changed in the store is an error.
    pub(super) fn read(&self, workspace: &Workspace) -> Result<Closure> {
        let cluster = self.store.object(self.generation.object)?;
        let mut objects = Vec::new();
        for folder in ["manifests", "crds"] {
            self.store.verify_part(&cluster, folder)?;
            for (path, _) in cluster.listing.leaves(folder) {
                if yaml::is_manifest(path) {
                    objects.extend(documents(path, &fs::read_text(&cluster.path.join(path))?)?);
                }
            }
        }
        let mut authorities = Vec::new();
        self.store.verify_part(&cluster, "pki")?;
        for (path, _) in cluster.listing.leaves("pki").filter(|(path, _)| path.ends_with(".crt")) {
            let found = Certificate::chain_from_pem(&fs::read_text(&cluster.path.join(path))?);
            authorities.extend(found.unwrap_or_default().into_iter().filter(Certificate::is_authority));
        }
        self.store.verify_part(&cluster, "ignition")?;
        let nodes = nodes(workspace, &cluster.path, &self.generation)?;
        Ok(Closure {
            side: of_generation(&self.store, self.generation.clone()),
            objects,
            pools: self.pools(&nodes)?,
            trusted: trusted(&cluster.path, &nodes)?,
            nodes,
            release: self.release(workspace)?,
            authorities,
        })
    }

    /// The release that the closure was built from, by version and digest; the digest is known of the pinned one.
    fn release(&self, workspace: &Workspace) -> Result<Option<(String, String)>> {
        let pinned = workspace::parse_lock(&workspace.directory)?.and_then(|lock| lock.release);
        let Some(named) = self.generation.names.get("release/images") else { return Ok(None) };
        let images = self.store.object(named.object)?;
        let written = fs::optional(fs::read_text(&images.path.join("release")))?.unwrap_or_default();
        Ok(pinned.filter(|pin| written.contains(&pin.version)).map(|pin| {
            let digest = digest(&pin.image).to_owned();
            (pin.version, digest)
        }))
    }

    /// The rendered config of each pool that has nodes.
    fn pools(&self, nodes: &[ClosureNode]) -> Result<BTreeMap<String, RenderedConfig>> {
        let mut pools = BTreeMap::new();
        for node in nodes {
            let Some(named) = self.generation.names.get(&format!("mco/{}", node.role)) else { continue };
            let object = self.store.object(named.object)?;
            self.store.verify_part(&object, "")?;
            let text = fs::read_text(&object.path.join("machine-config.json"))?;
            let config: Value = serde_json::from_str(&text).unwrap_or_default();
            let name = config["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            pools.insert(node.role.clone(), RenderedConfig { name, object: config });
        }
        Ok(pools)
    }
}

/// The objects of a file.
fn documents(path: &str, text: &str) -> Result<Vec<(String, ObjectRef, Value)>> {
    let mut problems = Problems::default();
    let found = yaml::go_documents(Source { name: path, text }, &mut problems);
    if !problems.0.is_empty() {
        // A message may quote the file, which may be secret.
        return Err(Error::usage(
            format!("`{path}` of the closure is not YAML"),
            "build it again: `tinderbox build`",
        ));
    }
    let objects = found.iter().map(schema::json);
    Ok(objects.filter_map(|object| Some((path.to_owned(), ObjectRef::of(&object)?, object))).collect())
}

/// The masters and workers that the closure has.
fn nodes(workspace: &Workspace, closure: &Path, generation: &Generation) -> Result<Vec<ClosureNode>> {
    let mut config = workspace.cluster.clone();
    let is_in = |name: &str| generation.names.contains_key(&format!("ignition/{name}"));
    config.nodes.retain(|node| node.role != Role::Bootstrap && is_in(&node.name));
    let identities = NodeIdentity::read(closure, &config)?;
    let of = |(node, identity): (&crate::openshift::config::Node, NodeIdentity)| ClosureNode {
        node: node.name.clone(),
        name: identity.name,
        role: node.role.as_str().to_owned(),
    };
    Ok(config.nodes.iter().zip(identities).map(of).collect())
}

/// The authorities with which the closure's nodes verify the API when they join.
fn trusted(closure: &Path, nodes: &[ClosureNode]) -> Result<Vec<Certificate>> {
    let Some(node) = nodes.last() else { return Ok(Vec::new()) };
    let text = fs::read_text(&closure.join(format!("ignition/{}.ign", node.node)))?;
    let config = Config::parse(&text).ok();
    let file = config.as_ref().and_then(|config| config.files.get("/etc/kubernetes/ca.crt"));
    let pem = match file.map(Contents::of) {
        Some(Ok(Contents::Bytes(bytes))) => String::from_utf8(bytes).unwrap_or_default(),
        _ => String::new(),
    };
    Ok(Certificate::chain_from_pem(&pem).unwrap_or_default())
}

/// The digest of a reference.
fn digest(image: &str) -> &str {
    image.split_once('@').map_or(image, |(_, digest)| digest)
}
