//! What stands in the way, all of it at once, before anything is changed.

use ipnet::IpNet;
use serde::Serialize;

use super::host::Found;
use super::plan::loses_disk;
use super::wanted::{Machine, Object, Wanted};
use super::xml::Element;
use super::{Hands, Host, Plan, Thing};
use crate::base::fs;

/// What a node needs at least on its disk: the operating system alone.
const SYSTEM: u64 = 4_000_000_000;
/// The first bytes of a QEMU image.
const QCOW2: &[u8] = b"QFI\xfb";

/// Something that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Obstacle {
    /// Which kind: `foreign`, `kvm`, `image`, `expiry`, `address`, `program`, `port`, `quorum` or `space`.
    pub kind: &'static str,
    pub message: String,
    pub hint: String,
}

fn obstacle(kind: &'static str, message: String, hint: impl Into<String>) -> Obstacle {
    Obstacle { kind, message, hint: hint.into() }
}

/// All that stands in the way of a plan.
pub(super) fn find(hands: &Hands<'_>, host: &Host, plan: &Plan) -> Vec<Obstacle> {
    let wanted = hands.wanted;
    let mut all = foreign(wanted, host);
    all.extend(kvm(host));
    all.extend(images(wanted, plan, hands.no_image));
    all.extend(expiry(hands, plan));
    all.extend(addresses(wanted, host));
    all.extend(programs(hands, plan));
    all.extend(ports(host));
    all.extend(quorum(wanted, host, plan));
    all.extend(space(wanted, host, plan));
    all
}

/// Objects that have our names and are not ours.
fn foreign(wanted: &Wanted, host: &Host) -> Vec<Obstacle> {
    let mut all = Vec::new();
    let mut same_name = |what: &str, object: &Object, found: &[Found], hint: String| {
        if let Some(other) = found.iter().find(|one| one.name == object.name && one.uuid != object.uuid) {
            let message = format!(
                "there is a {what} `{}` (UUID {}) that is not this cluster's",
                other.name, other.uuid
            );
            all.push(obstacle("foreign", message, hint));
        }
    };
    let rename = |field: &str| {
        format!(
            "remove it, or set `libvirt.{field}` in cluster.yaml to another name; another seed gives another UUID too"
        )
    };
    same_name("network", &wanted.network, &host.networks, rename("network"));
    same_name("pool", &wanted.pool, &host.pools, rename("pool"));
    for machine in &wanted.machines {
        same_name(
            "machine",
            &machine.object,
            &host.machines,
            "remove it, or rename it with `virsh domrename`".into(),
        );
    }
    for machine in &wanted.machines {
        let ours = host.machines.iter().find(|found| found.uuid == machine.object.uuid);
        if let Some(found) =
            ours.filter(|found| found.mark().is_none_or(|mark| mark.cluster != wanted.cluster))
        {
            let message = format!(
                "the machine `{}` has the UUID of `{}`, and not the mark of this cluster",
                found.name, machine.node
            );
            all.push(obstacle(
                "foreign",
                message,
                "somebody described it anew: undefine it, and it is made again",
            ));
        }
    }
    all.extend(bridges(wanted, host));
    all
}

/// The bridge's name belongs to the network that has it.
fn bridges(wanted: &Wanted, host: &Host) -> Option<Obstacle> {
    let bridge = bridge(&wanted.network.xml);
    // One that has our network's name as well was told already.
    let other = |found: &&Found| found.uuid != wanted.network.uuid && found.name != wanted.network.name;
    let others = host.networks.iter().filter(other);
    let taken = others
        .clone()
        .find(|found| bridge_of(found) == bridge)
        .map(|found| format!("of the network `{}`", found.name));
    let known = host.is_connected(wanted);
    let stray = host.interfaces.iter().any(|interface| interface.name == bridge) && !known;
    let taken = taken.or_else(|| stray.then(|| "that libvirt did not make".to_owned()))?;
    let message = format!("there is an interface `{bridge}` {taken}");
    Some(obstacle("address", message, "set `libvirt.bridge` in cluster.yaml to another name"))
}

fn bridge(network: &Element) -> &str {
    network.at("bridge").map_or("", |bridge| bridge.attribute("name"))
}

fn bridge_of(found: &Found) -> &str {
    bridge(&found.xml)
}

fn kvm(host: &Host) -> Option<Obstacle> {
    let words = host.no_kvm.as_ref()?;
    let message = format!("machines of type `kvm` cannot run there: {words}");
    let hint = "switch virtualisation on in the firmware and load the kvm module; or set `libvirt.domainType: qemu` in \
                cluster.yaml, which emulates, and is slow";
    Some(obstacle("kvm", message, hint))
}

/// The node OS, where something is to be made from it.
fn images(wanted: &Wanted, plan: &Plan, no_image: &str) -> Option<Obstacle> {
    let mut media = wanted.machines.iter().map(|machine| &machine.medium).chain(&wanted.base);
    if let Some(missing) = media.find(|volume| volume.source.is_none() && plan.makes(&volume.name)) {
        let message =
            format!("`{}` cannot be made: the image of the node OS is not on this machine", missing.name);
        return Some(obstacle("image", message, no_image));
    }
    let base = wanted.base.as_ref()?;
    let source = base.source.as_ref()?;
    let head = fs::read_head(source, QCOW2.len()).unwrap_or_default();
    if head == QCOW2 {
        return None;
    }
    let packed = match head.as_slice() {
        [0x1f, 0x8b, ..] => {
            "it is compressed: unpack it with `gunzip`, and run `tinderbox lock --update rhcos`"
        }
        [0xfd, b'7', b'z', ..] => {
            "it is compressed: unpack it with `unxz`, and run `tinderbox lock --update rhcos`"
        }
        _ => "`rhcos.qcow2` in cluster.yaml names the QEMU image of the release",
    };
    Some(obstacle("image", format!("`{}` is not a QEMU image", source.display()), packed))
}

