//! Which machine becomes which node of a new `cluster.yaml`: those that a file describes, and names for the rest.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::init::Taken;
use super::words::Role;
use crate::base::hint::{Place, Problem};
use crate::openshift::hosts::{Host, HostNetwork, Hosts};

/// A node to write.
pub(super) struct Slot<'a> {
    pub(super) name: String,
    /// None for a machine that nothing describes.
    pub(super) host: Option<&'a Host>,
    /// Its addresses in the machine networks, one of each family; empty if one is not known.
    pub(super) ips: Vec<IpAddr>,
}

pub(super) struct NodePlan<'a> {
    hosts: &'a Hosts,
    /// The bootstrap node's name. No file describes that machine: other installers use a master twice.
    pub(super) bootstrap: &'static str,
    /// Whether there is none, because the only node bootstraps itself.
    pub(super) in_place: bool,
    pub(super) masters: Vec<Slot<'a>>,
    pub(super) workers: Vec<Slot<'a>>,
    /// One for each machine network; empty if one is not known.
    pub(super) gateways: Vec<IpAddr>,
    pub(super) dns: Vec<IpAddr>,
}

impl<'a> NodePlan<'a> {
    /// Hosts without a role become masters first, as the agent-based installer has it.
    pub(super) fn new(hosts: &'a Hosts, networks: &[IpNet], masters: u32, workers: u32) -> Self {
        let (masters, workers) = (masters as usize, workers as usize);
        let of = |role| hosts.hosts.iter().filter(move |host| host.role == Some(role));
        let mut open = hosts.hosts.iter().filter(|host| host.role.is_none());
        let lacking = masters.saturating_sub(of(Role::Master).count());
        let master_hosts: Vec<&Host> = of(Role::Master).chain(open.by_ref().take(lacking)).collect();
        let worker_hosts: Vec<&Host> = of(Role::Worker).chain(open).collect();
        let mut names: BTreeSet<String> =
            hosts.hosts.iter().filter_map(Host::name).map(str::to_owned).collect();
        let bootstrap = if names.contains("bootstrap") { "bootstrap-machine" } else { "bootstrap" };
        let mut plan = Self {
            hosts,
            bootstrap,
            // Those who describe their only machine have no other: their installers need none either.
            in_place: !hosts.file.is_empty() && (masters, workers) == (1, 0),
            masters: slots("master", &master_hosts, masters, networks, &mut names),
            workers: slots("worker", &worker_hosts, workers, networks, &mut names),
            gateways: Vec::new(),
            dns: Vec::new(),
        };
        plan.rendezvous(networks);
        let described = || hosts.hosts.iter().filter_map(|host| host.network.as_ref());
        let gateway = |network: &IpNet| {
            described().flat_map(|own| &own.gateways).find(|hop| network.contains(*hop)).copied()
        };
        plan.gateways = networks.iter().map(gateway).collect::<Option<_>>().unwrap_or_default();
        for server in described().flat_map(|own| &own.dns) {
            if !plan.dns.contains(server) {
                plan.dns.push(*server);
            }
        }
        plan
    }

