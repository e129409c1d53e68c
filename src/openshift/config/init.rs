//! Initial files: commented examples, and a `cluster.yaml` for an existing install-config.
//!
//! Invariants: the returned files load without problems, and every value that the install-config does not determine is
//! in [`Generated::guessed`] and carries a comment in its line. The examples are the files of `examples/` themselves.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::IpAddr;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Serialize;

use super::derived::nth;
use super::files::{File, Files};
use super::fragment::Fragment;
use super::init_nodes::{NodePlan, Slot};
use super::inputs::{At, IN_PLACE, Inputs};
use super::platform::vip_fields;
use super::{Source, in_order, load, pull_secret};
use crate::base::hint::{Place, Problems};
use crate::base::yaml;
use crate::openshift::hosts::{Host, Hosts};

/// The release of a `cluster.yaml` for which nobody named one.
const DEMO: &str = "demo:4.18";
/// The file that is generated.
const GENERATED: &str = "cluster.yaml";

/// A commented example of a cluster directory: its two files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Example {
    pub install_config: &'static str,
    pub cluster: &'static str,
}

/// Three masters, two workers and a bootstrap machine.
pub(crate) const HIGHLY_AVAILABLE: Example = Example {
    install_config: include_str!("../../../examples/ocp4/install-config.yaml"),
    cluster: include_str!("../../../examples/ocp4/cluster.yaml"),
};

/// A single node that bootstraps itself.
pub(crate) const SINGLE_NODE: Example = Example {
    install_config: include_str!("../../../examples/sno/install-config.yaml"),
    cluster: include_str!("../../../examples/sno/cluster.yaml"),
};

/// A `cluster.yaml` for an install-config, and the origin of its values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Generated {
    pub text: String,
    pub taken: Vec<Taken>,
    pub guessed: Vec<Guess>,
    /// Whether its only node bootstraps itself.
    pub in_place: bool,
}

/// A value of the install-config that the nodes and addresses follow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Taken {
    /// Without a line where the installer's default applies.
    #[serde(flatten)]
    pub place: Place,
    pub value: String,
    /// What it became in cluster.yaml.
    pub became: String,
}

/// A value that only the user can know.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Guess {
    /// In cluster.yaml.
    pub line: usize,
    pub field: String,
    pub value: String,
    /// What it follows from.
    pub from: String,
    /// What belongs there.
    pub edit: String,
}

/// What is known beside the install-config.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known<'a> {
    pub release: Option<&'a str>,
    /// The file with the pull secret, if install-config leaves it out, and its content.
    pub pull_secret: Option<(&'a str, &'a str)>,
    /// What another file says about the machines.
    pub hosts: Option<&'a Hosts>,
}

/// A `cluster.yaml` for an existing install-config: its replicas as nodes, with addresses from its machineNetwork.
pub(crate) fn cluster_yaml_for(install_config: Source<'_>, known: Known<'_>) -> Result<Generated, Problems> {
    let mut problems = Problems::default();
    let install = Fragment::read(install_config, File::Install.table(), &mut problems);
    let nothing = Source { name: GENERATED, text: "{}" };
    let files = Files { install, cluster: Fragment::read(nothing, &[], &mut problems) };
    let inputs = Inputs::merge(&files, &mut problems);
    if !problems.0.is_empty() {
        return Err(in_order(problems));
    }
    let count =
        |replicas: &Option<At<i64>>| replicas.as_ref().map_or(0, |at| u32::try_from(at.value).unwrap_or(0));
    let (masters, workers) = (count(&inputs.masters), count(&inputs.workers));
    let networks = one_per_family(&inputs.machine);
    let Some(addresses) = AddressPlan::fit(&networks, masters, workers) else {
        let message =
            format!("no room for {masters} masters, {workers} workers, bootstrap, gateway and two VIPs");
        let problem = inputs.machine.first().map(|at| inputs.problem(at, message.clone()));
        let problem = problem.unwrap_or_else(|| files.install.problem("networking.machineNetwork", message));
        return Err(Problems(vec![problem.hint(Some("use a larger network".to_owned()))]));
    };
    let in_install_config = vip_fields(&files.install).0 == File::Install;
    let mut taken = taken(&files, &inputs);
    let domain = ["metadata.name", "baseDomain"].map(|field| files.install.text(field).unwrap_or_default());
    let nothing = Hosts::default();
    let mut nodes = NodePlan::new(known.hosts.unwrap_or(&nothing), &networks, masters, workers);
    nodes.in_place |= files.install.wrote(IN_PLACE);
    let misfits = [nodes.surplus([masters, workers]), nodes.outside(&networks)].concat();
    if !misfits.is_empty() {
        return Err(Problems(misfits));
    }
    taken.extend(nodes.taken(in_install_config));
    let vips = inputs.api.iter().chain(&inputs.ingress).map(|at| at.value);
    let mut writer = Writer {
        text: String::new(),
        guessed: Vec::new(),
        used: nodes.addresses().chain(vips).collect(),
        networks,
        without_vips: in_install_config,
        plan: addresses,
        domain: domain.join("."),
    };
    writer.write(known, &nodes);
    let Writer { text, guessed, .. } = writer;
    // Reports what is wrong with the install-config; the generated file is always valid.
    let read = |file: &str| match known.pull_secret {
        Some((name, content)) if name == file => Ok(content.to_owned()),
        _ => Err("not read here".to_owned()),
    };
    let loaded = load(install_config, Source { name: GENERATED, text: &text }, &read);
    loaded.map_err(|Problems(found)| {
        Problems(found.into_iter().map(|problem| nodes.locate(GENERATED, problem)).collect())
    })?;
    Ok(Generated { text, taken, guessed, in_place: nodes.in_place })
}

