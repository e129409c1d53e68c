//! `realize status`: each machine as its provider sees it, what it wrote to its console, and what the cluster says of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::approve::Member;
use super::booted::{Booted, Expected};
use super::desired::DesiredMachine;
use super::provider::{MachineState, log_of, read_console};
use super::{Host, Operator, Phase, RealizeError, Realizer, Result};
use crate::base::fs;

/// How much of a console log is read to see what was booted: virtlogd rotates logs at 2 MiB.
const TAIL: u64 = 4 << 20;

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct RealizeStatus {
    pub uri: String,
    /// The closure that the cluster's files ask for.
    pub closure: String,
    /// The closure that was last applied, if it is another.
    pub realized: Option<String>,
    /// The phases that were finished with it.
    pub finished: Vec<Phase>,
    /// Whether the network is active; none if the network is yours.
    pub network: Option<bool>,
    /// The configuration of the load balancer, if it runs.
    pub balancer: Option<String>,
    /// In the order of cluster.yaml.
    pub machines: Vec<MachineStatus>,
    pub api: ApiStatus,
    /// Empty while the API does not answer.
    pub operators: Vec<Operator>,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct ApiStatus {
    pub server: String,
    pub ready: bool,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub seen: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct MachineStatus {
    pub node: String,
    pub name: String,
    /// The provider's word (`running`, `shut off`); `missing` if it does not exist, `removed` after the pivot.
    pub state: String,
    /// Addresses that the host has seen it with.
    pub addresses: Vec<String>,
    /// The Ignition config that it should boot with.
    pub ignition: String,
    /// The one that it was created with; none if it does not exist.
    pub made_with: Option<String>,
    /// The one that it booted with, if its console says so.
    pub booted: Option<Booted>,
    /// Whether its own API server answers; none if it has none, or it cannot be asked.
    pub api: Option<bool>,
    /// Its node, with kubelet and certificates; none if the API does not answer, or the machine never joins.
    pub member: Option<Member>,
}

/// What the cluster says.
#[derive(Default)]
struct ClusterStatus {
    api: ApiStatus,
    members: Vec<Member>,
    operators: Vec<Operator>,
}

pub(crate) fn status(realizer: &Realizer<'_>) -> Result<RealizeStatus> {
    let Realizer { provider, desired, state, .. } = *realizer;
    let host = Host::read(realizer)?;
    let journal = state.journal()?;
    let closure = desired.closure.display().to_string();
    let (cluster, servers) = (cluster_status(realizer, &host), api_servers(realizer, &host));
    let machines = desired.machines.iter().map(|machine| {
        let MachineState { name, state, addresses, created_with } = host.inventory.state_of(machine)?;
        let booted = match created_with.is_some() && host.inventory.has_console(machine) {
            true => booted(realizer, machine)?,
            false => None,
        };
        Ok(MachineStatus {
            node: machine.node.clone(),
            name,
            state,
            addresses,
            ignition: machine.ignition.clone(),
            made_with: created_with,
            booted,
            api: servers.get(machine.node.as_str()).copied(),
            member: cluster.members.iter().find(|member| member.node == machine.node).cloned(),
        })
    });
    Ok(RealizeStatus {
        uri: provider.uri().to_owned(),
        realized: journal.as_ref().map(|last| last.closure.clone()).filter(|last| *last != closure),
        finished: journal.map(|last| last.finished).unwrap_or_default(),
        network: host.inventory.is_network_active(),
        balancer: host.load_balancer.as_ref().map(|running| running.config.display().to_string()),
        machines: machines.collect::<Result<_>>()?,
        closure,
        api: cluster.api,
        operators: cluster.operators,
    })
}

/// What the cluster says, if it can be reached.
fn cluster_status(realizer: &Realizer<'_>, host: &Host<'_>) -> ClusterStatus {
    let server = realizer.cluster.map(|cluster| cluster.api.to_string()).unwrap_or_default();
    let not_ready = |seen: &str| ClusterStatus {
        api: ApiStatus { server: server.clone(), ready: false, seen: seen.to_owned() },
        ..ClusterStatus::default()
    };
    let is_connected = host.inventory.is_network_active() != Some(false);
    match realizer.cluster {
        // The VIP is in our network: without it, another machine may have the address.
        _ if realizer.access.local && !is_connected => not_ready("the network is not active"),
        None => not_ready("it was not asked"),
        Some(cluster) => match cluster.read(realizer.runner.cancel, realizer.events) {
            Ok((members, operators)) => {
                let api = ApiStatus { server, ready: true, seen: String::new() };
                ClusterStatus { api, members, operators }
            }
            Err(error) => not_ready(&error.to_string()),
        },
    }
}

/// Whether the API server of each running machine answers, for those that may have one. All are asked at once.
fn api_servers<'a>(realizer: &Realizer<'a>, host: &Host<'_>) -> BTreeMap<&'a str, bool> {
    let Some(cluster) = realizer.cluster.filter(|_| realizer.access.reaches_nodes()) else {
        return BTreeMap::new();
    };
    let may_have_one = |machine: &&DesiredMachine| machine.is_bootstrap() || machine.is_master();
    let machines = realizer.desired.machines.iter().filter(may_have_one);
    let cancel = realizer.runner.cancel;
    std::thread::scope(|scope| {
        let asked: Vec<_> = machines
            .filter(|machine| host.inventory.is_running(machine))
            .map(|one| (one.node.as_str(), scope.spawn(move || cluster.answers_on(&one.node, cancel))))
            .collect();
        asked.into_iter().filter_map(|(node, answer)| Some((node, answer.join().ok()??))).collect()
    })
}

/// What a node booted with, according to its console.
fn booted(realizer: &Realizer<'_>, machine: &DesiredMachine) -> Result<Option<Booted>> {
    let (desired, name) = (realizer.desired, log_of(&machine.node));
    let Some(console) = realizer.provider.consoles(true, realizer.access) else { return Ok(None) };
    let from = console.size(&name)?.saturating_sub(TAIL);
    // An unreadable or rotated log says nothing; the rest of the status is still worth reporting.
    let log = match read_console(&*console, &name, from, |path, _| Ok(fs::read(path)?)) {
        Err(RealizeError::Provider(error)) if error.is_refusal() => return Ok(None),
        log => log?.unwrap_or_default(),
    };
    let config = desired.closure.join("ignition").join(format!("{}.ign", machine.node));
    Ok(Booted::read(&log, &Expected::of(&fs::read_text(&config)?)))
}
