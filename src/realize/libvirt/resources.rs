//! Takes one step: creates, changes or removes a resource of libvirt.
//!
//! Invariants: every step can be repeated. A machine stops before its disk is replaced, and is redefined only once the disk
//! is there, so that an interrupted change is still seen as one.

use std::time::Duration;

use super::connection::Connection;
use super::definitions::{DefinedMachine, Definitions};
use super::inventory::PIVOTED;
use super::obsolete::uploaded;
use super::{Inventory, network, plan, volumes};
use crate::realize::Result;
use crate::realize::plan::{PlanStep, ResourceKind};
use crate::realize::wait::{Poll, Wait, WaitError};

/// How long a machine has to shut down before its power is cut.
const SHUTDOWN: Duration = Duration::from_secs(120);
/// How long libvirt may take to start a machine or a network.
pub(super) const START: Duration = Duration::from_secs(300);

/// Creates or changes what a step names.
pub(super) fn create(connection: Connection<'_>, desired: &Definitions, step: &PlanStep) -> Result<()> {
    let (machine, pool) = (plan::machine_of(step, desired), &desired.infrastructure.pool.uuid);
    match (step.resource, machine) {
        (ResourceKind::Network, _) => network::create(connection, desired),
        (ResourceKind::Pool, _) => create_pool(connection, desired),
        (ResourceKind::PivotRecord, _) => volumes::create_flag(connection, pool, &step.name),
        (ResourceKind::Image, _) => match &desired.infrastructure.base {
            Some(base) => volumes::upload(connection, pool, base),
            None => Ok(()),
        },
        (ResourceKind::Medium, Some(machine)) => volumes::upload(connection, pool, &machine.domain.medium),
        (ResourceKind::Disk, Some(machine)) => create_disk(connection, desired, machine),
        (ResourceKind::Machine, Some(machine)) => create_machine(connection, machine),
        _ => Ok(()),
    }
}

/// Removes what a step names.
pub(super) fn remove(connection: Connection<'_>, desired: &Definitions, step: &PlanStep) -> Result<()> {
    let (name, pool) = (step.name.as_str(), &desired.infrastructure.pool.uuid);
    match step.resource {
        ResourceKind::Machine => remove_machine(connection, name),
        ResourceKind::Network => stop_and_undefine(connection, ["net-destroy", "net-undefine"], name),
        ResourceKind::Pool => stop_and_undefine(connection, ["pool-destroy", "pool-undefine"], name),
        _ => {
            volumes::remove(connection, pool, &volumes::completion_of(name))?;
            volumes::remove(connection, pool, name).map(drop)
        }
    }
}

fn stop_and_undefine(connection: Connection<'_>, [stop, undefine]: [&str; 2], name: &str) -> Result<()> {
    connection.run(&[stop, name])?; // it may be inactive already
    connection.query(&[undefine, name]).map(drop)
}

/// Defines the pool and starts it. Its files stay, whatever changes.
fn create_pool(connection: Connection<'_>, desired: &Definitions) -> Result<()> {
    let pool = &desired.infrastructure.pool;
    let found = connection.find("pools", ["pool-list", "pool-dumpxml", "pool"], &pool.uuid)?;
    let differs = found.is_none_or(|found| !pool.xml.differences(&found).is_empty());
    let active = connection.uuids(&["pool-list"])?.contains(&pool.uuid);
    if differs {
        if active {
            connection.query(&["pool-destroy", &pool.uuid])?;
        }
        connection.query(&["pool-define", &pool.file.display().to_string()])?;
    }
    if differs || !active {
        connection.query(&["pool-build", &pool.uuid])?; // an existing directory is left alone
        connection.query(&["pool-start", &pool.uuid])?;
    }
    connection.query(&["pool-autostart", &pool.uuid]).map(drop)
}

fn create_disk(connection: Connection<'_>, desired: &Definitions, machine: &DefinedMachine) -> Result<()> {
    let (pool, disk) = (&desired.infrastructure.pool.uuid, &machine.domain.disk);
    power_off(connection, &machine.domain.definition.uuid)?;
    volumes::remove(connection, pool, &disk.name)?;
    volumes::create_disk(connection, pool, disk, desired.infrastructure.base.as_ref())
}

/// Defines a machine and starts it. A running machine that has to change is shut down first.
fn create_machine(connection: Connection<'_>, machine: &DefinedMachine) -> Result<()> {
    let definition = &machine.domain.definition;
    let found = connection.find("domains", ["list", "dumpxml", "domain"], &definition.uuid)?;
    if found.as_ref().is_none_or(|found| !definition.xml.differences(found).is_empty()) {
        if found.is_some() {
            shut_down(connection, &definition.uuid)?;
        }
        connection.query(&["define", &definition.file.display().to_string()])?;
    }
    match connection.uuids(&["list"])?.contains(&definition.uuid) {
        true => Ok(()),
        false => connection.query_within(START, &["start", &definition.uuid]).map(drop),
    }
}

