//! How it stands: each machine as libvirt sees it, what it wrote to its console, and what the cluster says of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::apply::Hands;
use super::approve::Member;
use super::booted::{Booted, Expected};
use super::host::{Found, PIVOTED};
use super::neighbours::Neighbours;
use super::wanted::Machine;
use super::{Host, Operator, Phase, RealizeError};
use crate::base::fs;

/// How much of a console's log is read for what was booted: libvirt's own keeper of logs begins a new one after 2 MiB.
const TAIL: u64 = 4 << 20;

/// How the cluster stands on the host.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Status {
    pub uri: String,
    /// The closure that the files ask for.
    pub closure: String,
    /// The closure that was realized last, if it is another.
    pub realized: Option<String>,
    /// Phases that were finished with it.
    pub finished: Vec<Phase>,
    /// Whether the network is there and active.
    pub network: bool,
    /// Whether the load balancer runs, and with which configuration.
    pub balancer: Option<String>,
    /// The machines, in the order of cluster.yaml.
    pub machines: Vec<MachineStatus>,
    pub api: ApiStatus,
    /// Its operators; none while the API does not answer.
    pub operators: Vec<Operator>,
}

/// How the cluster's API stands.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ApiStatus {
    pub server: String,
    /// Whether it says that it can be used.
    pub ready: bool,
    /// What was said instead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub seen: String,
}

/// How one machine stands.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct MachineStatus {
    pub node: String,
    pub name: String,
    /// `running`, `shut off` and so on, in libvirt's words; `missing` if it is not there, `removed` after the pivot.
    pub state: String,
    /// Addresses that the host has seen of it.
    pub addresses: Vec<String>,
    /// The Ignition that it should have booted with.
    pub ignition: String,
    /// The one that it was made with; none if it is not there.
    pub made_with: Option<String>,
    /// The one that it booted with, by its console; none if that says nothing of it.
    pub booted: Option<Booted>,
    /// Whether its own API server answers; none if it has none, or cannot be asked.
    pub api: Option<bool>,
    /// Its node in the cluster, with its kubelet and its certificates; none if the API does not answer, or it never joins.
    pub member: Option<Member>,
}

/// What the cluster says.
#[derive(Default)]
struct Live {
    api: ApiStatus,
    members: Vec<Member>,
    operators: Vec<Operator>,
}

