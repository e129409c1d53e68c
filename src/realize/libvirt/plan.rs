//! The steps that lead from libvirt's inventory to the definitions of the closure.
//!
//! Pure: the same closure and the same inventory give the same steps.

use super::definitions::{DefinedMachine, Definitions};
use super::definitions::{Definition, StorageVolume};
use super::inventory::{Inventory, Observed, PIVOTED};
use super::obsolete;
use super::volumes::completion_of;
use crate::realize::plan::{PlanStep, ResourceKind, StepAction};

/// The network and the pool.
pub(super) fn shared(desired: &Definitions, inventory: &Inventory) -> Vec<PlanStep> {
    let infrastructure = &desired.infrastructure;
    vec![
        object(ResourceKind::Network, &infrastructure.network, &inventory.networks),
        object(ResourceKind::Pool, &infrastructure.pool, &inventory.pools),
    ]
}

/// Everything else: images, disks and machines, and what is no longer needed.
pub(super) fn machines(desired: &Definitions, inventory: &Inventory, pivoted: bool) -> Vec<PlanStep> {
    let infrastructure = &desired.infrastructure;
    let mut steps = Vec::new();
    steps.extend(obsolete::renamed(ResourceKind::Network, &infrastructure.network, &inventory.networks));
    steps.extend(obsolete::renamed(ResourceKind::Pool, &infrastructure.pool, &inventory.pools));
    if inventory.is_pivot_recorded() && !pivoted {
        let why = "every master is reinstalled, so this becomes a new cluster".to_owned();
        steps.push(PlanStep::new(StepAction::Remove, ResourceKind::PivotRecord, PIVOTED, vec![why]));
    }
    let current: Vec<&DefinedMachine> =
        desired.machines.iter().filter(|one| !(pivoted && one.desired.is_bootstrap())).collect();
    let machines: Vec<PlanStep> = current.iter().flat_map(|one| machine(one, inventory)).collect();
    let disks = machines.iter().any(|step| step.resource == ResourceKind::Disk && step.action.makes());
    let base = infrastructure.base.as_ref();
    if let Some(base) = base.filter(|base| disks || inventory.volumes.contains(&base.name)) {
        let why = "the image of the node OS, which backs the disks";
        steps.push(volume(ResourceKind::Image, base, inventory, why));
    }
    steps.extend(machines);
    steps.extend(obsolete::machines(desired, &current, inventory));
    steps.extend(obsolete::media(desired, &current, inventory));
    steps
}

/// Records the pivot, from which on a plan has no bootstrap machine.
pub(super) fn record_pivot() -> PlanStep {
    let why = vec!["the control plane runs on the masters".to_owned()];
    PlanStep::new(StepAction::Create, ResourceKind::PivotRecord, PIVOTED, why)
}

/// The machine that a step is about, if it is about one.
pub(super) fn machine_of<'d>(step: &PlanStep, desired: &'d Definitions) -> Option<&'d DefinedMachine> {
    desired.machines.iter().find(|machine| match step.resource {
        ResourceKind::Machine => machine.domain.definition.name == step.name,
        ResourceKind::Disk => machine.domain.disk.name == step.name,
        ResourceKind::Medium => machine.domain.medium.name == step.name,
        _ => false,
    })
}

/// A network or a pool: create it, redefine it, or only start it.
fn object(kind: ResourceKind, desired: &Definition, observed: &[Observed]) -> PlanStep {
    let Some(ours) = observed.iter().find(|one| one.uuid == desired.uuid && one.name == desired.name) else {
        let what = match kind {
            ResourceKind::Network => super::network::bridge(&desired.xml),
            _ => desired.xml.text_at("target/path"),
        };
        return PlanStep::new(StepAction::Create, kind, &desired.name, vec![what.to_owned()]);
    };
    let mut why: Vec<String> = desired.xml.differences(&ours.xml).iter().map(ToString::to_string).collect();
    if !ours.active {
        why.push("it is not active".into());
    }
    if !ours.autostart {
        why.push("it does not start with the host".into());
    }
    let action = if why.is_empty() { StepAction::Keep } else { StepAction::Change };
    PlanStep::new(action, kind, &desired.name, why)
}