fn taken(files: &Files, inputs: &Inputs<'_>) -> Vec<Taken> {
    let mut taken = Vec::new();
    let mut take = |field: &str, value: String, became: &str| {
        taken.push(Taken { place: files.place(File::Install, field), value, became: became.to_owned() });
    };
    for (replicas, became) in
        [(&inputs.masters, "nodes with `role: master`"), (&inputs.workers, "nodes with `role: worker`")]
    {
        if let Some(at) = replicas {
            take(&at.field, at.value.to_string(), became);
        }
    }
    for at in &inputs.machine {
        take(&at.field, at.value.to_string(), "the addresses of nodes and VIPs");
    }
    taken
}

/// The first machine network of each family, the primary one first.
fn one_per_family(machine: &[At<IpNet>]) -> Vec<IpNet> {
    let mut networks: Vec<IpNet> = Vec::new();
    for at in machine {
        if !networks.iter().any(|network| network.network().is_ipv4() == at.value.network().is_ipv4()) {
            networks.push(at.value);
        }
    }
    networks
}

/// The address plan of a network, as offsets from its first address.
struct AddressPlan {
    api: u32,
    ingress: u32,
    bootstrap: u32,
    master: u32,
    worker: u32,
    dhcp: Option<(u32, u32)>,
}

impl AddressPlan {
    /// The documented addresses if they fit, else consecutive ones, else none.
    fn fit(networks: &[IpNet], masters: u32, workers: u32) -> Option<Self> {
        let hosts = networks.iter().map(|network| network.max_prefix_len() - network.prefix_len()).min()?;
        // The last address of an IPv4 network is the broadcast address.
        let last = if hosts >= 31 { u32::MAX - 1 } else { (1_u32 << hosts).checked_sub(2)? };
        let usual =
            Self { api: 10, ingress: 11, bootstrap: 100, master: 101, worker: 110, dhcp: Some((200, 254)) };
        if masters <= 9 && 110 + workers <= 200 && last >= 254 {
            return Some(usual);
        }
        let tight = Self { api: 2, ingress: 3, bootstrap: 4, master: 5, worker: 5 + masters, dhcp: None };
        (4 + masters + workers <= last).then_some(tight)
    }
}

/// Writes the file line by line, and remembers the lines that are guesses.
struct Writer {
    text: String,
    guessed: Vec<Guess>,
    networks: Vec<IpNet>,
    plan: AddressPlan,
    /// Addresses that something has already.
    used: BTreeSet<IpAddr>,
    domain: String,
    /// The install-config has them.
    without_vips: bool,
}