    /// The rendezvous host is a master: if none has that address, the first whose address nothing says gets it.
    fn rendezvous(&mut self, networks: &[IpNet]) {
        let Some(ip) = self.hosts.rendezvous.as_ref().map(|at| at.value) else { return };
        let is_whole = matches!(networks, [only] if only.contains(&ip));
        if !is_whole || self.addresses().any(|known| known == ip) {
            return;
        }
        let is_open = |slot: &&mut Slot<'_>| {
            let is_static = |host: &Host| host.network.as_ref().is_some_and(|own| !own.addresses.is_empty());
            slot.ips.is_empty() && !slot.host.is_some_and(is_static)
        };
        if let Some(slot) = self.masters.iter_mut().find(is_open) {
            slot.ips = vec![ip];
        }
    }

    /// Hosts for which the install-config has no replica.
    pub(super) fn surplus(&self, [masters, workers]: [u32; 2]) -> Vec<Problem> {
        let pools = [
            ("master", "controlPlane.replicas", masters, &self.masters),
            ("worker", "compute.worker.replicas", workers, &self.workers),
        ];
        let problem = |slot: &Slot<'_>, role: &str, field: &str, replicas: u32| {
            let host = slot.host?;
            let message = format!(
                "`{}` is a {role} too many: install-config.yaml has `{field}: {replicas}`",
                slot.name
            );
            let hint = "correct the number there, or the role of the host; or remove it".to_owned();
            Some(Problem::new(host.place.clone(), message).hint(hint))
        };
        let all = pools.into_iter().flat_map(|(role, field, replicas, slots)| {
            slots.iter().skip(replicas as usize).filter_map(move |slot| problem(slot, role, field, replicas))
        });
        all.collect()
    }

    /// Hosts whose addresses are all outside the machine networks.
    pub(super) fn outside(&self, networks: &[IpNet]) -> Vec<Problem> {
        let slots = self.masters.iter().chain(&self.workers).filter(|slot| slot.ips.is_empty());
        let own =
            slots.filter_map(|slot| slot.host?.network.as_ref()).filter(|own| !own.addresses.is_empty());
        let networks: Vec<String> = networks.iter().map(|network| format!("`{network}`")).collect();
        let problem = |own: &HostNetwork| {
            let message = format!("no address in the machine network {}", networks.join(" and "));
            let hint = "correct the address, or networking.machineNetwork of the install-config".to_owned();
            Problem::new(own.place.clone(), message).hint(hint)
        };
        own.map(problem).collect()
    }

    /// Whether a file describes machines, and not only the cluster.
    pub(super) fn is_described(&self) -> bool {
        !self.hosts.hosts.is_empty()
    }

    /// Whether all that real machines must say is said: these are no virtual machines to be made.
    pub(super) fn is_external(&self) -> bool {
        let is_whole = |host: &Host| !host.ports.is_empty() && host.install_device.is_some();
        self.in_place && self.masters.iter().all(|slot| slot.host.is_some_and(is_whole))
    }

    /// All addresses that are known.
    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let slots = self.masters.iter().chain(&self.workers).flat_map(|slot| slot.ips.iter().copied());
        let vips = self.hosts.api_vips.iter().chain(&self.hosts.ingress_vips).map(|at| at.value);
        let listed = self.hosts.hosts.iter().filter_map(|host| host.network.as_ref());
        let listed = listed.flat_map(|own| own.addresses.iter().map(IpNet::addr));
        slots.chain(vips).chain(listed).chain(self.gateways.iter().copied())
    }

    pub(super) fn api_vips(&self) -> Vec<IpAddr> {
        self.hosts.api_vips.iter().map(|at| at.value).collect()
    }

    pub(super) fn ingress_vips(&self) -> Vec<IpAddr> {
        self.hosts.ingress_vips.iter().map(|at| at.value).collect()
    }

    /// What the nodes follow from. `in_install_config`: the VIPs stand there.
    pub(super) fn taken(&self, in_install_config: bool) -> Vec<Taken> {
        let mut taken = Vec::new();
        let [api, ingress] = match in_install_config {
            true => ["`apiVIPs` of install-config.yaml", "`ingressVIPs` of install-config.yaml"],
            false => ["vips.api", "vips.ingress"],
        };
        let vips = [(api, &self.hosts.api_vips), (ingress, &self.hosts.ingress_vips)];
        for (became, at) in vips.into_iter().flat_map(|(field, list)| list.iter().map(move |at| (field, at)))
        {
            taken.push(Taken {
                place: at.place.clone(),
                value: at.value.to_string(),
                became: became.to_owned(),
            });
        }
        let rendezvous = self.hosts.rendezvous.iter().filter(|_| self.in_place);
        for (at, slot) in rendezvous.flat_map(|at| self.masters.iter().map(move |slot| (at, slot))) {
            if slot.ips.contains(&at.value) {
                let became = format!("nodes.{}.ip", slot.name);
                taken.push(Taken { place: at.place.clone(), value: at.value.to_string(), became });
            }
        }
        for slot in self.masters.iter().chain(&self.workers) {
            let Some(host) = slot.host else { continue };
            let value = host.host_name.clone().unwrap_or_else(|| "a host".to_owned());
            let became = format!("nodes.{}", slot.name);
            taken.push(Taken { place: host.place.clone(), value, became });
        }
        taken
    }

    /// Moves a problem of the generated file to the line that the value came from.
    pub(super) fn locate(&self, generated: &str, mut problem: Problem) -> Problem {
        if problem.place.file != generated {
            return problem;
        }
        if let Some(place) = self.origin(&problem.place.field) {
            problem.place = place;
        }
        problem
    }

    fn origin(&self, field: &str) -> Option<Place> {
        let vips = [("vips.api", &self.hosts.api_vips), ("vips.ingress", &self.hosts.ingress_vips)];
        if let Some((_, list)) = vips.iter().find(|(name, _)| field.starts_with(name)) {
            return list.first().map(|at| at.place.clone());
        }
        let (node, below) = field.strip_prefix("nodes.")?.split_once('.').unwrap_or((field, ""));
        let node = node.strip_prefix("nodes.").unwrap_or(node);
        let mut slots = self.masters.iter().chain(&self.workers);
        // A node whose name is not a name is called by its place in the list, after the bootstrap node's.
        let by_place = || node.parse::<usize>().ok()?.checked_sub(usize::from(!self.in_place));
        let host = match slots.clone().find(|slot| slot.name == node) {
            Some(slot) => slot.host?,
            None => slots.nth(by_place()?)?.host?,
        };
        match (below.strip_prefix("networkConfig"), &host.network) {
            (Some(path), Some(network)) => Some(network.place_of(path.trim_start_matches('.'))),
            _ => Some(host.place.clone()),
        }
    }
}

fn slots<'a>(
    role: &str,
    hosts: &[&'a Host],
    count: usize,
    networks: &[IpNet],
    names: &mut BTreeSet<String>,
) -> Vec<Slot<'a>> {
    let mut slots = Vec::new();
    for index in 0..count.max(hosts.len()) {
        let host = hosts.get(index).copied();
        let own = host.and_then(Host::name).map(str::to_owned);
        let name = own.unwrap_or_else(|| {
            let free = (index..).map(|n| format!("{role}-{n}")).find(|name| !names.contains(name));
            free.unwrap_or_default()
        });
        names.insert(name.clone());
        let ips = host.map(|host| addresses(host, networks)).unwrap_or_default();
        slots.push(Slot { name, host, ips });
    }
    slots
}

fn addresses(host: &Host, networks: &[IpNet]) -> Vec<IpAddr> {
    let known = host.network.iter().flat_map(|network| &network.addresses).map(IpNet::addr);
    let known: Vec<IpAddr> = known.collect();
    let inside = |network: &IpNet| known.iter().find(|ip| network.contains(*ip)).copied();
    networks.iter().map(inside).collect::<Option<_>>().unwrap_or_default()
}
