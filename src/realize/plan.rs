//! The difference between what is wanted and what is there, as steps in the order in which they are taken.
//!
//! Pure: a plan of the same closure and the same host is the same plan.

use std::path::Path;

use serde::Serialize;

use super::host::{Found, PIVOTED};
use super::obstacles::{self, Obstacle};
use super::privileged::{self, Privileged};
use super::volumes::whole;
use super::wanted::{Machine, Object, Volume, Wanted};
use super::{Hands, Host, leftover};

/// What would be done, and what stands in the way.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Plan {
    pub uri: String,
    pub closure: String,
    /// Whether the control plane runs on the masters, without the bootstrap machine.
    pub pivoted: bool,
    /// All steps, those that do nothing too.
    pub steps: Vec<Step>,
    /// What needs root, as commands.
    pub privileged: Vec<Privileged>,
    /// What stands in the way; nothing is done while there is one.
    pub obstacles: Vec<Obstacle>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Step {
    pub action: Action,
    pub thing: Thing,
    pub name: String,
    /// Why, or what it is.
    pub why: Vec<String>,
    /// Whether data on a disk is lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub destroys: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    /// It is not there, and is made.
    Create,
    /// It is there, and not as it should be.
    Change,
    /// It is there as it should be.
    Keep,
    /// It is there, ours, and not wanted any more.
    Remove,
}

impl Action {
    /// As people read it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Keep => "keep",
            Self::Remove => "remove",
        }
    }

    /// Whether something is there afterwards that was not there before.
    pub(crate) fn makes(self) -> bool {
        matches!(self, Self::Create | Self::Change)
    }
}

/// What a step is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Thing {
    Network,
    Pool,
    /// The image that disks begin as.
    Image,
    /// What a machine boots with: a live ISO, or an Ignition config.
    Medium,
    /// The openings of the host's firewall.
    Firewall,
    Balancer,
    /// That the control plane has moved to the masters.
    Mark,
    Disk,
    Machine,
}

impl Thing {
    /// As people read it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Pool => "pool",
            Self::Image => "image",
            Self::Medium => "medium",
            Self::Firewall => "firewall",
            Self::Balancer => "balancer",
            Self::Mark => "mark",
            Self::Disk => "disk",
            Self::Machine => "machine",
        }
    }
}

impl Plan {
    /// What lies between the closure and the host.
    pub(crate) fn make(hands: &Hands<'_>, host: &Host) -> Self {
        let Hands { wanted, state, access, .. } = *hands;
        let pivoted = pivoted(wanted, host);
        let mut steps = vec![
            object(Thing::Network, &wanted.network, &host.networks),
            object(Thing::Pool, &wanted.pool, &host.pools),
        ];
        steps.extend(firewall(host));
        steps.extend(access.local.then(|| balancer(&wanted.balancer(pivoted), host)));
        steps.extend(leftover::renamed(Thing::Network, &wanted.network, &host.networks));
        steps.extend(leftover::renamed(Thing::Pool, &wanted.pool, &host.pools));
        if host.volumes.contains(PIVOTED) && !pivoted {
            let why = "every master is made anew: so is the cluster".to_owned();
            steps.push(Step::new(Action::Remove, Thing::Mark, PIVOTED, vec![why]));
        }
        let current: Vec<&Machine> =
            wanted.machines.iter().filter(|one| !(pivoted && one.is_bootstrap())).collect();
        let machines: Vec<Vec<Step>> = current.iter().map(|one| machine(one, host)).collect();
        let disks = machines.iter().flatten().any(|step| step.thing == Thing::Disk && step.action.makes());
        if let Some(base) = wanted.base.as_ref().filter(|base| disks || host.volumes.contains(&base.name)) {
            steps.push(volume(Thing::Image, base, host, "the image of the node OS, which disks begin as"));
        }
        steps.extend(machines.into_iter().flatten());
        steps.extend(leftover::gone(wanted, &current, host));
        steps.extend(leftover::stale(wanted, &current, host));
        let privileged = privileged::list(wanted, &steps, pivoted, host.balancer.as_ref(), state, access);
        let (uri, closure) = (hands.virsh.uri.to_owned(), wanted.closure.display().to_string());
        let mut plan = Self { uri, closure, pivoted, steps, privileged, obstacles: Vec::new() };
        plan.obstacles = obstacles::find(hands, host, &plan);
        plan
    }

    /// Whether everything is as it should be.
    pub(crate) fn is_done(&self) -> bool {
        self.steps.iter().all(|step| step.action == Action::Keep)
    }
}

impl Step {
    /// One that loses nothing.
    pub(super) fn new(action: Action, thing: Thing, name: &str, why: Vec<String>) -> Self {
        Self { action, thing, name: name.to_owned(), why, destroys: false }
    }
}

