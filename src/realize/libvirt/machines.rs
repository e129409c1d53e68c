//! One machine as libvirt sees it: its state, its addresses, and how ssh reaches it.

use super::connection::Connection;
use super::definitions::{DefinedMachine, Definitions};
use super::inventory::{Observed, PIVOTED};
use super::marker::Marker;
use super::xml::Element;
use super::{Inventory, Neighbours, volumes};
use crate::realize::provider::{MachineState, SshTarget};
use crate::realize::ssh::SshError;
use crate::realize::{RealizeError, Result};

/// How a machine is doing.
pub(super) fn state_of(
    connection: Connection<'_>,
    machine: &DefinedMachine,
    inventory: &Inventory,
    neighbours: Option<&Neighbours>,
) -> Result<MachineState> {
    let found = inventory.domain(machine);
    let state = match found {
        Some(found) => connection.query(&["domstate", &found.uuid])?.trim().to_owned(),
        None if machine.desired.is_bootstrap() && inventory.is_pivot_recorded() => "removed".to_owned(),
        None => "missing".to_owned(),
    };
    let addresses = match found.filter(|found| found.active) {
        Some(found) => addresses(connection, found, neighbours)?,
        None => Vec::new(),
    };
    let created_with = found.and_then(Observed::marker).map(|marker| marker.ignition);
    let name = machine.domain.definition.name.clone();
    Ok(MachineState { name, state, addresses, created_with })
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

/// For a machine that runs. If libvirt does not answer, the machine is assumed to be as the closure defines it.
pub(super) fn ssh_target(
    connection: Connection<'_>,
    desired: &Definitions,
    machine: &DefinedMachine,
) -> Result<SshTarget> {
    let marker = match running(connection, desired, machine) {
        Err(RealizeError::Provider(error)) if error.is_connection() => None,
        found => found?,
    };
    let marker = marker.as_ref().unwrap_or(&machine.domain.marker);
    Ok(SshTarget { host_key_alias: marker.host_key_alias(), jump_host: connection.ssh_host() })
}

/// The marker of a machine, which must run.
fn running(
    connection: Connection<'_>,
    desired: &Definitions,
    machine: &DefinedMachine,
) -> Result<Option<Marker>> {
    let (node, uuid) = (machine.desired.node.clone(), &machine.domain.definition.uuid);
    let found = connection.run(&["dumpxml", "--inactive", uuid])?;
    if !found.is_success() {
        let volumes = volumes::list(connection, &desired.infrastructure.pool.uuid);
        let removed = machine.desired.is_bootstrap() && volumes.is_ok_and(|names| names.contains(PIVOTED));
        return Err(if removed { SshError::Removed { node } } else { SshError::NoMachine { node } }.into());
    }
    let state = connection.query(&["domstate", uuid])?.trim().to_owned();
    if state != "running" {
        return Err(SshError::NotRunning { node, state }.into());
    }
    Ok(Marker::read(&Element::parse("the domain", &found.text())?))
}
