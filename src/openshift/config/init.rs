//! Initial files: commented examples, and a `cluster.yaml` for an existing install-config.
//!
//! Invariants: the returned files load without problems, and every value that the install-config does not determine is
//! in [`Generated::guessed`] and carries a comment in its line. The examples are the files of `examples/ocp4` themselves.

use std::fmt::Write;
use std::net::IpAddr;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Serialize;

use super::derived::nth;
use super::files::{File, Files};
use super::fragment::Fragment;
use super::inputs::{At, Inputs};
use super::{Source, in_order, load, pull_secret};
use crate::base::hint::{Place, Problems};

/// The release of a `cluster.yaml` for which nobody named one.
const DEMO: &str = "demo:4.18";

/// The commented install-config of the example cluster.
pub(crate) fn install_config_yaml() -> &'static str {
    include_str!("../../../examples/ocp4/install-config.yaml")
}

/// The commented `cluster.yaml` of the example cluster.
pub(crate) fn cluster_yaml() -> &'static str {
    include_str!("../../../examples/ocp4/cluster.yaml")
}

/// A `cluster.yaml` for an install-config, and the origin of its values.
#[derive(Debug, Clone)]
pub(crate) struct Generated {
    pub text: String,
    pub taken: Vec<Taken>,
    pub guessed: Vec<Guess>,
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
}

/// A `cluster.yaml` for an existing install-config: its replicas as nodes, with addresses from its machineNetwork.
pub(crate) fn cluster_yaml_for(install_config: Source<'_>, known: Known<'_>) -> Result<Generated, Problems> {
    let mut problems = Problems::default();
    let install = Fragment::read(install_config, File::Install.table(), &mut problems);
    let nothing = Source { name: "cluster.yaml", text: "{}" };
    let files = Files { install, cluster: Fragment::read(nothing, &[], &mut problems) };
    let inputs = Inputs::merge(&files, &mut problems);
    if !problems.0.is_empty() {
        return Err(in_order(problems));
    }
    let count =
        |replicas: &Option<At<i64>>| replicas.as_ref().map_or(0, |at| u32::try_from(at.value).unwrap_or(0));
    let (masters, workers) = (count(&inputs.masters), count(&inputs.workers));
    let networks = one_per_family(&inputs.machine);
    let Some(plan) = Plan::fit(&networks, masters, workers) else {
        let message =
            format!("no room for {masters} masters, {workers} workers, bootstrap, gateway and two VIPs");
        let problem = inputs.machine.first().map(|at| inputs.problem(at, message.clone()));
        let problem = problem.unwrap_or_else(|| files.install.problem("networking.machineNetwork", message));
        return Err(Problems(vec![problem.hint(Some("use a larger network".to_owned()))]));
    };
    let taken = taken(&files, &inputs);
    let domain = ["metadata.name", "baseDomain"].map(|field| files.install.text(field).unwrap_or_default());
    let mut writer =
        Writer { text: String::new(), guessed: Vec::new(), networks, plan, domain: domain.join(".") };
    writer.write(known, masters, workers);
    let Writer { text, guessed, .. } = writer;
    // Reports what is wrong with the install-config; the generated file is always valid.
    let read = |file: &str| match known.pull_secret {
        Some((name, content)) if name == file => Ok(content.to_owned()),
        _ => Err("not read here".to_owned()),
    };
    load(install_config, Source { name: "cluster.yaml", text: &text }, &read)?;
    Ok(Generated { text, taken, guessed })
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
struct Plan {
    api: u32,
    ingress: u32,
    bootstrap: u32,
    master: u32,
    worker: u32,
    dhcp: Option<(u32, u32)>,
}

impl Plan {
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
    plan: Plan,
    domain: String,
}

impl Writer {
    fn write(&mut self, known: Known<'_>, masters: u32, workers: u32) {
        self.line(
            "# What install-config.yaml has no place for: the release, the machines, and where they are.",
        );
        self.line("# Lines marked `guessed` need your eyes: nothing said what belongs there.");
        self.release(known.release);
        if let Some((file, _)) = known.pull_secret {
            self.line("\n# The pull secret, which install-config.yaml leaves out. Keep it out of git.");
            self.line(&format!("{}: {file}", pull_secret::FILE));
        }
        self.addresses();
        self.line("\n# Every machine; by default 4 vcpus, memory: 16GiB (workers 8GiB), disk: 100GB, mac: from cluster.seed.");
        self.line("nodes:");
        self.node("bootstrap", "bootstrap", self.plan.bootstrap);
        (0..masters).for_each(|n| self.node(&format!("master-{n}"), "master", self.plan.master + n));
        (0..workers).for_each(|n| self.node(&format!("worker-{n}"), "worker", self.plan.worker + n));
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

    fn addresses(&mut self) {
        let domain = self.domain.clone();
        self.line("\n# Virtual addresses, held by the load balancer in front of the nodes.\nvips:");
        self.address(
            "vips.api",
            self.plan.api,
            &format!("what api.{domain} and api-int.{domain} resolve to"),
        );
        self.address("vips.ingress", self.plan.ingress, &format!("what *.apps.{domain} resolves to"));
        self.line("\n# What the nodes' interfaces need.\nnetwork:");
        self.address("network.gateway", 1, "the default gateway of the machine network");
        self.address("network.dns", 1, "the DNS servers of the nodes");
        let primary = self.networks.first().copied();
        if let Some((start, end)) = self.plan.dhcp
            && let Some(network) = primary
        {
            self.line("  # For the live ISO only: the nodes' addresses are static.\n  dhcp:");
            for (field, n) in [("start", start), ("end", end)] {
                let Some(ip) = nth(&network, n) else { continue };
                let from = format!("address {n} of {network}");
                self.guess(
                    "    ",
                    &format!("network.dhcp.{field}"),
                    &quoted(ip),
                    &from,
                    "a range that nothing else uses",
                );
            }
        }
    }

    fn address(&mut self, field: &str, n: u32, edit: &str) {
        let (ip, from) = (self.ip(n), self.from(n));
        self.guess("  ", field, &ip, &from, edit);
    }

    fn node(&mut self, name: &str, role: &str, n: u32) {
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
        let ips: Vec<String> =
            self.networks.iter().filter_map(|network| nth(network, n)).map(quoted).collect();
        if let [only] = ips.as_slice() { only.clone() } else { format!("[{}]", ips.join(", ")) }
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