impl Hands<'_> {
    pub(crate) fn status(&self) -> Result<Status, RealizeError> {
        let host = Host::look(self.virsh, self.wanted, self.state, self.access)?;
        let journal = self.state.journal()?;
        let closure = self.wanted.closure.display().to_string();
        let (live, servers) = (self.live(&host), self.servers(&host));
        let neighbours = Neighbours::look(self.virsh);
        let machines = self.wanted.machines.iter().map(|machine| {
            let mut status = self.machine_status(machine, &host, neighbours.as_ref())?;
            status.api = servers.get(machine.node.as_str()).copied();
            status.member = live.members.iter().find(|member| member.node == machine.node).cloned();
            Ok(status)
        });
        Ok(Status {
            uri: self.virsh.uri.to_owned(),
            realized: journal.as_ref().map(|last| last.closure.clone()).filter(|last| *last != closure),
            finished: journal.map(|last| last.finished).unwrap_or_default(),
            network: host.is_connected(self.wanted),
            balancer: host.balancer.as_ref().map(|running| running.configuration.display().to_string()),
            machines: machines.collect::<Result<_, RealizeError>>()?,
            closure,
            api: live.api,
            operators: live.operators,
        })
    }

    /// What the cluster says, as far as it can be reached.
    fn live(&self, host: &Host) -> Live {
        let server = self.cluster.map(|cluster| cluster.api.to_string()).unwrap_or_default();
        let silent = |seen: &str| Live {
            api: ApiStatus { server: server.clone(), ready: false, seen: seen.to_owned() },
            ..Live::default()
        };
        match self.cluster {
            // Its address is in the network: without that, somebody else may have it.
            _ if self.access.local && !host.is_connected(self.wanted) => silent("the network is not there"),
            None => silent("it was not asked"),
            Some(cluster) => match cluster.look(self.virsh.cancel, self.events) {
                Ok((members, operators)) => {
                    Live { api: ApiStatus { server, ready: true, seen: String::new() }, members, operators }
                }
                Err(error) => silent(&error.to_string()),
            },
        }
    }

    /// Which machines' API servers answer, of those that run and may have one; asked all at once.
    fn servers(&self, host: &Host) -> BTreeMap<&str, bool> {
        let Some(cluster) = self.cluster.filter(|_| self.access.local) else { return BTreeMap::new() };
        let runs = |machine: &&Machine| {
            host.machines.iter().any(|found| found.active && found.uuid == machine.object.uuid)
        };
        let machines =
            self.wanted.machines.iter().filter(|one| one.is_bootstrap() || one.is_master()).filter(runs);
        std::thread::scope(|scope| {
            let ask = |machine: &'_ Machine| cluster.answers_on(&machine.node, self.virsh.cancel);
            let asked: Vec<_> =
                machines.map(|one| (one.node.as_str(), scope.spawn(move || ask(one)))).collect();
            asked.into_iter().filter_map(|(node, answer)| Some((node, answer.join().ok()??))).collect()
        })
    }

    /// What libvirt and its console say of a machine.
    fn machine_status(
        &self,
        machine: &Machine,
        host: &Host,
        neighbours: Option<&Neighbours>,
    ) -> Result<MachineStatus, RealizeError> {
        let found = host.machines.iter().find(|found| found.uuid == machine.object.uuid);
        let state = match found {
            Some(found) => self.virsh.ask(&["domstate", &found.uuid])?.trim().to_owned(),
            None if machine.is_bootstrap() && host.volumes.contains(PIVOTED) => "removed".to_owned(),
            None => "missing".to_owned(),
        };
        let addresses = match found.filter(|found| found.active) {
            Some(found) => self.addresses(found, neighbours)?,
            None => Vec::new(),
        };
        Ok(MachineStatus {
            node: machine.node.clone(),
            name: machine.object.name.clone(),
            state,
            addresses,
            ignition: machine.ignition.clone(),
            made_with: found.and_then(|found| found.mark()).map(|mark| mark.ignition),
            booted: if found.is_some() { self.booted(machine, &host.volumes)? } else { None },
            api: None,
            member: None,
        })
    }

    /// What the host has in its neighbour table: the nodes' addresses are static, so no lease has them.
    fn addresses(
        &self,
        machine: &Found,
        neighbours: Option<&Neighbours>,
    ) -> Result<Vec<String>, RealizeError> {
        if let Some(neighbours) = neighbours {
            return Ok(neighbours.of(machine));
        }
        let ended = self.virsh.run(&["domifaddr", "--source", "arp", &machine.uuid])?;
        let last = |line: &str| {
            line.split_whitespace().nth(3).map(|one| one.split('/').next().unwrap_or(one).to_owned())
        };
        Ok(if ended.is_success() { ended.text().lines().filter_map(last).collect() } else { Vec::new() })
    }

    /// What its console says that a node booted with.
    fn booted(&self, machine: &Machine, files: &BTreeSet<String>) -> Result<Option<Booted>, RealizeError> {
        let name = machine.console();
        if !files.contains(&name) {
            return Ok(None);
        }
        let from = self.console_size(&name)?.saturating_sub(TAIL);
        // A log that cannot be read, or was replaced meanwhile, says nothing; everything else is still worth telling.
        let log = match self.with_download(&name, from, |path| Ok(fs::read(path)?)) {
            Err(RealizeError::Failed { .. }) => return Ok(None),
            log => log?,
        };
        let config = self.wanted.closure.join("ignition").join(format!("{}.ign", machine.node));
        Ok(Booted::read(&log, &Expected::of(&fs::read_text(&config)?)))
    }
}
