//! Boot facts that can be judged from the two files alone, as named checks on [`Inputs`].
//!
//! Each check is one function, listed in [`CHECKS`], and one row of `boot-facts.toml`. They report all problems, not
//! only the first; every check is at most `n log n` in the number of nodes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::derived::nth;
use super::files::File;
use super::inputs::{At, Inputs, JOIN, at, v4};
use super::machines;
use super::model::ClusterNetwork;
use super::node_network;
use super::words::Role;
use crate::base::hint::{Problem, Problems};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Check {
    /// Used in `checks.disabled` and in reports.
    pub name: &'static str,
    run: fn(&Inputs<'_>, &mut Findings<'_>),
}

/// The checks of the user's files.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "addresses", run: addresses },
    Check { name: "families", run: families },
    Check { name: "machine-size", run: machines::sizes },
    Check { name: "networks-disjoint", run: networks_disjoint },
    Check { name: "node-network", run: node_network::reachable },
    Check { name: "replicas", run: replicas },
];

/// Runs all checks but the disabled ones.
pub(super) fn run(inputs: &Inputs<'_>, disabled: &[String], problems: &mut Problems) {
    for Check { name, run, .. } in CHECKS {
        if disabled.iter().all(|disabled| disabled != name) {
            run(inputs, &mut Findings { check: name, inputs, problems });
        }
    }
}

/// Collects the problems of a check.
pub(super) struct Findings<'a> {
    check: &'static str,
    inputs: &'a Inputs<'a>,
    problems: &'a mut Problems,
}

impl Findings<'_> {
    fn at<T>(&mut self, at: &At<T>, message: impl Into<String>, hint: impl Into<String>) {
        self.push(self.inputs.problem(at, message), hint);
    }

    pub(super) fn push(&mut self, problem: Problem, hint: impl Into<String>) {
        self.problems.push(problem.check(self.check).hint(Some(hint.into())));
    }
}

/// VIPs, node IPs, gateways and the DHCP range: inside, distinct, not overlapping.
fn addresses(inputs: &Inputs<'_>, findings: &mut Findings<'_>) {
    let nodes = inputs.nodes.iter().flat_map(|node| &node.ips);
    let ours: Vec<&At<IpAddr>> =
        inputs.gateways.iter().chain(&inputs.api).chain(&inputs.ingress).chain(nodes).collect();
    let bounds = inputs.dhcp.iter().flat_map(|(start, end)| [start, end]);
    for at in ours.iter().copied().chain(bounds) {
        inside(inputs, at, findings);
    }
    let mut first: BTreeMap<IpAddr, &At<IpAddr>> = BTreeMap::new();
    for at in ours.iter().copied() {
        if let Some(other) = first.get(&at.value) {
            let message = format!("`{}` is also the address of `{}`", at.value, other.field);
            findings.at(at, message, "every VIP, node and gateway needs an address of its own");
        } else {
            first.insert(at.value, at);
        }
    }
    let Some((start, end)) = &inputs.dhcp else { return };
    if start.value > end.value || start.value.is_ipv4() != end.value.is_ipv4() {
        let message = format!("the range ends at `{}`, before it starts at `{}`", end.value, start.value);
        findings.at(end, message, "swap `start` and `end`");
        return;
    }
    for at in ours {
        let same_family = at.value.is_ipv4() == start.value.is_ipv4();
        if same_family && (start.value..=end.value).contains(&at.value) {
            let message =
                format!("`{}` is inside the DHCP range `{}` to `{}`", at.value, start.value, end.value);
            findings.at(at, message, "DHCP may give it to another machine: move it or shrink the range");
        }
    }
}

/// One address must be in one of the machine networks, and not reserved by the network.
fn inside(inputs: &Inputs<'_>, at: &At<IpAddr>, findings: &mut Findings<'_>) {
    if inputs.machine.is_empty() {
        return; // Its own problem is on record.
    }
    let Some(network) = inputs.machine.iter().find(|network| network.value.contains(&at.value)) else {
        let networks: Vec<String> =
            inputs.machine.iter().map(|network| format!("`{}`", network.value)).collect();
        let message = format!("`{}` is not inside the machine network {}", at.value, networks.join(", "));
        let hint = if inputs.wrote("networking") && inputs.wrote(parent(&inputs.machine[0].field)) {
            "choose an address inside, or change networking.machineNetwork of install-config"
        } else {
            "that is the default: set networking.machineNetwork in install-config"
        };
        findings.at(at, message, hint);
        return;
    };
    let reserved = match network.value {
        IpNet::V4(v4) if v4.prefix_len() < 31 => at.value == v4.network() || at.value == v4.broadcast(),
        IpNet::V4(_) => false,
        IpNet::V6(v6) => at.value == v6.network() && v6.prefix_len() < 127,
    };
    if reserved {
        let message = format!("`{}` is the network or broadcast address of `{}`", at.value, network.value);
        findings.at(at, message, "choose an address between them");
    }
}

