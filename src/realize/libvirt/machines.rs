//! One machine as libvirt sees it: its state, its addresses, and how ssh reaches it.

use super::connection::Connection;
use super::inventory::{Observed, PIVOTED};
use super::marker::Marker;
use super::xml::Element;
use super::{Inventory, Neighbours, volumes};
use crate::realize::desired::{Desired, DesiredMachine};
use crate::realize::ssh::SshError;
use crate::realize::{RealizeError, Result};

/// How a machine is doing.
#[derive(Debug, Clone)]
pub(crate) struct MachineState {
    /// libvirt's word (`running`, `shut off`); `missing` if it does not exist, `removed` after the pivot.
    pub(crate) state: String,
    /// Addresses that the host has seen it with.
    pub(crate) addresses: Vec<String>,
    /// The Ignition config that it was created with; none if it does not exist.
    pub(crate) created_with: Option<String>,
}

impl MachineState {
    pub(crate) fn read(
        connection: Connection<'_>,
        machine: &DesiredMachine,
        inventory: &Inventory,
        neighbours: Option<&Neighbours>,
    ) -> Result<Self> {
        let found = inventory.domain(machine);
        let state = match found {
            Some(found) => connection.query(&["domstate", &found.uuid])?.trim().to_owned(),
            None if machine.is_bootstrap() && inventory.is_pivot_recorded() => "removed".to_owned(),
            None => "missing".to_owned(),
        };
        let addresses = match found.filter(|found| found.active) {
            Some(found) => addresses(connection, found, neighbours)?,
            None => Vec::new(),
        };
        let created_with = found.and_then(Observed::marker).map(|marker| marker.ignition);
        Ok(Self { state, addresses, created_with })
    }
}

/// From the neighbour table: the nodes' addresses are static, so there are no leases.
fn addresses(
    connection: Connection<'_>,
    domain: &Observed,
    neighbours: Option<&Neighbours>,
) -> Result<Vec<String>> {
    if let Some(neighbours) = neighbours {
        return Ok(neighbours.of(domain));
    }
    let output = connection.run(&["domifaddr", "--source", "arp", &domain.uuid])?;
    let address = |line: &str| {
        line.split_whitespace().nth(3).map(|one| one.split('/').next().unwrap_or(one).to_owned())
    };
    Ok(if output.is_success() { output.text().lines().filter_map(address).collect() } else { Vec::new() })
}

/// What ssh has to know besides a node's address.
pub(crate) struct SshTarget {
    /// The name that the host key is kept under.
    pub(crate) host_key_alias: String,
    /// The host between us and the node.
    pub(crate) jump_host: Option<String>,
}

impl SshTarget {
    /// For a machine that runs. If libvirt does not answer, the machine is assumed to be as the closure defines it.
    pub(crate) fn of(
        connection: Connection<'_>,
        desired: &Desired,
        machine: &DesiredMachine,
    ) -> Result<Self> {
        let marker = match running(connection, desired, machine) {
            Err(RealizeError::Provider(error)) if error.is_connection() => None,
            found => found?,
        };
        let marker = marker.as_ref().unwrap_or(&machine.domain.marker);
        Ok(Self { host_key_alias: marker.host_key_alias(), jump_host: connection.ssh_host() })
    }
}

/// The marker of a machine, which must run.
fn running(
    connection: Connection<'_>,
    desired: &Desired,
    machine: &DesiredMachine,
) -> Result<Option<Marker>> {
    let (node, uuid) = (machine.node.clone(), &machine.domain.definition.uuid);
    let found = connection.run(&["dumpxml", "--inactive", uuid])?;
    if !found.is_success() {
        let volumes = volumes::list(connection, &desired.infrastructure.pool.uuid);
        let removed = machine.is_bootstrap() && volumes.is_ok_and(|names| names.contains(PIVOTED));
        return Err(if removed { SshError::Removed { node } } else { SshError::NoMachine { node } }.into());
    }
    let state = connection.query(&["domstate", uuid])?.trim().to_owned();
    if state != "running" {
        return Err(SshError::NotRunning { node, state }.into());
    }
    Ok(Marker::read(&Element::parse("the domain", &found.text())?))
}
