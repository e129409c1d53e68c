//! Initial files: commented examples, and a `cluster.yaml` for an existing install-config.
//!
//! Invariant: the returned files load without problems. The examples are the files of `examples/ocp4` themselves.

use std::fmt::Write;
use std::net::IpAddr;

use ipnet::IpNet;

use super::derived::nth;
use super::files::{File, Files};
use super::fragment::Fragment;
use super::inputs::{At, Inputs};
use super::{Source, in_order, load};
use crate::base::hint::Problems;

/// The commented install-config of the example cluster.
pub(crate) fn install_config_yaml() -> &'static str {
    include_str!("../../../examples/ocp4/install-config.yaml")
}

/// The commented `cluster.yaml` of the example cluster.
pub(crate) fn cluster_yaml() -> &'static str {
    include_str!("../../../examples/ocp4/cluster.yaml")
}

/// A `cluster.yaml` for an existing install-config: its replicas as nodes, with addresses from its machineNetwork.
pub(crate) fn cluster_yaml_for(install_config: Source<'_>) -> Result<String, Problems> {
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
    let text = write(&networks, &plan, masters, workers);
    // Reports what is wrong with the install-config; the generated file is always valid.
    load(install_config, Source { name: "cluster.yaml", text: &text }, &|_| Err("not read here".into()))?;
    Ok(text)
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

fn write(networks: &[IpNet], plan: &Plan, masters: u32, workers: u32) -> String {
    let ip = |n: u32| {
        let ips: Vec<String> = networks.iter().filter_map(|network| nth(network, n)).map(quoted).collect();
        if let [only] = ips.as_slice() { only.clone() } else { format!("[{}]", ips.join(", ")) }
    };
    let mut text = String::from(
        "# What install-config.yaml has no place for: the release, the machines, and where they are.\n\n",
    );
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{line}"); // Writing to a string cannot fail.
    };
    line(format_args!(
        "# The release image: demo:4.18 is built in; a real one is registry/repo:tag, registry/repo@sha256:…"
    ));
    line(format_args!("# or oci:DIR:TAG. `tinderbox lock` pins it by digest.\nrelease: demo:4.18\n"));
    line(format_args!("# Virtual addresses, held by the load balancer in front of the nodes."));
    line(format_args!("vips:\n  api: {}\n  ingress: {}\n", ip(plan.api), ip(plan.ingress)));
    line(format_args!(
        "# What the nodes' interfaces need.\nnetwork:\n  gateway: {}\n  dns: {}",
        ip(1),
        ip(1)
    ));
    let primary = networks.first();
    if let Some((start, end)) =
        plan.dhcp.and_then(|(start, end)| Some((nth(primary?, start)?, nth(primary?, end)?)))
    {
        line(format_args!("  # For the live ISO only: the nodes' addresses are static.\n  dhcp:"));
        line(format_args!("    start: {}\n    end: {}", quoted(start), quoted(end)));
    }
    line(format_args!(
        "\n# Every machine; by default 4 vcpus, memory: 16GiB (workers 8GiB), disk: 100GB, mac: from cluster.seed."
    ));
    line(format_args!("nodes:"));
    line(format_args!("- {{name: bootstrap, role: bootstrap, ip: {}}}", ip(plan.bootstrap)));
    for n in 0..masters {
        line(format_args!("- {{name: master-{n}, role: master, ip: {}}}", ip(plan.master + n)));
    }
    for n in 0..workers {
        line(format_args!("- {{name: worker-{n}, role: worker, ip: {}}}", ip(plan.worker + n)));
    }
    text
}

/// An IPv6 address needs quotes inside `{…}`: its colons could end a key.
fn quoted(ip: IpAddr) -> String {
    if ip.is_ipv4() { ip.to_string() } else { format!("'{ip}'") }
}
