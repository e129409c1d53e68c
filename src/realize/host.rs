//! What is on the host: looked at, never remembered. Nothing is changed by looking.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use super::balancer::Balancer;
use super::virsh::words;
use super::volumes::allocated;
use super::wanted::{Mark, Wanted, mark};
use super::xml::Element;
use super::{Access, RealizeError, State, Virsh, firewall, ports};
use crate::base::fs;
use crate::base::process::{Ended, Run};

/// What a disk takes that only has its tables.
const BLANK: u64 = 1 << 20;

/// What is on the host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Host {
    pub(super) networks: Vec<Found>,
    pub(super) pools: Vec<Found>,
    pub(super) machines: Vec<Found>,
    /// Names in our pool, if it is there and active.
    pub(super) volumes: BTreeSet<String>,
    /// Disks without a machine that nobody has written to: an interrupted run made them.
    pub(super) blank: BTreeSet<String>,
    /// What the firewall does not let through, if we may ask it.
    pub(super) closed: Option<Vec<String>>,
    /// The load balancer, if it runs here.
    pub(super) balancer: Option<Balancer>,
    /// What the load balancer has to listen on and others have, if it does not run.
    pub(super) taken: Vec<SocketAddr>,
    /// Bytes that are free where the pool is or will be; none if nobody can tell.
    pub(super) available: Option<u64>,
    /// Why there is no hardware virtualisation, if it was asked for and is not there.
    pub(super) no_kvm: Option<String>,
    /// Interfaces of this machine with their networks, if libvirt is here.
    pub(super) interfaces: Vec<Interface>,
}

/// Something that libvirt keeps.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) uuid: String,
    pub(super) active: bool,
    pub(super) autostart: bool,
    pub(super) xml: Element,
}

/// An interface of this machine.
#[derive(Debug, Clone)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) networks: Vec<IpNet>,
}

impl Found {
    /// Our mark, if this is a machine that has one.
    pub(super) fn mark(&self) -> Option<Mark> {
        mark(&self.xml)
    }
}

/// A name in the pool: the control plane has moved to the masters. It lies beside their disks, and goes with them.
pub(super) const PIVOTED: &str = "pivoted";

impl Host {
    /// Whether our network is there, and active.
    pub(super) fn is_connected(&self, wanted: &Wanted) -> bool {
        self.networks.iter().any(|found| found.uuid == wanted.network.uuid && found.active)
    }

    /// Looks at everything that the closure is about.
    pub(crate) fn look(
        virsh: Virsh<'_>,
        wanted: &Wanted,
        state: &State,
        access: Access,
    ) -> Result<Self, RealizeError> {
        // A session uses a bridge of the system's libvirt, which shows its networks to everybody.
        let system = virsh.uri.replacen("/session", "/system", 1);
        let of_networks = match virsh.is_session() {
            true => Virsh { uri: &system, read_only: true, ..virsh },
            false => virsh,
        };
        let networks = list(of_networks, "networks", "net-list", "net-dumpxml", "network")?;
        let pools = list(virsh, "pools", "pool-list", "pool-dumpxml", "pool")?;
        let machines = list(virsh, "machines", "list", "dumpxml", "domain")?;
        let ours = pools.iter().find(|pool| pool.uuid == wanted.pool.uuid && pool.active);
        let volumes = ours.map(|_| volumes(virsh, &wanted.pool.uuid)).transpose()?.unwrap_or_default();
        let available = match ours {
            Some(_) => number(&virsh.ask(&["pool-info", "--bytes", &wanted.pool.uuid])?, "Available:"),
            None if virsh.is_local() => free(Path::new(&wanted.directory)),
            None => None,
        };
        let balancer = if access.local { Balancer::look(state)? } else { None };
        Ok(Self {
            no_kvm: no_kvm(virsh, wanted)?,
            blank: blank(virsh, wanted, &machines, &volumes)?,
            closed: match access.root && access.local {
                true => firewall::missing(virsh, wanted),
                false => None,
            },
            taken: if balancer.is_none() && access.may_listen() { taken(wanted)? } else { Vec::new() },
            balancer,
            interfaces: if virsh.is_local() { interfaces(virsh) } else { Vec::new() },
            networks,
            pools,
            machines,
            volumes,
            available,
        })
    }
}