fn parent(field: &str) -> &str {
    field.strip_suffix(".0.cidr").unwrap_or(field)
}

/// Networks have the same families everywhere, with one address of each family where one is needed.
fn families(inputs: &Inputs<'_>, findings: &mut Findings<'_>) {
    let of = |networks: &[At<IpNet>]| {
        let any = |v4| networks.iter().any(|at| is_v4(&at.value) == v4);
        (any(true), any(false))
    };
    let cidrs = pod_cidrs(inputs);
    let [machine, pods, service] = [&inputs.machine, &cidrs, &inputs.service].map(|networks| of(networks));
    if machine == (false, false) {
        return;
    }
    let hint = "a dual-stack cluster needs networks of both families everywhere, the primary one first";
    for (name, families) in [("clusterNetwork", pods), ("serviceNetwork", service)] {
        if families != (false, false) && families != machine {
            let message = format!("{} networks, but machineNetwork has {}", say(families), say(machine));
            let problem = inputs.install.problem(&format!("networking.{name}"), message);
            findings.push(problem, hint);
        }
    }
    let primary_v4 = inputs.machine.first().is_some_and(|at| is_v4(&at.value));
    for first in [cidrs.first(), inputs.service.first()].into_iter().flatten() {
        if is_v4(&first.value) != primary_v4 && machine == (true, true) {
            let message = "the first network is not of the family of the first machine network";
            findings.at(first, message, "list the networks in the same order");
        }
    }
    if inputs.service.len() > 2 || (inputs.service.len() == 2 && service != (true, true)) {
        let problem =
            inputs.install.problem("networking.serviceNetwork", "more than one network of a family");
        findings.push(problem, "one service network per family");
    }
    one_each(inputs, machine, primary_v4, findings);
}

/// Nodes have one address of each family; VIPs at least one of the primary family; every network in use has a gateway.
fn one_each(inputs: &Inputs<'_>, machine: (bool, bool), primary_v4: bool, findings: &mut Findings<'_>) {
    let vips = [(&inputs.api, false), (&inputs.ingress, false)];
    let nodes = inputs.nodes.iter().map(|node| (&node.ips, true));
    for (ips, every_family) in vips.into_iter().chain(nodes) {
        let Some(first) = ips.first() else { continue };
        let v4 = ips.iter().filter(|at| at.value.is_ipv4()).count();
        let v6 = ips.len() - v4;
        let lacks = (machine.0 && v4 == 0) || (machine.1 && v6 == 0);
        if v4 > 1 || v6 > 1 {
            findings.at(first, "several addresses of one family", "give one address per family");
        } else if (every_family && lacks) || (if primary_v4 { v4 } else { v6 }) == 0 {
            let lacking = say((v4 == 0, v6 == 0));
            let message = format!("no {lacking} address, but machineNetwork has {}", say(machine));
            findings.at(first, message, "give a list with one address per family, the primary one first");
        } else if first.value.is_ipv4() != primary_v4 {
            findings.at(first, "the primary family must come first", "swap the two addresses");
        }
    }
    // A gateway outside all networks is already reported, and may be the one that is missing here.
    let inside = |at: &At<IpAddr>| inputs.machine.iter().any(|network| network.value.contains(&at.value));
    if inputs.gateways.is_empty() || !inputs.gateways.iter().all(inside) {
        return;
    }
    for network in &inputs.machine {
        let gateways = inputs.gateways.iter().filter(|at| network.value.contains(&at.value)).count();
        let used = inputs.nodes.iter().flat_map(|node| &node.ips).any(|at| network.value.contains(&at.value));
        if used && gateways != 1 {
            let count = if gateways == 0 { "no gateway" } else { "several gateways" };
            let message = format!("{count} in the machine network `{}`", network.value);
            findings.at(&inputs.gateways[0], message, "give a list with one gateway per machine network");
        }
    }
}

fn is_v4(network: &IpNet) -> bool {
    matches!(network, IpNet::V4(_))
}

fn say((v4, v6): (bool, bool)) -> &'static str {
    match (v4, v6) {
        (true, true) => "IPv4 and IPv6",
        (true, false) => "IPv4",
        _ => "IPv6",
    }
}

fn pod_cidrs(inputs: &Inputs<'_>) -> Vec<At<IpNet>> {
    let cidr = |at: &At<ClusterNetwork>| At { value: at.value.cidr, file: at.file, field: at.field.clone() };
    inputs.pods.iter().map(cidr).collect()
}