/// A network or a pool: made, described anew, or only started.
fn object(thing: Thing, wanted: &Object, found: &[Found]) -> Step {
    let Some(ours) = found.iter().find(|one| one.uuid == wanted.uuid && one.name == wanted.name) else {
        let what = match thing {
            Thing::Network => {
                wanted.xml.at("bridge").map_or("", |bridge| bridge.attribute("name")).to_owned()
            }
            _ => wanted.xml.text_at("target/path").to_owned(),
        };
        return Step::new(Action::Create, thing, &wanted.name, vec![what]);
    };
    let mut why: Vec<String> = wanted.xml.differences(&ours.xml).iter().map(ToString::to_string).collect();
    if !ours.active {
        why.push("it is not active".into());
    }
    if !ours.autostart {
        why.push("it does not start with the host".into());
    }
    let action = if why.is_empty() { Action::Keep } else { Action::Change };
    Step::new(action, thing, &wanted.name, why)
}

/// The openings of the firewall, if we may look at it.
fn firewall(host: &Host) -> Option<Step> {
    let closed = host.closed.as_ref()?;
    let action = if closed.is_empty() { Action::Keep } else { Action::Create };
    let why = (!closed.is_empty())
        .then(|| format!("{} rules: the nodes reach the load balancer, and the outside", closed.len()));
    Some(Step::new(action, Thing::Firewall, "firewall.sh", why.into_iter().collect()))
}

/// The load balancer on this machine.
fn balancer(configuration: &Path, host: &Host) -> Step {
    let (action, why) = match &host.balancer {
        None => (Action::Create, Some("it does not run")),
        Some(running) if running.has(configuration) => (Action::Keep, None),
        Some(_) => (Action::Change, Some("it runs with another configuration")),
    };
    Step::new(action, Thing::Balancer, "haproxy", why.map(str::to_owned).into_iter().collect())
}

/// A machine with its disk and what it boots with.
fn machine(wanted: &Machine, host: &Host) -> Vec<Step> {
    let there = host.machines.iter().find(|one| one.uuid == wanted.object.uuid);
    let disk_there = host.volumes.contains(&wanted.disk.name);
    let what = if wanted.medium.name.ends_with(".iso") {
        "its live ISO, with its Ignition in it"
    } else {
        "its Ignition"
    };
    let medium = volume(Thing::Medium, &wanted.medium, host, what);
    let lost = there.map(|found| outdated(wanted, found)).unwrap_or_default();
    let mut disk = Step::new(Action::Keep, Thing::Disk, &wanted.disk.name, Vec::new());
    if !disk_there {
        disk.action = Action::Create;
        disk.why = vec![format!("{} GB, thin", wanted.disk.bytes / 1_000_000_000)];
    } else if !lost.is_empty() || there.is_none() && !host.blank.contains(&wanted.disk.name) {
        disk.action = Action::Change;
        disk.destroys = true;
        disk.why = lost.clone();
        if there.is_none() {
            disk.why.push("nobody knows what is on it: its machine is gone".into());
        }
    }
    let machine = match there {
        None => Step::new(Action::Create, Thing::Machine, &wanted.object.name, vec![summary(wanted)]),
        Some(found) => {
            let differences = wanted.object.xml.differences(&found.xml);
            let mut why: Vec<String> = differences.iter().map(ToString::to_string).collect();
            if !found.active {
                why.push("it is shut off".into());
            }
            let action = if why.is_empty() { Action::Keep } else { Action::Change };
            Step::new(action, Thing::Machine, &wanted.object.name, why)
        }
    };
    vec![medium, disk, machine]
}

/// Why what is on a machine's disk cannot be used any more.
fn outdated(wanted: &Machine, found: &Found) -> Vec<String> {
    let (Some(now), Some(then)) = (super::wanted::mark(&wanted.object.xml), found.mark()) else {
        return Vec::new();
    };
    let short = |id: &str| id.get(..16).unwrap_or(id).to_owned();
    let mut why = Vec::new();
    if now.ignition != then.ignition {
        why.push(format!("its Ignition changed: {} becomes {}", short(&then.ignition), short(&now.ignition)));
    }
    if now.image != then.image {
        why.push("the image of the node OS changed".into());
    }
    if now.disk != then.disk {
        why.push(format!("{} GB becomes {} GB", then.disk, now.disk));
    }
    why
}

fn summary(machine: &Machine) -> String {
    let xml = &machine.object.xml;
    let kib: u64 = xml.text_at("memory").parse().unwrap_or(0);
    format!("{} vCPUs, {} MiB, {}", xml.text_at("vcpu"), kib / 1024, xml.attribute("type"))
}

fn volume(thing: Thing, wanted: &Volume, host: &Host, what: &str) -> Step {
    // Only what was brought whole has the second.
    match host.volumes.contains(&wanted.name) && host.volumes.contains(&whole(&wanted.name)) {
        true => Step::new(Action::Keep, thing, &wanted.name, Vec::new()),
        false => Step::new(Action::Create, thing, &wanted.name, vec![what.to_owned()]),
    }
}

/// Whether the masters have the control plane: they had it once, and not all of them are made anew.
fn pivoted(wanted: &Wanted, host: &Host) -> bool {
    let mut masters = wanted.machines.iter().filter(|machine| machine.is_master());
    host.volumes.contains(PIVOTED) && masters.any(|one| !loses_disk(one, host))
}

/// Whether a machine begins with another disk than the one that it has.
pub(super) fn loses_disk(wanted: &Machine, host: &Host) -> bool {
    machine(wanted, host).iter().any(|step| step.thing == Thing::Disk && step.action.makes())
}