/// Ports that the load balancer, in either configuration, cannot have.
fn taken(wanted: &Wanted) -> Result<Vec<SocketAddr>, RealizeError> {
    let configuration = fs::read_text(&wanted.balancer(false))?;
    Ok(ports::taken(&ports::binds(&configuration), &ports::listened_on()))
}

/// Objects of one kind, with what each says of itself.
fn list(
    virsh: Virsh<'_>,
    what: &'static str,
    list: &str,
    describe: &str,
    root: &str,
) -> Result<Vec<Found>, RealizeError> {
    let uuids = virsh.uuids(&[list, "--all"])?;
    if uuids.is_empty() {
        return Ok(Vec::new());
    }
    let active = virsh.uuids(&[list])?;
    let autostart = virsh.uuids(&[list, "--all", "--autostart"])?;
    let found = virsh.describe(what, describe, root, &uuids)?;
    let found = found.into_iter().map(|xml| {
        let uuid = xml.text_at("uuid").to_owned();
        Found {
            name: xml.text_at("name").to_owned(),
            active: active.contains(&uuid),
            autostart: autostart.contains(&uuid),
            uuid,
            xml,
        }
    });
    Ok(found.collect())
}

/// The files of a pool. Names of ours have no spaces; those of others do not matter.
pub(super) fn volumes(virsh: Virsh<'_>, pool: &str) -> Result<BTreeSet<String>, RealizeError> {
    virsh.ask(&["pool-refresh", pool])?; // libvirt's own list may be older than the directory
    let text = virsh.ask(&["vol-list", pool])?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect())
}

/// Disks without a machine that nobody has written to.
fn blank(
    virsh: Virsh<'_>,
    wanted: &Wanted,
    machines: &[Found],
    volumes: &BTreeSet<String>,
) -> Result<BTreeSet<String>, RealizeError> {
    let known = |uuid: &str| machines.iter().any(|found| found.uuid == uuid);
    let mut blank = BTreeSet::new();
    for machine in
        wanted.machines.iter().filter(|one| volumes.contains(&one.disk.name) && !known(&one.object.uuid))
    {
        if allocated(virsh, &wanted.pool.uuid, &machine.disk.name)?.is_some_and(|bytes| bytes < BLANK) {
            blank.insert(machine.disk.name.clone());
        }
    }
    Ok(blank)
}

/// The number of bytes after a word at the beginning of a line.
pub(super) fn number(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(word)?.split_whitespace().next()?.parse().ok())
}

/// What is free in the file system that a directory is in, or will be.
fn free(directory: &Path) -> Option<u64> {
    directory.ancestors().find_map(|above| fs::available(above).ok())
}

/// Why machines of this kind cannot run, if they cannot.
fn no_kvm(virsh: Virsh<'_>, wanted: &Wanted) -> Result<Option<String>, RealizeError> {
    let kvm = wanted.machines.iter().find(|machine| machine.object.xml.attribute("type") == "kvm");
    let Some(machine) = kvm else { return Ok(None) };
    let arch = machine.object.xml.at("os/type").map_or("x86_64", |found| found.attribute("arch"));
    let ended = virsh.run(&["domcapabilities", "--virttype", "kvm", "--arch", arch])?;
    Ok((!ended.is_success()).then(|| words(&ended)))
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

/// What `ip` says of this machine, as JSON; none if nobody can tell.
pub(super) fn ip(virsh: Virsh<'_>, what: &str) -> Option<Vec<u8>> {
    let args = ["-json", what];
    let limit = Duration::from_secs(10);
    let run = Run { program: "ip", args: &args, stdin: b"", limit, daemon: false, cancel: virsh.cancel };
    virsh.programs.run(run).ok().filter(Ended::is_success).map(|ended| ended.stdout)
}

/// The interfaces of this machine. Without `ip` nobody can tell, and libvirt says it when the network is started.
fn interfaces(virsh: Virsh<'_>) -> Vec<Interface> {
    let said = ip(virsh, "address");
    let links: Vec<Link> = said.and_then(|said| serde_json::from_slice(&said).ok()).unwrap_or_default();
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
