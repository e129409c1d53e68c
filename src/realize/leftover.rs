//! What is ours on the host and not wanted any more, as steps that remove it. Pure, like the plan that they are part of.

use super::Host;
use super::host::Found;
use super::plan::{Action, Step, Thing};
use super::wanted::{Machine, Object, Wanted};

/// What is ours and had another name.
pub(super) fn renamed(thing: Thing, wanted: &Object, found: &[Found]) -> Option<Step> {
    let old = found.iter().find(|one| one.uuid == wanted.uuid && one.name != wanted.name)?;
    let why = format!("cluster.yaml calls it `{}` now", wanted.name);
    Some(Step::new(Action::Remove, thing, &old.name, vec![why]))
}

/// Machines of this cluster that are not needed any more.
pub(super) fn gone(wanted: &Wanted, current: &[&Machine], host: &Host) -> Vec<Step> {
    let ours = |found: &&Found| {
        found.mark().is_some_and(|mark| mark.cluster == wanted.cluster)
            && !current.iter().any(|machine| machine.object.uuid == found.uuid)
    };
    let mut steps = Vec::new();
    let disk_of = |node: &str| format!("{node}.qcow2");
    for found in host.machines.iter().filter(ours) {
        // The bootstrap machine has done its work: nothing on its disk is missed.
        let known = wanted.machines.iter().find(|machine| machine.object.uuid == found.uuid);
        let why = match known {
            Some(_) => "the control plane runs on the masters",
            None => "cluster.yaml has no such node any more",
        };
        let why = vec![why.to_owned()];
        steps.push(Step::new(Action::Remove, Thing::Machine, &found.name, why.clone()));
        let disk = disk_of(&found.mark().map(|mark| mark.node).unwrap_or_default());
        if host.volumes.contains(&disk) {
            steps.push(Step {
                destroys: known.is_none(),
                ..Step::new(Action::Remove, Thing::Disk, &disk, why)
            });
        }
    }
    // What an interrupted run has left of the bootstrap machine.
    let done = wanted.machines.iter().filter(|one| !current.iter().any(|now| now.node == one.node));
    for machine in done.filter(|one| host.volumes.contains(&one.disk.name)) {
        if !steps.iter().any(|step| step.name == machine.disk.name) {
            let why = vec!["its machine is gone".to_owned()];
            steps.push(Step::new(Action::Remove, Thing::Disk, &machine.disk.name, why));
        }
    }
    steps
}

/// Files in our pool that we brought for something else.
pub(super) fn stale(wanted: &Wanted, current: &[&Machine], host: &Host) -> Vec<Step> {
    let media = current.iter().map(|machine| &machine.medium).chain(&wanted.base);
    let wanted: Vec<&str> = media.map(|volume| volume.name.as_str()).collect();
    let old = host.volumes.iter().filter(|name| !wanted.contains(&name.as_str()));
    let why = || vec!["no machine boots from it any more".to_owned()];
    old.filter_map(|name| Some(Step::new(Action::Remove, brought(name)?, name, why()))).collect()
}

/// What a file in our pool was brought for, by its name: others may have put theirs there too.
pub(super) fn brought(name: &str) -> Option<Thing> {
    let (stem, kind) = name.rsplit_once('.')?;
    let of = |text: &str, known: fn(&u8) -> bool| text.len() == 16 && text.bytes().all(|b| known(&b));
    let base32 = |text: &str| of(text, |b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(b));
    let hex = |text: &str| of(text, |b| b.is_ascii_digit() || (b'a'..=b'f').contains(b));
    let ends_in_id =
        |stem: &str| stem.rsplit_once('-').is_some_and(|(node, id)| !node.is_empty() && base32(id));
    match kind {
        "ign" if ends_in_id(stem) => Some(Thing::Medium),
        "iso" => {
            let (stem, image) = stem.rsplit_once('-')?;
            ((hex(image) || image == "none") && ends_in_id(stem)).then_some(Thing::Medium)
        }
        "qcow2" => stem.strip_prefix("base-").filter(|id| hex(id)).map(|_| Thing::Image),
        _ => None,
    }
}
