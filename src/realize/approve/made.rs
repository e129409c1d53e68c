//! The nodes that we made: the names, addresses and users that they ask with, read from what they boot with.

use std::net::IpAddr;
use std::path::Path;

use super::super::RealizeError;
use crate::base::fs;
use crate::openshift::config::{Cluster, Node, Role};
use crate::openshift::ignition::{Config, Contents};
use crate::realize::api;

/// A node of cluster.yaml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    /// What cluster.yaml calls it.
    pub node: String,
    /// What it calls itself, and registers as: its `/etc/hostname`.
    pub name: String,
    /// The names that it may have in a certificate: this one, with the domain and without.
    pub names: Vec<String>,
    /// Its addresses, the primary one first.
    pub ips: Vec<IpAddr>,
    /// Whom it asks for its first certificate as: the user of its bootstrap kubeconfig. None if it never joins.
    pub bootstrapper: Option<String>,
}

impl Made {
    /// All nodes of a cluster, as its closure has them.
    pub(crate) fn read(closure: &Path, cluster: &Cluster) -> Result<Vec<Self>, RealizeError> {
        cluster.nodes.iter().map(|node| one(closure, cluster, node)).collect()
    }
}

fn one(closure: &Path, cluster: &Cluster, node: &Node) -> Result<Made, RealizeError> {
    let file = format!("ignition/{}.ign", node.name);
    let missing = |missing| RealizeError::Artifact { file: file.clone(), missing };
    let text = fs::read_text(&closure.join(&file))?;
    let config = Config::parse(&text).map_err(|_| missing("Ignition config that can be read"))?;
    let written = |path: &str| {
        let contents = config.files.get(path).map(Contents::of)?.ok()?;
        match contents {
            Contents::Bytes(bytes) => String::from_utf8(bytes).ok(),
            _ => None,
        }
    };
    let name =
        written("/etc/hostname").map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| missing("`/etc/hostname` of its own"))?;
    let bootstrapper = match node.role {
        Role::Bootstrap => None,
        _ => {
            let kubeconfig = written("/etc/kubernetes/kubeconfig");
            let kubeconfig = kubeconfig.ok_or_else(|| missing("`/etc/kubernetes/kubeconfig` of its own"))?;
            Some(api::user_of(&kubeconfig)?)
        }
    };
    let mut names = vec![name.clone(), node.name.clone(), cluster.fqdn(node)];
    names.sort();
    names.dedup();
    Ok(Made { node: node.name.clone(), name, names, ips: node.ips.clone(), bootstrapper })
}
