//! Files in which people describe their machines for other installers: `agent-config.yaml` of the agent-based installer,
//! ClusterInstance of ACM's SiteConfig operator, and SiteConfig of ZTP before it. Read, never changed.
//!
//! ```text
//! reader             fields of a document: known, left out with a reason, or a problem
//! agent_config       hosts beside an install-config
//! cluster_instance   hosts and the install-config in one object
//! site_config        many of them in one object, in the words of before
//! network            what a host's NMState document says about addresses
//! ntp                time servers, as manifests
//! ```
//!
//! Invariant: every field is taken over, listed with its line and a reason, or a problem. Nothing is dropped silently.

mod agent_config;
mod cluster_instance;
mod network;
mod ntp;
mod reader;
mod site_config;

pub(crate) use agent_config::agent_config;
pub(crate) use cluster_instance::{
    ClusterInstance, cluster_instance, is_cluster_instance, one_cluster_instance,
};
pub(crate) use network::HostNetwork;
pub(crate) use ntp::chrony_manifests;
pub(crate) use site_config::{is_site_config, site_config};

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::hint::Place;
use crate::base::yaml::{YamlData, YamlNode};
use crate::openshift::config::Role;

/// Why fields about the hub are left out.
const HUB: &str = "it is about objects on the hub cluster";

/// Everything that a file says about machines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts {
    /// The file, as the user knows it.
    pub file: String,
    pub hosts: Vec<Host>,
    pub api_vips: Vec<Located<IpAddr>>,
    pub ingress_vips: Vec<Located<IpAddr>>,
    /// The address of the host that the agent-based installer starts from.
    pub rendezvous: Option<Located<IpAddr>>,
    pub ntp: Vec<String>,
    pub left_out: Vec<LeftOut>,
}

/// A value and where it was found.
#[derive(Debug, Clone)]
pub(crate) struct Located<T> {
    pub value: T,
    pub place: Place,
}

#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub place: Place,
    /// As written, often with a domain.
    pub host_name: Option<String>,
    pub role: Option<Role>,
    pub ports: Vec<HostPort>,
    pub install_device: Option<String>,
    pub network: Option<HostNetwork>,
}

#[derive(Debug, Clone)]
pub(crate) struct HostPort {
    pub name: String,
    pub mac: String,
}

/// A field that has no place in a cluster directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct LeftOut {
    #[serde(flatten)]
    pub place: Place,
    pub reason: String,
}

impl Host {
    /// The first label of the host name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.host_name.as_deref().and_then(|name| name.split('.').next())
    }
}

/// The line of a dotted path below a node, or of the nearest parent that is there.
pub(crate) fn line_of(node: &YamlNode, path: &str) -> usize {
    let (mut node, mut line) = (node, node.line);
    for key in path.split('.').filter(|key| !key.is_empty()) {
        let next = match &node.data {
            YamlData::Map(entries) => {
                entries.iter().find(|entry| entry.key == key).map(|entry| (entry.line, &entry.value))
            }
            YamlData::List(items) => {
                key.parse::<usize>().ok().and_then(|at| items.get(at)).map(|item| (item.line, item))
            }
            YamlData::Scalar { .. } => None,
        };
        let Some((at, below)) = next else { break };
        (line, node) = (at, below);
    }
    line
}
