//! What is ours in libvirt and no longer needed, as steps that remove it. Pure, like the plan that they are part of.

use super::definitions::Definition;
use super::definitions::{DefinedMachine, Definitions};
use super::inventory::{Inventory, Observed};
use crate::realize::plan::{PlanStep, ResourceKind, StepAction};

fn remove(kind: ResourceKind, name: &str, why: &str) -> PlanStep {
    PlanStep::new(StepAction::Remove, kind, name, vec![why.to_owned()])
}

/// An object of ours under an earlier name.
pub(super) fn renamed(kind: ResourceKind, desired: &Definition, observed: &[Observed]) -> Option<PlanStep> {
    let old = observed.iter().find(|one| one.uuid == desired.uuid && one.name != desired.name)?;
    Some(remove(kind, &old.name, &format!("cluster.yaml calls it `{}` now", desired.name)))
}

/// Machines of this cluster that are no longer needed.
pub(super) fn machines(
    desired: &Definitions,
    current: &[&DefinedMachine],
    inventory: &Inventory,
) -> Vec<PlanStep> {
    let is_obsolete = |found: &&Observed| {
        found.marker().is_some_and(|marker| marker.cluster == desired.cluster)
            && !current.iter().any(|machine| machine.domain.definition.uuid == found.uuid)
    };
    let mut steps = Vec::new();
    for found in inventory.domains.iter().filter(is_obsolete) {
        let bootstrap = desired.machines.iter().any(|machine| machine.domain.definition.uuid == found.uuid);
        let why = match bootstrap {
            true => "the control plane runs on the masters",
            false => "cluster.yaml no longer has this node",
        };
        steps.push(remove(ResourceKind::Machine, &found.name, why));
        let disk = format!("{}.qcow2", found.marker().map(|marker| marker.node).unwrap_or_default());
        if inventory.volumes.contains(&disk) {
            // The bootstrap machine has done its work: nobody needs its disk.
            steps.push(PlanStep { destroys: !bootstrap, ..remove(ResourceKind::Disk, &disk, why) });
        }
    }
    // An interrupted run may have left the disk of the bootstrap machine.
    let done =
        desired.machines.iter().filter(|one| !current.iter().any(|now| now.desired.node == one.desired.node));
    for disk in done.map(|machine| &machine.domain.disk.name) {
        if inventory.volumes.contains(disk) && !steps.iter().any(|step| step.name == *disk) {
            steps.push(remove(ResourceKind::Disk, disk, "its machine is gone"));
        }
    }
    steps
}

/// Everything that one machine has on the host.
pub(super) fn removal_of(machine: &DefinedMachine, inventory: &Inventory) -> Vec<PlanStep> {
    let why = "its node leaves the cluster";
    let (found, domain) = (inventory.domain(machine), &machine.domain);
    let mut steps: Vec<PlanStep> =
        found.iter().map(|found| remove(ResourceKind::Machine, &found.name, why)).collect();
    for (kind, volume) in
        [(ResourceKind::Disk, &domain.disk.name), (ResourceKind::Medium, &domain.medium.name)]
    {
        if inventory.volumes.contains(volume) {
            steps.push(PlanStep { destroys: kind == ResourceKind::Disk, ..remove(kind, volume, why) });
        }
    }
    steps
}

/// Images and boot media that we uploaded for something else.
pub(super) fn media(
    desired: &Definitions,
    current: &[&DefinedMachine],
    inventory: &Inventory,
) -> Vec<PlanStep> {
    let media = current.iter().map(|machine| &machine.domain.medium).chain(&desired.infrastructure.base);
    let needed: Vec<&str> = media.map(|volume| volume.name.as_str()).collect();
    let old = inventory.volumes.iter().filter(|name| !needed.contains(&name.as_str()));
    old.filter_map(|name| Some(remove(uploaded(name)?, name, "no machine boots from it any more"))).collect()
}

/// What we uploaded a volume for, by its name: others may keep theirs in the same pool.
pub(super) fn uploaded(name: &str) -> Option<ResourceKind> {
    let (stem, extension) = name.rsplit_once('.')?;
    let of = |text: &str, known: fn(&u8) -> bool| text.len() == 16 && text.bytes().all(|b| known(&b));
    let base32 = |text: &str| of(text, |b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(b));
    let hex = |text: &str| of(text, |b| b.is_ascii_digit() || (b'a'..=b'f').contains(b));
    let ends_in_id =
        |stem: &str| stem.rsplit_once('-').is_some_and(|(node, id)| !node.is_empty() && base32(id));
    match extension {
        "ign" if ends_in_id(stem) => Some(ResourceKind::Medium),
        "iso" => {
            let (stem, image) = stem.rsplit_once('-')?;
            ((hex(image) || image == "none") && ends_in_id(stem)).then_some(ResourceKind::Medium)
        }
        "qcow2" => stem.strip_prefix("base-").filter(|id| hex(id)).map(|_| ResourceKind::Image),
        _ => None,
    }
}