/// Asks a machine to shut down, and cuts its power if it does not.
fn shut_down(connection: Connection<'_>, uuid: &String) -> Result<()> {
    let poll = || match connection.uuids(&["list"])?.contains(uuid) {
        true => Ok(Poll::Pending("it still runs".to_owned())),
        false => Ok(Poll::Ready(())),
    };
    if matches!(poll()?, Poll::Ready(())) {
        return Ok(());
    }
    connection.run(&["shutdown", uuid])?;
    let interval = Duration::from_millis(500);
    let wait = Wait { limit: SHUTDOWN, interval, cancel: connection.runner().cancel };
    match wait.until(poll, |_, _| ()) {
        Ok(()) => Ok(()),
        Err(WaitError::Failed(error)) => Err(error),
        Err(WaitError::TimedOut { .. } | WaitError::Cancelled) => power_off(connection, uuid),
    }
}

/// Cuts a machine's power, if it is on.
fn power_off(connection: Connection<'_>, machine: &str) -> Result<()> {
    let output = connection.run(&["destroy", machine])?;
    let off = ["domain is not running", "failed to get domain", "Domain not found"];
    match output.is_success() || off.iter().any(|message| output.stderr.contains(message)) {
        true => Ok(()),
        false => Err(connection.failed(&["destroy", machine], &output)),
    }
}

fn remove_machine(connection: Connection<'_>, machine: &str) -> Result<()> {
    power_off(connection, machine)?;
    connection.query(&["undefine", "--nvram", machine]).map(drop)
}

/// Removes all machines of the cluster, the volumes that we uploaded or they wrote, and the pool. `removed` is told kind
/// and name of each. Returns why the pool's directory stays, if it does.
pub(super) fn destroy_machines(
    connection: Connection<'_>,
    desired: &Definitions,
    inventory: &Inventory,
    removed: &mut dyn FnMut(&str, &str),
) -> Result<Option<String>> {
    let mut nodes: Vec<String> =
        desired.machines.iter().map(|machine| machine.desired.node.clone()).collect();
    for found in &inventory.domains {
        if let Some(marker) = found.marker().filter(|marker| marker.cluster == desired.cluster) {
            remove_machine(connection, &found.uuid)?;
            removed("machine", &found.name);
            nodes.push(marker.node);
        }
    }
    let pool = &desired.infrastructure.pool.uuid;
    let Some(pool) = inventory.pools.iter().find(|found| found.uuid == *pool) else { return Ok(None) };
    if !pool.active {
        connection.query(&["pool-start", &pool.uuid])?;
    }
    for name in volumes::list(connection, &pool.uuid)?.iter().filter(|name| is_ours(name, &nodes)) {
        let is_flag = name.ends_with(".ok") || name == PIVOTED;
        if volumes::remove(connection, &pool.uuid, name)? && !is_flag {
            removed(kind_of(name), name);
        }
    }
    connection.query(&["pool-destroy", &pool.uuid])?;
    let emptied = connection.run(&["pool-delete", &pool.uuid])?.is_success();
    connection.query(&["pool-undefine", &pool.uuid])?;
    removed("pool", &pool.name);
    let directory = &desired.infrastructure.directory;
    Ok((!emptied).then(|| format!("the directory `{directory}`: it has files of others in it")))
}

/// Removes the network, unless it belongs to the system's libvirt: then only root can, and the answer is true.
pub(super) fn destroy_network(
    connection: Connection<'_>,
    desired: &Definitions,
    inventory: &Inventory,
    removed: &mut dyn FnMut(&str, &str),
) -> Result<bool> {
    let uuid = &desired.infrastructure.network.uuid;
    let Some(network) = inventory.networks.iter().find(|found| found.uuid == *uuid) else {
        return Ok(false);
    };
    if connection.is_session() {
        return Ok(true);
    }
    if network.active {
        connection.query(&["net-destroy", uuid])?;
    }
    connection.query(&["net-undefine", uuid])?;
    removed("network", &network.name);
    Ok(false)
}

/// Whether a volume was uploaded by us, or written by one of our machines.
fn is_ours(name: &str, nodes: &[String]) -> bool {
    let of_node = |node: &String| {
        let rest = name.strip_prefix(node.as_str());
        rest.is_some_and(|rest| rest == ".qcow2" || rest == ".log" || rest.starts_with(".log."))
    };
    let bare = name.strip_suffix(".ok").unwrap_or(name);
    uploaded(bare).is_some() || name == PIVOTED || nodes.iter().any(of_node)
}

fn kind_of(volume: &str) -> &'static str {
    match uploaded(volume) {
        Some(kind) => kind.as_str(),
        None if volume.ends_with(".qcow2") => "disk",
        None => "console log",
    }
}
