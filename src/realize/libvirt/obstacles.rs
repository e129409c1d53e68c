//! What in libvirt or on its host prevents a plan: objects of others, missing emulators or images, taken addresses, a full disk.

use ipnet::IpNet;

use super::capabilities::Incapable;
use super::definitions::Definition;
use super::definitions::Definitions;
use super::inventory::{Inventory, Observed};
use super::network::bridge;
use super::xml::Element;
use crate::base::fs;
use crate::realize::obstacles::{Obstacle, obstacle};
use crate::realize::plan::RealizePlan;

/// What a node needs at least on its disk: the operating system alone.
const SYSTEM: u64 = 4_000_000_000;
/// The first bytes of a QEMU image.
const QCOW2: &[u8] = b"QFI\xfb";

/// All of them. `no_image` is what to do if the node OS is not here.
pub(super) fn find(
    desired: &Definitions,
    inventory: &Inventory,
    plan: &RealizePlan,
    no_image: &str,
) -> Vec<Obstacle> {
    let mut all = foreign(desired, inventory);
    all.extend(inventory.incapable.as_ref().map(Incapable::obstacle));
    all.extend(images(desired, plan, no_image));
    all.extend(addresses(desired, inventory));
    all.extend(space(desired, inventory, plan));
    all
}

/// Objects that have our names or UUIDs and are not ours.
fn foreign(desired: &Definitions, inventory: &Inventory) -> Vec<Obstacle> {
    let infrastructure = &desired.infrastructure;
    let rename = |field: &str| {
        format!(
            "remove it, or set `libvirt.{field}` in cluster.yaml to another name; another seed gives another UUID too"
        )
    };
    let mut all = Vec::new();
    all.extend(same_name("network", &infrastructure.network, &inventory.networks, rename("network")));
    all.extend(same_name("pool", &infrastructure.pool, &inventory.pools, rename("pool")));
    for machine in &desired.machines {
        let hint = "remove it, or rename it with `virsh domrename`".to_owned();
        all.extend(same_name("machine", &machine.domain.definition, &inventory.domains, hint));
    }
    for machine in &desired.machines {
        let is_foreign =
            |found: &&Observed| found.marker().is_none_or(|marker| marker.cluster != desired.cluster);
        if let Some(found) = inventory.domain(machine).filter(is_foreign) {
            let message = format!(
                "the machine `{}` has the UUID of `{}`, but not the marker of this cluster",
                found.name, machine.desired.node
            );
            let hint = "somebody redefined it: undefine it, and `tinderbox realize apply` creates it again";
            all.push(obstacle("foreign", message, hint));
        }
    }
    all.extend(foreign_bridge(desired, inventory));
    all
}

fn same_name(what: &str, desired: &Definition, observed: &[Observed], hint: String) -> Option<Obstacle> {
    let other = observed.iter().find(|one| one.name == desired.name && one.uuid != desired.uuid)?;
    let message =
        format!("another {what} is called `{}` (UUID {}), and is not this cluster's", other.name, other.uuid);
    Some(obstacle("foreign", message, hint))
}

/// A bridge name belongs to the network that uses it.
fn foreign_bridge(desired: &Definitions, inventory: &Inventory) -> Option<Obstacle> {
    let network = &desired.infrastructure.network;
    let ours = bridge(&network.xml);
    // A network with our name was reported already.
    let is_other = |found: &&Observed| found.uuid != network.uuid && found.name != network.name;
    let mut others = inventory.networks.iter().filter(is_other);
    let user = others
        .find(|found| bridge(&found.xml) == ours)
        .map(|found| format!("belongs to the network `{}`", found.name));
    let is_stray = inventory.interfaces.iter().any(|interface| interface.name == ours)
        && !inventory.is_network_active(desired);
    let user = user.or_else(|| is_stray.then(|| "exists, and libvirt did not create it".to_owned()))?;
    let message = format!("the interface `{ours}` {user}");
    Some(obstacle("address", message, "set `libvirt.bridge` in cluster.yaml to another name"))
}