impl Writer {
    fn write(&mut self, known: Known<'_>, nodes: &NodePlan<'_>) {
        self.line(
            "# What install-config.yaml has no place for: the release, the machines, and where they are.",
        );
        self.line("# Lines marked `guessed` need your eyes: nothing said what belongs there.");
        self.release(known.release);
        if let Some((file, _)) = known.pull_secret {
            self.line("\n# The pull secret, which install-config.yaml leaves out. Keep it out of git.");
            self.line(&format!("{}: {file}", pull_secret::FILE));
        }
        self.vips(nodes);
        self.network(nodes);
        if nodes.is_external() {
            self.line("\n# A machine of your own: you boot it. Without this line, `realize` makes a virtual machine on libvirt.");
            self.line("machines: external\n\n# Every machine.");
        } else {
            self.line("\n# Every machine; by default 4 vcpus, memory: 16GiB (workers 8GiB), disk: 100GB, mac: from cluster.seed.");
        }
        self.line("nodes:");
        if !nodes.in_place {
            self.node(nodes.bootstrap, "bootstrap", self.plan.bootstrap);
        }
        for (role, slots, first) in
            [("master", &nodes.masters, self.plan.master), ("worker", &nodes.workers, self.plan.worker)]
        {
            for (slot, n) in slots.iter().zip(first..) {
                match slot.host {
                    None if slot.ips.is_empty() => self.node(&slot.name, role, n),
                    None => {
                        let ips = one_or_more(&slot.ips);
                        self.line(&format!("- {{name: {}, role: {role}, ip: {ips}}}", slot.name));
                    }
                    Some(host) => self.host(slot, host, role, n),
                }
            }
        }
        if nodes.is_described() && !nodes.is_external() {
            self.line("\n# If you boot these machines yourself, and `realize` is not to make virtual machines on libvirt, remove `network.dhcp`, give");
            self.line("# every node `mac` (or `interfaces`) and `installDevice`, the bootstrap machine too, and say so:\n# machines: external");
        }
    }

    fn release(&mut self, known: Option<&str>) {
        self.line("\n# The release image: demo:4.18 is built in; a real one is registry/repo:tag, registry/repo@sha256:…");
        self.line("# or oci:DIR:TAG. `tinderbox lock` pins it by digest.");
        match known {
            Some(release) => self.line(&format!("release: {release}")),
            None => self.guess(
                "",
                "release",
                DEMO,
                "nothing named a release, and this one needs no network",
                "the release to install; `init --release` writes it",
            ),
        }
    }

    fn vips(&mut self, nodes: &NodePlan<'_>) {
        if self.without_vips {
            return;
        }
        if nodes.in_place && nodes.api_vips().is_empty() && nodes.ingress_vips().is_empty() {
            return self.line(
                "\n# No `vips`: api, api-int and *.apps of the cluster domain lead to the node itself.",
            );
        }
        let domain = self.domain.clone();
        self.line("\n# Virtual addresses, held by the load balancer in front of the nodes.\nvips:");
        let (api, ingress) = (self.plan.api, self.plan.ingress);
        let edit = format!("what api.{domain} and api-int.{domain} resolve to");
        self.known_or_guess("vips.api", &nodes.api_vips(), api, &edit);
        let edit = format!("what *.apps.{domain} resolves to");
        self.known_or_guess("vips.ingress", &nodes.ingress_vips(), ingress, &edit);
    }

    fn network(&mut self, nodes: &NodePlan<'_>) {
        let gateway = 1;
        self.line("\n# What the nodes' interfaces need.\nnetwork:");
        let edit = "the default gateway of the machine network";
        self.known_or_guess("network.gateway", &nodes.gateways, gateway, edit);
        self.known_or_guess("network.dns", &nodes.dns, gateway, "the DNS servers of the nodes");
        if !nodes.is_external() {
            self.dhcp();
        }
    }

    /// A range of the usual plan, unless something in it is known to have its address already.
    fn dhcp(&mut self) {
        let Some(((start, end), network)) = self.plan.dhcp.zip(self.networks.first().copied()) else {
            return;
        };
        let Some((first, last)) = nth(&network, start).zip(nth(&network, end)) else { return };
        if self.used.range(first..=last).next().is_some() {
            return;
        }
        self.line("  # For the live ISO only: the nodes' addresses are static.\n  dhcp:");
        for (field, n, ip) in [("start", start, first), ("end", end, last)] {
            let from = format!("address {n} of {network}");
            let field = format!("network.dhcp.{field}");
            self.guess("    ", &field, &quoted(ip), &from, "a range that nothing else uses");
        }
    }

    /// Addresses that are known, else the nth of every machine network. The gateway's may be used more than once.
    fn known_or_guess(&mut self, field: &str, known: &[IpAddr], n: u32, edit: &str) {
        if known.is_empty() {
            let n = if field.starts_with("vips") { self.free(n) } else { n };
            return self.address(field, n, edit);
        }
        let key = field.rsplit('.').next().unwrap_or(field);
        self.line(&format!("  {key}: {}", one_or_more(known)));
    }

    /// The first offset from `n` on whose addresses nothing has; they are taken from now on.
    fn free(&mut self, n: u32) -> u32 {
        let ips = |n: u32| self.networks.iter().filter_map(move |network| nth(network, n));
        let is_free = |n: &u32| !ips(*n).any(|ip| self.used.contains(&ip));
        let n = (n..n.saturating_add(1024)).find(is_free).unwrap_or(n);
        let taken: Vec<IpAddr> = ips(n).collect();
        self.used.extend(taken);
        n
    }

