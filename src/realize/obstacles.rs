//! What prevents a plan, all of it at once, before anything is changed.

use serde::Serialize;

use super::desired::DesiredMachine;
use super::{Host, RealizePlan, Realizer, ResourceKind, provider};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Obstacle {
    /// `foreign`, `kvm`, `image`, `address`, `space`, `expiry`, `program`, `port` or `quorum`.
    pub kind: &'static str,
    pub message: String,
    pub hint: String,
}

pub(super) fn obstacle(kind: &'static str, message: String, hint: impl Into<String>) -> Obstacle {
    Obstacle { kind, message, hint: hint.into() }
}

pub(super) fn find(realizer: &Realizer<'_>, host: &Host, plan: &RealizePlan) -> Vec<Obstacle> {
    let mut all = provider::obstacles(realizer.desired, &host.inventory, plan, realizer.no_image);
    all.extend(expiry(realizer, host, plan));
    all.extend(programs(realizer, plan));
    all.extend(ports(host));
    all.extend(quorum(realizer, host, plan));
    all
}

/// Certificates that expire before a boot can finish.
fn expiry(realizer: &Realizer<'_>, host: &Host, plan: &RealizePlan) -> Option<Obstacle> {
    let until = realizer.expired?;
    let boots = |machine: &DesiredMachine| provider::replaces_disk(machine, &host.inventory);
    (realizer.desired.machines.iter().any(boots) && !plan.pivoted).then(|| {
        let message =
            format!("the first certificate expires before a boot can finish: this set boots until {until}");
        obstacle("expiry", message, "`tinderbox renew` issues new certificates with the same keys")
    })
}

/// The load balancer's program, if we have to start it.
fn programs(realizer: &Realizer<'_>, plan: &RealizePlan) -> Option<Obstacle> {
    let starts =
        plan.steps.iter().any(|step| step.resource == ResourceKind::LoadBalancer && step.action.makes());
    let missing = starts && realizer.access.may_listen() && !realizer.runner.programs.has("haproxy");
    missing.then(|| {
        let hint = "install it (the package is `haproxy` on Debian and Fedora), or add its directory to PATH";
        obstacle("program", "`haproxy` is not in PATH".to_owned(), hint)
    })
}

/// Ports that the load balancer needs, and other programs use.
fn ports(host: &Host) -> Option<Obstacle> {
    let taken: Vec<String> = host.taken.iter().map(ToString::to_string).collect();
    (!taken.is_empty()).then(|| {
        let message = format!("the load balancer cannot listen on {}: other programs do", taken.join(", "));
        obstacle("port", message, "`ss -ltnp` shows which: stop them, or give them other addresses")
    })
}

/// Masters that would be reinstalled while etcd cannot do without them.
fn quorum(realizer: &Realizer<'_>, host: &Host, plan: &RealizePlan) -> Option<Obstacle> {
    let masters = realizer.desired.machines.iter().filter(|one| one.is_master());
    let (lost, kept): (Vec<&DesiredMachine>, Vec<&DesiredMachine>) =
        masters.partition(|one| provider::replaces_disk(one, &host.inventory));
    let masters = lost.len() + kept.len();
    (plan.pivoted && kept.len() <= masters / 2).then(|| {
        let names: Vec<&str> = lost.iter().map(|machine| machine.node.as_str()).collect();
        let (count, names) = (lost.len(), names.join("`, `"));
        let message =
            format!("etcd would lose its quorum: {count} of {masters} masters are reinstalled: `{names}`");
        let hint = "change fewer masters at once; or give the cluster up with `tinderbox realize destroy`, and start over";
        obstacle("quorum", message, hint)
    })
}
