//! How it stands: each machine as libvirt sees it, and what it wrote to its console.

use std::collections::BTreeSet;

use serde::Serialize;

use super::apply::Hands;
use super::balancer::Balancer;
use super::booted::{Booted, Expected};
use super::wanted::Machine;
use super::{Host, Phase, RealizeError};
use crate::fs;

/// How much of a console's log is read for what was booted: libvirt's own keeper of logs begins a new one after 2 MiB.
const TAIL: u64 = 4 << 20;

/// How the cluster stands on the host.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The connection.
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
}

/// How one machine stands.
#[derive(Debug, Clone, Serialize)]
pub struct MachineStatus {
    /// The node.
    pub node: String,
    /// The machine.
    pub name: String,
    /// `running`, `shut off` and so on, in libvirt's words; `missing` if it is not there.
    pub state: String,
    /// Addresses that the host has seen of it.
    pub addresses: Vec<String>,
    /// The Ignition that it should have booted with.
    pub ignition: String,
    /// The one that it was made with; none if it is not there.
    pub made_with: Option<String>,
    /// The one that it booted with, by its console; none if that says nothing of it.
    pub booted: Option<Booted>,
}

impl Hands<'_> {
    /// Looks at everything.
    pub fn status(&self) -> Result<Status, RealizeError> {
        let host = Host::look(self.virsh, self.wanted, self.state, self.access)?;
        let journal = self.state.journal()?;
        let closure = self.wanted.closure.display().to_string();
        let machines = self.wanted.machines.iter().map(|machine| self.machine_status(machine, &host));
        Ok(Status {
            uri: self.virsh.uri.to_owned(),
            realized: journal.as_ref().map(|last| last.closure.clone()).filter(|last| *last != closure),
            finished: journal.map(|last| last.finished).unwrap_or_default(),
            network: host.networks.iter().any(|one| one.uuid == self.wanted.network.uuid && one.active),
            balancer: Balancer::look(self.state)?.map(|running| running.configuration.display().to_string()),
            machines: machines.collect::<Result<_, _>>()?,
            closure,
        })
    }

    fn machine_status(&self, machine: &Machine, host: &Host) -> Result<MachineStatus, RealizeError> {
        let found = host.machines.iter().find(|found| found.uuid == machine.object.uuid);
        let state = match found {
            Some(found) => self.virsh.ask(&["domstate", &found.uuid])?.trim().to_owned(),
            None => "missing".to_owned(),
        };
        let addresses = match found.filter(|found| found.active) {
            Some(found) => self.addresses(&found.uuid)?,
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
        })
    }

    /// What the host has in its neighbour table: the nodes' addresses are static, so no lease has them.
    fn addresses(&self, machine: &str) -> Result<Vec<String>, RealizeError> {
        let ended = self.virsh.run(&["domifaddr", "--source", "arp", machine])?;
        let last = |line: &str| {
            line.split_whitespace().nth(3).map(|one| one.split('/').next().unwrap_or(one).to_owned())
        };
        Ok(if ended.is_success() { ended.text().lines().filter_map(last).collect() } else { Vec::new() })
    }

    /// What its console says that a node booted with.
    fn booted(&self, machine: &Machine, files: &BTreeSet<String>) -> Result<Option<Booted>, RealizeError> {
        let log = match files.contains(&log(machine)) {
            true => self.download(&log(machine), Some(TAIL))?,
            false => return Ok(None),
        };
        let config = self.wanted.closure.join("ignition").join(format!("{}.ign", machine.node));
        Ok(Booted::read(&log, &Expected::of(&fs::read_text(&config)?)))
    }

    /// What a node wrote to its console; none if it never did.
    pub fn console(&self, machine: &Machine) -> Result<Option<Vec<u8>>, RealizeError> {
        match super::host::volumes(self.virsh, &self.wanted.pool.uuid)?.contains(&log(machine)) {
            true => self.download(&log(machine), None).map(Some),
            false => Ok(None),
        }
    }

    /// A file of the pool, or no more than its end.
    fn download(&self, name: &str, end: Option<u64>) -> Result<Vec<u8>, RealizeError> {
        self.state.make()?;
        let pool = &self.wanted.pool.uuid;
        let offset = match end {
            Some(end) => {
                let told = self.virsh.ask(&["vol-info", "--bytes", "--pool", pool, name])?;
                super::host::number(&told, "Capacity:").unwrap_or(0).saturating_sub(end)
            }
            None => 0,
        };
        let (to, offset) = (self.state.scratch(), offset.to_string());
        let path = to.display().to_string();
        let done = self.virsh.ask(&["vol-download", "--pool", pool, name, &path, "--offset", &offset]);
        let text = done.and_then(|_| Ok(fs::read(&to)?));
        fs::optional(fs::remove_file(&to))?;
        text
    }
}

/// The name of a node's console log in the pool.
fn log(machine: &Machine) -> String {
    format!("{}.log", machine.node)
}