/// The image of the node OS, where something has to be created from it.
fn images(desired: &Definitions, plan: &RealizePlan, no_image: &str) -> Option<Obstacle> {
    let base = &desired.infrastructure.base;
    let mut media = desired.machines.iter().map(|machine| &machine.domain.medium).chain(base);
    if let Some(missing) = media.find(|volume| volume.source.is_none() && plan.makes(&volume.name)) {
        let message =
            format!("`{}` cannot be created: the image of the node OS is not on this machine", missing.name);
        return Some(obstacle("image", message, no_image));
    }
    let source = base.as_ref()?.source.as_ref()?;
    let head = fs::read_head(source, QCOW2.len()).unwrap_or_default();
    if head == QCOW2 {
        return None;
    }
    let hint = match head.as_slice() {
        [0x1f, 0x8b, ..] => {
            "it is compressed: unpack it with `gunzip`, and run `tinderbox lock --update rhcos`"
        }
        [0xfd, b'7', b'z', ..] => {
            "it is compressed: unpack it with `unxz`, and run `tinderbox lock --update rhcos`"
        }
        _ => "`rhcos.qcow2` in cluster.yaml names the QEMU image of the release",
    };
    Some(obstacle("image", format!("`{}` is not a QEMU image", source.display()), hint))
}

/// The subnets of a network.
fn subnets(network: &Element) -> Vec<IpNet> {
    let of = |ip: &Element| {
        let address = ip.attribute("address").parse().ok()?;
        let prefix = match (ip.attribute("prefix"), ip.attribute("netmask")) {
            ("", mask) => ipnet::ip_mask_to_prefix(mask.parse().ok()?).ok()?,
            (prefix, _) => prefix.parse().ok()?,
        };
        IpNet::new(address, prefix).ok()
    };
    network.all("ip").filter_map(of).collect()
}

/// Networks and interfaces whose subnets overlap with ours.
fn addresses(desired: &Definitions, inventory: &Inventory) -> Vec<Obstacle> {
    let network = &desired.infrastructure.network;
    let ours = subnets(&network.xml);
    let overlap = |theirs: &[IpNet]| {
        let with = |one: &IpNet| {
            ours.iter().find(|own| own.contains(one) || one.contains(*own)).map(|own| (*one, *own))
        };
        theirs.iter().find_map(with)
    };
    let hint =
        "a subnet can be in one place only: give the cluster another `machineNetwork`, or stop what uses it";
    let mut all = Vec::new();
    let mut reported: Vec<&str> = vec![bridge(&network.xml)];
    for other in inventory.networks.iter().filter(|found| found.active && found.uuid != network.uuid) {
        if let Some((theirs, own)) = overlap(&subnets(&other.xml)) {
            let message = format!(
                "the network `{}` uses {theirs}, which overlaps with this cluster's {own}",
                other.name
            );
            all.push(obstacle("address", message, hint));
            reported.push(bridge(&other.xml));
        }
    }
    for interface in inventory.interfaces.iter().filter(|one| !reported.contains(&one.name.as_str())) {
        if let Some((theirs, own)) = overlap(&interface.networks) {
            let name = &interface.name;
            let message =
                format!("the interface `{name}` uses {theirs}, which overlaps with this cluster's {own}");
            all.push(obstacle("address", message, hint));
        }
    }
    all
}

/// Whether uploads fit, and the least that disks need.
fn space(desired: &Definitions, inventory: &Inventory, plan: &RealizePlan) -> Option<Obstacle> {
    let available = inventory.available?;
    let domains = || desired.machines.iter().map(|machine| &machine.domain);
    let uploads: u64 = domains()
        .map(|domain| &domain.medium)
        .chain(&desired.infrastructure.base)
        .filter(|volume| plan.makes(&volume.name))
        .map(|volume| volume.bytes)
        .sum();
    let disks = domains().map(|domain| &domain.disk).filter(|disk| plan.makes(&disk.name));
    let least = uploads + disks.map(|disk| disk.bytes.min(SYSTEM)).sum::<u64>();
    let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    (available < least).then(|| {
        let message = format!(
            "`{}` has {} free, and the nodes need at least {}",
            desired.infrastructure.directory,
            gigabytes(available),
            gigabytes(least)
        );
        let hint = "free some space, or set `libvirt.path` in cluster.yaml to a directory that has it";
        obstacle("space", message, hint)
    })
}
