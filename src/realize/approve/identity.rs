//! The identity of a node: the names, addresses and user that it asks for certificates with, from its own Ignition config.

use std::net::IpAddr;
use std::path::Path;

use time::OffsetDateTime;

use crate::base::fs;
use crate::openshift::config::{Cluster, Node, Role};
use crate::openshift::ignition::{Config, Contents};
use crate::realize::{RealizeError, Result, api};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeIdentity {
    /// Its name in cluster.yaml.
    pub node: String,
    /// The name that it registers with: its `/etc/hostname`.
    pub name: String,
    /// The DNS names that its certificate may have: short and fully qualified.
    pub names: Vec<String>,
    /// Its addresses, the primary one first.
    pub ips: Vec<IpAddr>,
    /// The user of its own bootstrap kubeconfig, with which it asks for its first certificate. None if it never joins.
    pub bootstrapper: Option<String>,
    /// When the credential of that user ends.
    pub credential_ends: Option<OffsetDateTime>,
}

impl NodeIdentity {
    /// All nodes of a cluster, from its closure.
    pub(crate) fn read(closure: &Path, cluster: &Cluster) -> Result<Vec<Self>> {
        cluster.nodes.iter().map(|node| one(closure, cluster, node)).collect()
    }
}

fn one(closure: &Path, cluster: &Cluster, node: &Node) -> Result<NodeIdentity> {
    let file = format!("ignition/{}.ign", node.name);
    let missing = |missing| RealizeError::Artifact { file: file.clone(), missing };
    let text = fs::read_text(&closure.join(&file))?;
    let config = Config::parse(&text).map_err(|_| missing("valid Ignition config"))?;
    let written = |path: &str| {
        let contents = config.files.get(path).map(Contents::of)?.ok()?;
        match contents {
            Contents::Bytes(bytes) => String::from_utf8(bytes).ok(),
            _ => None,
        }
    };
    let name =
        written("/etc/hostname").map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| missing("`/etc/hostname`"))?;
    let bootstrapper = match node.role {
        Role::Bootstrap => None,
        _ => {
            let kubeconfig = written("/etc/kubernetes/kubeconfig");
            let kubeconfig = kubeconfig.ok_or_else(|| missing("`/etc/kubernetes/kubeconfig`"))?;
            Some(api::client_of(&kubeconfig)?)
        }
    };
    let mut names = vec![name.clone(), node.name.clone(), cluster.fqdn(node)];
    names.sort();
    names.dedup();
    let (bootstrapper, credential_ends) = bootstrapper.unzip();
    let (node, ips) = (node.name.clone(), node.ips.clone());
    Ok(NodeIdentity { node, name, names, ips, bootstrapper, credential_ends })
}