/// No two networks overlap, and every node can get its part of a pod network.
fn networks_disjoint(inputs: &Inputs<'_>, findings: &mut Findings<'_>) {
    let mut networks: Vec<At<IpNet>> = inputs.machine.clone();
    networks.extend(pod_cidrs(inputs));
    networks.extend(inputs.service.iter().cloned());
    networks.extend(inputs.internal_join.clone().or_else(default_join));
    // Two networks are disjoint or nested: sorted by first address, those that contain the current one form a stack.
    networks.sort_by_key(|at| (at.value.network(), at.value.prefix_len()));
    let mut holders: Vec<&At<IpNet>> = Vec::new();
    for at in &networks {
        holders.retain(|holder| holder.value.contains(&at.value.network()));
        if let Some(holder) = holders.last() {
            let message = format!("`{}` overlaps `{}` of `{}`", at.value, holder.value, holder.field);
            findings.at(at, message, "choose networks that share no address");
        }
        holders.push(at);
    }
    for at in &networks {
        if at.value.addr() != at.value.network() {
            let message = format!("`{}` has bits set after its prefix", at.value);
            findings.at(at, message, format!("write `{}`", at.value.trunc()));
        }
    }
    for at in &inputs.service {
        if nth(&at.value, 10).is_none() {
            let message = format!("`{}` is too small: its tenth address is the cluster's DNS", at.value);
            findings.at(at, message, "use a /16 (IPv4) or a /112 (IPv6)");
        }
    }
    if let Some(at) = inputs.internal_join.as_ref().filter(|at| !is_v4(&at.value)) {
        findings.at(at, format!("`{}` is not an IPv4 network", at.value), "for example: 100.64.0.0/16");
    }
    for v4 in [true, false] {
        host_prefixes(inputs, v4, findings);
    }
}

/// The parts of the pod networks of one family fit, have the same size, and are enough for all nodes.
fn host_prefixes(inputs: &Inputs<'_>, v4: bool, findings: &mut Findings<'_>) {
    let pods: Vec<&At<ClusterNetwork>> =
        inputs.pods.iter().filter(|at| is_v4(&at.value.cidr) == v4).collect();
    let Some(first) = pods.first() else { return };
    let mut parts = 0_u64;
    for at in &pods {
        let ClusterNetwork { cidr, host_prefix: host } = at.value;
        let field = At { field: format!("{}.hostPrefix", at.field), value: (), file: at.file };
        // OVN needs a few addresses in each part: a /30 or a /126 has none left for pods.
        let most = cidr.max_prefix_len().saturating_sub(3);
        if !(cidr.prefix_len()..=most).contains(&host) {
            let message = format!("a /{host} for each node does not fit into `{cidr}`");
            findings.at(&field, message, format!("a number from {} to {most}", cidr.prefix_len()));
            return;
        }
        if host != first.value.host_prefix {
            let message = format!("/{host}, but `{}` has /{}", first.field, first.value.host_prefix);
            findings.at(&field, message, "networks of one family share one hostPrefix");
        }
        parts =
            parts.saturating_add(1_u64.checked_shl((host - cidr.prefix_len()).into()).unwrap_or(u64::MAX));
    }
    // A bootstrap node never joins the cluster.
    let nodes = inputs.nodes.iter().filter(|node| node.role != Some(Role::Bootstrap)).count();
    if parts < nodes as u64 {
        let message = format!("{parts} parts of /{} for {nodes} nodes", first.value.host_prefix);
        findings.at(first, message, "use a larger clusterNetwork or a larger hostPrefix");
    }
}

/// The network that OVN uses inside every cluster by default.
fn default_join() -> Option<At<IpNet>> {
    at(File::Install, JOIN, v4([100, 64, 0, 0], 16).as_ref())
}

/// Numbers of masters and workers, and which numbers a control plane can have.
fn replicas(inputs: &Inputs<'_>, findings: &mut Findings<'_>) {
    let countable =
        inputs.cluster.given.at("nodes").is_some() && inputs.nodes.iter().all(|node| node.role.is_some());
    let count = |role| inputs.nodes.iter().filter(|node| node.role == Some(role)).count() as i64;
    for (role, at) in [(Role::Master, &inputs.masters), (Role::Worker, &inputs.workers)] {
        let Some(at) = at else { continue };
        let listed = count(role);
        if countable && listed != at.value {
            let (name, file) = (role.as_str(), &inputs.cluster.file);
            let word = |one: &str| if at.value == 1 { one.to_owned() } else { format!("{one}s") };
            let default = if inputs.wrote(&at.field) { "" } else { " (the default)" };
            let message =
                format!("{}{default} {name} {}, but {file} lists {listed}", at.value, word("replica"));
            let hint = format!("set replicas to {listed}, or list {} {name} {}", at.value, word("node"));
            findings.at(at, message, hint);
        }
    }
    let Some(masters) = &inputs.masters else { return };
    let why = match masters.value {
        1 | 3..=5 => return,
        0 => "there is no cluster without a control plane",
        2 => "two etcd members tolerate no failure, and losing either one stops the cluster",
        _ => "etcd gets slower with every member: more than five are not supported",
    };
    findings.at(masters, format!("{} masters: {why}", masters.value), "use 1, 3, 4 or 5 masters");
}
