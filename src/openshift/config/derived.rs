//! Values derived from the cluster's data: names, service addresses, topology. Derived only here, so that no two artifacts
//! can disagree.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::model::{Cluster, Node};
use super::platform;
use super::words::Role;

impl Cluster {
    pub(crate) fn domain(&self) -> String {
        format!("{}.{}", self.name, self.base_domain)
    }

    /// The API's address for pods: the first of every service network.
    pub(crate) fn kubernetes_ips(&self) -> Vec<IpAddr> {
        self.networks.service.iter().filter_map(|network| nth(network, 1)).collect()
    }

    /// The DNS address for pods: the tenth of every service network.
    pub(crate) fn dns_ips(&self) -> Vec<IpAddr> {
        self.networks.service.iter().filter_map(|network| nth(network, 10)).collect()
    }

    /// The loopback addresses. Programs of an IPv6 cluster still use 127.0.0.1, so it is always included.
    pub(crate) fn loopbacks(&self) -> Vec<IpAddr> {
        let v6 = self.networks.machine.iter().any(|network| matches!(network, IpNet::V6(_)));
        let v4 = IpAddr::from(Ipv4Addr::LOCALHOST);
        if v6 { vec![v4, Ipv6Addr::LOCALHOST.into()] } else { vec![v4] }
    }

    /// What bypasses the proxy, sorted: the cluster itself, and the user's exceptions. None without a proxy. The
    /// network operator computes the same, but only once it runs, and others need it before.
    pub(crate) fn proxy_exceptions(&self) -> Option<String> {
        let install = &self.files.install;
        install.given.at("proxy")?;
        let given = install.text("proxy.noProxy").into_iter().flat_map(|none| none.split(','));
        let mut all: BTreeSet<String> = given.map(|one| one.trim().to_owned()).collect();
        all.extend(["127.0.0.1", "localhost", ".svc", ".cluster.local"].map(str::to_owned));
        all.insert(format!("api-int.{}", self.domain()));
        all.extend(self.networks.machine.iter().chain(&self.networks.service).map(ToString::to_string));
        all.extend(self.networks.cluster.iter().map(|network| network.cidr.to_string()));
        all.remove("");
        Some(all.into_iter().collect::<Vec<_>>().join(","))
    }

    /// The nodes of a role, in file order.
    pub(crate) fn nodes_of(&self, role: Role) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(move |node| node.role == role)
    }

    /// The node that starts the first control plane: the bootstrap machine, or the only node.
    pub(crate) fn bootstrap(&self) -> Option<&Node> {
        self.nodes_of(Role::Bootstrap).next().or_else(|| self.nodes_of(Role::Master).next())
    }

    /// Whether the only node bootstraps itself: there is no bootstrap machine, and nothing to move.
    pub(crate) fn is_in_place(&self) -> bool {
        self.nodes_of(Role::Bootstrap).next().is_none()
    }

    /// Who serves the addresses of the API and the routes.
    pub(super) fn load_balancer(&self) -> &'static str {
        match self.is_in_place() && !self.files.cluster.wrote("vips") {
            true => platform::NO_BALANCER,
            false => platform::load_balancer(&self.files.install),
        }
    }

    pub(crate) fn control_plane_topology(&self) -> &'static str {
        topology(self.nodes_of(Role::Master).count())
    }

    /// Of everything else: determined by the workers, or by the masters if there are none.
    pub(crate) fn infrastructure_topology(&self) -> &'static str {
        match self.nodes_of(Role::Worker).count() {
            0 => self.control_plane_topology(),
            workers => topology(workers),
        }
    }

    /// Whether masters run workloads: only if there are no workers.
    pub(crate) fn masters_schedulable(&self) -> bool {
        self.nodes_of(Role::Worker).next().is_none()
    }

    pub(crate) fn fqdn(&self, node: &Node) -> String {
        format!("{}.{}", node.name, self.domain())
    }
}

/// How many replicas operators run, as Infrastructure's status has it.
fn topology(replicas: usize) -> &'static str {
    if replicas == 1 { "SingleReplica" } else { "HighlyAvailable" }
}

/// The nth address of a network, counting the network address as 0; none if the network is smaller.
pub(super) fn nth(network: &IpNet, n: u32) -> Option<IpAddr> {
    let ip: IpAddr = match network.network() {
        IpAddr::V4(ip) => Ipv4Addr::from(u32::from(ip).checked_add(n)?).into(),
        IpAddr::V6(ip) => Ipv6Addr::from(u128::from(ip).checked_add(n.into())?).into(),
    };
    network.contains(&ip).then_some(ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nth_stays_inside() {
        let nth = |network: &str, n| nth(&network.parse().unwrap(), n).map(|ip| ip.to_string());
        assert_eq!(nth("172.30.0.0/16", 10).as_deref(), Some("172.30.0.10"));
        assert_eq!(nth("fd02::/112", 10).as_deref(), Some("fd02::a"));
        assert_eq!(nth("10.0.0.0/30", 10), None);
        assert_eq!(nth("255.255.255.255/32", 1), None);
    }
}