/// A machine with its disk and its boot medium.
fn machine(desired: &DefinedMachine, inventory: &Inventory) -> [PlanStep; 3] {
    let domain = &desired.domain;
    let found = inventory.domain(desired);
    let what = match domain.medium.name.ends_with(".iso") {
        true => "its live ISO with its Ignition config",
        false => "its Ignition config",
    };
    let medium = volume(ResourceKind::Medium, &domain.medium, inventory, what);
    let machine = match found {
        None => {
            let why = vec![summary(desired)];
            PlanStep::new(StepAction::Create, ResourceKind::Machine, &domain.definition.name, why)
        }
        Some(found) => {
            let differences = domain.definition.xml.differences(&found.xml);
            let mut why: Vec<String> = differences.iter().map(ToString::to_string).collect();
            if !found.active {
                why.push("it is shut off".into());
            }
            let action = if why.is_empty() { StepAction::Keep } else { StepAction::Change };
            PlanStep::new(action, ResourceKind::Machine, &domain.definition.name, why)
        }
    };
    [medium, disk(desired, found, inventory), machine]
}

/// A disk is kept for as long as it was installed from what the closure has now.
fn disk(desired: &DefinedMachine, found: Option<&Observed>, inventory: &Inventory) -> PlanStep {
    let disk = &desired.domain.disk;
    let outdated = found.map(|found| outdated(desired, found)).unwrap_or_default();
    let mut step = PlanStep::new(StepAction::Keep, ResourceKind::Disk, &disk.name, Vec::new());
    if !inventory.volumes.contains(&disk.name) {
        step.action = StepAction::Create;
        step.why = vec![format!("{} GB, thin", disk.bytes / 1_000_000_000)];
    } else if !outdated.is_empty() || found.is_none() && !inventory.blank.contains(&disk.name) {
        step.action = StepAction::Change;
        step.destroys = true;
        step.why = outdated;
        if found.is_none() {
            step.why.push("its machine is gone, so its content is unknown".into());
        }
    }
    step
}

/// Whether a machine starts with another disk than the one that it has.
pub(super) fn boots_anew(desired: &DefinedMachine, inventory: &Inventory) -> bool {
    disk(desired, inventory.domain(desired), inventory).action.makes()
}

/// Why a machine's disk is not what the closure would install.
fn outdated(desired: &DefinedMachine, found: &Observed) -> Vec<String> {
    let now = &desired.domain.marker;
    let Some(then) = found.marker() else { return Vec::new() };
    let short = |id: &str| id.get(..16).unwrap_or(id).to_owned();
    let mut why = Vec::new();
    if now.ignition != then.ignition {
        let (then, now) = (short(&then.ignition), short(&now.ignition));
        why.push(format!("its Ignition config changed: {then} becomes {now}"));
    }
    if now.image != then.image {
        why.push("the image of the node OS changed".into());
    }
    if now.disk != then.disk {
        why.push(format!("{} GB becomes {} GB", then.disk, now.disk));
    }
    why
}

fn summary(machine: &DefinedMachine) -> String {
    let xml = &machine.domain.definition.xml;
    let kib: u64 = xml.text_at("memory").parse().unwrap_or(0);
    let cpus = xml.text_at("vcpu");
    let word = if cpus == "1" { "vCPU" } else { "vCPUs" };
    format!("{cpus} {word}, {} MiB, {}", kib / 1024, xml.attribute("type"))
}

fn volume(kind: ResourceKind, desired: &StorageVolume, inventory: &Inventory, what: &str) -> PlanStep {
    let has = |name: &str| inventory.volumes.contains(name);
    match has(&desired.name) && has(&completion_of(&desired.name)) {
        true => PlanStep::new(StepAction::Keep, kind, &desired.name, Vec::new()),
        false => PlanStep::new(StepAction::Create, kind, &desired.name, vec![what.to_owned()]),
    }
}