/// The networks that a network's addresses are in.
fn networks(network: &Element) -> Vec<IpNet> {
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

/// Networks and interfaces that have our addresses.
fn addresses(wanted: &Wanted, host: &Host) -> Vec<Obstacle> {
    let ours = networks(&wanted.network.xml);
    let clash = |theirs: &[IpNet]| {
        let overlap = |one: &IpNet| {
            ours.iter().find(|own| own.contains(one) || one.contains(*own)).map(|own| (*one, *own))
        };
        theirs.iter().find_map(overlap)
    };
    let own_bridge = bridge(&wanted.network.xml);
    let mut all = Vec::new();
    let mut told: Vec<&str> = vec![own_bridge];
    let hint = "addresses can be in one place only: give the cluster another `machineNetwork`, or stop what has them";
    for other in host.networks.iter().filter(|found| found.active && found.uuid != wanted.network.uuid) {
        if let Some((theirs, own)) = clash(&networks(&other.xml)) {
            let message = format!("the network `{}` has {theirs}, and this cluster {own}", other.name);
            all.push(obstacle("address", message, hint));
            told.push(bridge_of(other));
        }
    }
    for interface in host.interfaces.iter().filter(|interface| !told.contains(&interface.name.as_str())) {
        if let Some((theirs, own)) = clash(&interface.networks) {
            let message = format!("the interface `{}` has {theirs}, and this cluster {own}", interface.name);
            all.push(obstacle("address", message, hint));
        }
    }
    all
}

/// Certificates that end before a boot can.
fn expiry(hands: &Hands<'_>, plan: &Plan) -> Option<Obstacle> {
    let until = hands.expired?;
    let boots = hands.wanted.machines.iter().any(|machine| plan.makes(&machine.disk.name));
    (boots && !plan.pivoted).then(|| {
        let message =
            format!("a boot would not end before the first certificate does: this set boots until {until}");
        obstacle("expiry", message, "`tinderbox renew` gives new dates, and keeps every key")
    })
}

/// The load balancer's program, if we are to start it.
fn programs(hands: &Hands<'_>, plan: &Plan) -> Option<Obstacle> {
    let starts = plan.steps.iter().any(|step| step.thing == Thing::Balancer && step.action.makes());
    let missing = starts && hands.access.may_listen() && !hands.virsh.programs.has("haproxy");
    missing.then(|| {
        let hint =
            "install it (Debian and Fedora call the package `haproxy`), or put its directory into PATH";
        obstacle("program", "there is no program `haproxy` on this machine".to_owned(), hint)
    })
}

/// Ports that the load balancer needs, and that others have.
fn ports(host: &Host) -> Option<Obstacle> {
    let taken: Vec<String> = host.taken.iter().map(ToString::to_string).collect();
    (!taken.is_empty()).then(|| {
        let message = format!("the load balancer cannot have {}: others listen there", taken.join(", "));
        obstacle("port", message, "`ss -ltnp` says who: stop it, or give it addresses of its own")
    })
}

/// Masters that would be made anew, in a cluster that cannot do without them.
fn quorum(wanted: &Wanted, host: &Host, plan: &Plan) -> Option<Obstacle> {
    let (lost, kept): (Vec<&Machine>, Vec<&Machine>) =
        wanted.machines.iter().filter(|one| one.is_master()).partition(|one| loses_disk(one, host));
    let masters = lost.len() + kept.len();
    (plan.pivoted && kept.len() <= masters / 2).then(|| {
        let lost: Vec<&str> = lost.iter().map(|machine| machine.node.as_str()).collect();
        let message =
            format!("etcd would lose its quorum: {} of {masters} masters are made anew: `{}`", lost.len(), lost.join("`, `"));
        obstacle(
            "quorum",
            message,
            "change fewer masters at once; or give the cluster up with `tinderbox realize destroy`, and make it anew",
        )
    })
}

/// Whether what is brought fits, and what disks need at least.
fn space(wanted: &Wanted, host: &Host, plan: &Plan) -> Option<Obstacle> {
    let available = host.available?;
    let brought: u64 = wanted
        .machines
        .iter()
        .map(|machine| &machine.medium)
        .chain(&wanted.base)
        .filter(|volume| plan.makes(&volume.name))
        .map(|volume| volume.bytes)
        .sum();
    let disks = wanted.machines.iter().filter(|machine| plan.makes(&machine.disk.name));
    let least = brought + disks.map(|machine| machine.disk.bytes.min(SYSTEM)).sum::<u64>();
    let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    (available < least).then(|| {
        let message = format!(
            "`{}` has {} free, and the nodes need at least {}",
            wanted.directory,
            gigabytes(available),
            gigabytes(least)
        );
        obstacle(
            "space",
            message,
            "make room, or set `libvirt.path` in cluster.yaml to a directory that has it",
        )
    })
}

impl Plan {
    /// Whether something of that name is made, or made again.
    pub(super) fn makes(&self, name: &str) -> bool {
        let file = |thing: Thing| matches!(thing, Thing::Image | Thing::Medium | Thing::Disk);
        self.steps.iter().any(|step| file(step.thing) && step.name == name && step.action.makes())
    }
}