    fn address(&mut self, field: &str, n: u32, edit: &str) {
        let (ip, from) = (self.ip(n), self.from(n));
        self.guess("  ", field, &ip, &from, edit);
    }

    /// A machine that a file describes.
    fn host(&mut self, slot: &Slot<'_>, host: &Host, role: &str, n: u32) {
        let name = &slot.name;
        self.line(&format!("- name: {name}"));
        if host.name().is_none() {
            self.mark(&format!("nodes.{name}.name"), name, "the file names no host", "the machine's name");
        }
        self.line(&format!("  role: {role}"));
        if host.role.is_none() {
            self.mark(&format!("nodes.{name}.role"), role, "the file names no role", "`master` or `worker`");
        }
        if slot.ips.is_empty() {
            let n = self.free(n);
            let (ip, from) = (self.ip(n), self.from(n));
            let edit = "the machine's address; if DHCP gives it, one that is reserved for it";
            self.guess("  ", &format!("nodes.{name}.ip"), &ip, &from, edit);
        } else {
            self.line(&format!("  ip: {}", one_or_more(&slot.ips)));
        }
        match &host.install_device {
            Some(device) => self.line(&format!("  installDevice: {}", yaml::scalar(device))),
            None => {
                let (field, from) = (format!("nodes.{name}.installDevice"), "no rootDeviceHints.deviceName");
                self.guess(
                    "  ",
                    &field,
                    "/dev/sda",
                    from,
                    "the disk to install to, best below /dev/disk/by-id",
                );
            }
        }
        match &host.network {
            None => {
                let mac = host.ports.first().map(|port| format!("  mac: {}", yaml::scalar(&port.mac)));
                mac.iter().for_each(|line| self.line(line));
            }
            Some(network) => {
                if !host.ports.is_empty() {
                    self.line("  interfaces:");
                }
                for port in &host.ports {
                    let [name, mac] = [&port.name, &port.mac].map(|text| yaml::scalar(text));
                    self.line(&format!("  - name: {name}\n    macAddress: {mac}"));
                }
                self.line(&format!("  networkConfig:\n    {}", yaml::block(&network.document, 4)));
            }
        }
    }

    fn node(&mut self, name: &str, role: &str, n: u32) {
        let n = self.free(n);
        let (ip, from) = (self.ip(n), self.from(n));
        self.line(&format!("- {{name: {name}, role: {role}, ip: {ip}}}  # guessed: {from}"));
        self.record(
            &format!("nodes.{name}.ip"),
            &ip,
            &from,
            "the machine's static address; its name and size too",
        );
    }

    /// The nth address of every machine network, as YAML.
    fn ip(&self, n: u32) -> String {
        one_or_more(&self.networks.iter().filter_map(|network| nth(network, n)).collect::<Vec<_>>())
    }

    fn from(&self, n: u32) -> String {
        let networks: Vec<String> = self.networks.iter().map(ToString::to_string).collect();
        format!("address {n} of {}", networks.join(" and "))
    }

    /// `key: value`, with its comment.
    fn guess(&mut self, indent: &str, field: &str, value: &str, from: &str, edit: &str) {
        let key = field.rsplit('.').next().unwrap_or(field);
        self.line(&format!("{indent}{key}: {value}  # guessed: {from}"));
        self.record(field, value, from, edit);
    }

    /// Marks the last line as a guess.
    fn mark(&mut self, field: &str, value: &str, from: &str, edit: &str) {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.line(&format!("  # guessed: {from}"));
        self.record(field, value, from, edit);
    }

    /// Remembers the last line as a guess.
    fn record(&mut self, field: &str, value: &str, from: &str, edit: &str) {
        let line = self.text.lines().count();
        let [field, value, from, edit] = [field, value, from, edit].map(str::to_owned);
        self.guessed.push(Guess { line, field, value, from, edit });
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}"); // Writing to a string cannot fail.
    }
}

/// An IPv6 address needs quotes inside `{…}`: its colons could end a key.
fn quoted(ip: IpAddr) -> String {
    if ip.is_ipv4() { ip.to_string() } else { format!("'{ip}'") }
}

fn one_or_more(ips: &[IpAddr]) -> String {
    let ips: Vec<String> = ips.iter().copied().map(quoted).collect();
    if let [only] = ips.as_slice() { only.clone() } else { format!("[{}]", ips.join(", ")) }
}
