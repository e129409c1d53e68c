//! What surrounds machines of the user's own: the names and ports that must be there before anything boots.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ClusterAccess, Realizer};

/// One thing that the user's network must have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(crate) enum Need {
    /// A name that leads to these addresses.
    Dns { name: String, addresses: Vec<IpAddr> },
    /// A port of the load balancer, and the nodes behind it.
    LoadBalancer { at: Vec<IpAddr>, port: u16, nodes: Vec<String>, why: &'static str },
}

/// A port of the load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Port {
    pub port: u16,
    pub why: &'static str,
    /// Whether it leads to the control plane; to the workers otherwise.
    pub is_control_plane: bool,
    /// Whether a cluster can do without it.
    pub is_optional: bool,
}

pub(crate) const PORTS: [Port; 4] = [
    Port { port: 6443, why: "the API", is_control_plane: true, is_optional: false },
    Port {
        port: 22623,
        why: "the Machine Config Server, for machines that join without a configuration of their own",
        is_control_plane: true,
        is_optional: true,
    },
    Port { port: 80, why: "routes", is_control_plane: false, is_optional: false },
    Port { port: 443, why: "routes over TLS", is_control_plane: false, is_optional: false },
];

/// The records that the cluster needs.
pub(super) fn records(cluster: &ClusterAccess) -> Vec<(String, Vec<IpAddr>)> {
    let domain = &cluster.domain;
    let mut all = vec![
        (format!("api.{domain}"), cluster.api_vips.clone()),
        (format!("api-int.{domain}"), cluster.api_vips.clone()),
        (format!("*.apps.{domain}"), cluster.ingress_vips.clone()),
    ];
    all.extend(cluster.nodes.iter().map(|node| (node.name.clone(), node.ips.clone())));
    all
}

/// What is behind a port, as names of nodes.
pub(super) fn behind(realizer: &Realizer<'_>, port: Port, pivoted: bool) -> Vec<String> {
    let machines = &realizer.desired.machines;
    let masters = machines.iter().filter(|one| one.is_master());
    let mut workers = machines.iter().filter(|one| !one.is_master() && !one.is_bootstrap()).peekable();
    let bootstrap = machines.iter().filter(|one| one.is_bootstrap() && !pivoted);
    let names = |all: &mut dyn Iterator<Item = &super::desired::DesiredMachine>| -> Vec<String> {
        all.map(|one| one.node.clone()).collect()
    };
    match (port.is_control_plane, workers.peek().is_some()) {
        (true, _) => names(&mut bootstrap.chain(masters)),
        (false, true) => names(&mut workers),
        (false, false) => names(&mut masters.into_iter()),
    }
}

/// All of it.
pub(super) fn of(realizer: &Realizer<'_>, pivoted: bool) -> Vec<Need> {
    let Some(cluster) = realizer.cluster else { return Vec::new() };
    let mut all: Vec<Need> =
        records(cluster).into_iter().map(|(name, addresses)| Need::Dns { name, addresses }).collect();
    if realizer.desired.has_load_balancer() {
        all.extend(PORTS.map(|port| Need::LoadBalancer {
            at: if port.is_control_plane { &cluster.api_vips } else { &cluster.ingress_vips }.clone(),
            port: port.port,
            nodes: behind(realizer, port, pivoted),
            why: port.why,
        }));
    }
    all
}
