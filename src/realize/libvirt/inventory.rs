//! What libvirt has right now: queried before every phase, never cached. Queries change nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use super::capabilities::{Incapable, incapable};
use super::connection::Connection;
use super::definitions::{DefinedMachine, Definitions};
use super::marker::Marker;
use super::volumes::{self, allocation, bytes_after};
use super::xml::Element;
use crate::base::fs;
use crate::base::process::{Invocation, ProcessOutput};
use crate::realize::Result;
use crate::realize::provider::log_of;

/// A disk smaller than this holds nothing but qcow2's own tables.
const BLANK: u64 = 1 << 20;

/// The name of the volume that records the pivot. It lies beside the masters' disks, and is removed with them.
pub(super) const PIVOTED: &str = "pivoted";

#[derive(Debug, Clone, Default)]
pub(crate) struct Inventory {
    pub(super) networks: Vec<Observed>,
    pub(super) pools: Vec<Observed>,
    pub(super) domains: Vec<Observed>,
    /// Volumes of our pool, if it is active.
    pub(super) volumes: BTreeSet<String>,
    /// Disks of an interrupted run: they have no machine, and nobody has written to them.
    pub(super) blank: BTreeSet<String>,
    /// Free bytes where the pool is or will be, if known.
    pub(super) available: Option<u64>,
    /// Why the host cannot run the machines, if it cannot.
    pub(super) incapable: Option<Incapable>,
    /// The network interfaces of this machine, if libvirt runs here.
    pub(super) interfaces: Vec<Interface>,
}

/// A network, pool or domain that libvirt has.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    pub(super) name: String,
    pub(super) uuid: String,
    pub(super) active: bool,
    pub(super) autostart: bool,
    pub(super) xml: Element,
}

#[derive(Debug, Clone)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) networks: Vec<IpNet>,
}

impl Observed {
    pub(super) fn marker(&self) -> Option<Marker> {
        Marker::read(&self.xml)
    }
}

impl Inventory {
    pub(crate) fn read(connection: Connection<'_>, desired: &Definitions) -> Result<Self> {
        let pool = &desired.infrastructure.pool.uuid;
        // A session uses a bridge of the system's libvirt, which shows its networks to everybody.
        let system = connection.uri().replacen("/session", "/system", 1);
        let of_networks = if connection.is_session() { connection.read_only(&system) } else { connection };
        let networks = list(of_networks, "networks", "net-list", "net-dumpxml", "network")?;
        let pools = list(connection, "pools", "pool-list", "pool-dumpxml", "pool")?;
        let domains = list(connection, "domains", "list", "dumpxml", "domain")?;
        let ours = pools.iter().find(|one| one.uuid == *pool && one.active);
        let volumes = ours.map(|_| volumes::list(connection, pool)).transpose()?.unwrap_or_default();
        let available = match ours {
            Some(_) => bytes_after(&connection.query(&["pool-info", "--bytes", pool])?, "Available:"),
            None if connection.is_local() => free(Path::new(&desired.infrastructure.directory)),
            None => None,
        };
        Ok(Self {
            incapable: incapable(connection, desired)?,
            blank: blank(connection, desired, &domains, &volumes)?,
            interfaces: if connection.is_local() { interfaces(connection) } else { Vec::new() },
            networks,
            pools,
            domains,
            volumes,
            available,
        })
    }

    /// Whether our network exists and is active.
    pub(crate) fn is_network_active(&self, desired: &Definitions) -> bool {
        let uuid = &desired.infrastructure.network.uuid;
        self.networks.iter().any(|found| found.uuid == *uuid && found.active)
    }

    pub(crate) fn is_running(&self, machine: &DefinedMachine) -> bool {
        self.domain(machine).is_some_and(|found| found.active)
    }

    /// Whether the pivot was recorded: the control plane once moved to the masters.
    pub(crate) fn is_pivot_recorded(&self) -> bool {
        self.volumes.contains(PIVOTED)
    }

    /// Whether a machine has written to its console.
    pub(crate) fn has_console(&self, machine: &DefinedMachine) -> bool {
        self.volumes.contains(&log_of(&machine.desired.node))
    }

    pub(super) fn domain(&self, machine: &DefinedMachine) -> Option<&Observed> {
        self.domains.iter().find(|found| found.uuid == machine.domain.definition.uuid)
    }
}

/// All objects of one kind, with their XML.
fn list(
    connection: Connection<'_>,
    what: &'static str,
    list: &str,
    describe: &str,
    root: &str,
) -> Result<Vec<Observed>> {
    let uuids = connection.uuids(&[list, "--all"])?;
    if uuids.is_empty() {
        return Ok(Vec::new());
    }
    let active = connection.uuids(&[list])?;
    let autostart = connection.uuids(&[list, "--all", "--autostart"])?;
    let found = connection.describe(what, describe, root, &uuids)?;
    let found = found.into_iter().map(|xml| {
        let uuid = xml.text_at("uuid").to_owned();
        Observed {
            name: xml.text_at("name").to_owned(),
            active: active.contains(&uuid),
            autostart: autostart.contains(&uuid),
            uuid,
            xml,
        }
    });
    Ok(found.collect())
}

/// Disks without a machine that nobody has written to.
fn blank(
    connection: Connection<'_>,
    desired: &Definitions,
    domains: &[Observed],
    volumes: &BTreeSet<String>,
) -> Result<BTreeSet<String>> {
    let has_machine = |uuid: &str| domains.iter().any(|found| found.uuid == uuid);
    let mut blank = BTreeSet::new();
    for domain in desired.machines.iter().map(|machine| &machine.domain) {
        let disk = &domain.disk.name;
        if !volumes.contains(disk) || has_machine(&domain.definition.uuid) {
            continue;
        }
        let pool = &desired.infrastructure.pool.uuid;
        if allocation(connection, pool, disk)?.is_some_and(|bytes| bytes < BLANK) {
            blank.insert(disk.clone());
        }
    }
    Ok(blank)
}

/// Free bytes in the file system that a directory is in, or will be.
fn free(directory: &Path) -> Option<u64> {
    directory.ancestors().find_map(|above| fs::available(above).ok())
}

#[derive(Deserialize)]
struct Link {
    ifname: String,
    #[serde(default)]
    addr_info: Vec<Address>,
}

#[derive(Deserialize)]
struct Address {
    local: Option<String>,
    prefixlen: u8,
}

/// What `ip -json` prints about this machine; none if it fails.
pub(super) fn ip(connection: Connection<'_>, object: &str) -> Option<Vec<u8>> {
    let args = ["-json", object];
    let output = connection.runner().run(Invocation::new("ip", &args, Duration::from_secs(10)));
    output.ok().filter(ProcessOutput::is_success).map(|output| output.stdout)
}

/// The interfaces of this machine. Without `ip` none are known, and libvirt complains when the network starts.
fn interfaces(connection: Connection<'_>) -> Vec<Interface> {
    let printed = ip(connection, "address");
    let links: Vec<Link> = printed.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
    let network =
        |address: &Address| IpNet::new(address.local.as_ref()?.parse().ok()?, address.prefixlen).ok();
    links
        .into_iter()
        .map(|link| Interface {
            name: link.ifname,
            networks: link.addr_info.iter().filter_map(network).collect(),
        })
        .collect()
}
