//! What prevents a plan, all of it at once, before anything is changed.

use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;

use super::approve::NodeIdentity;
use super::desired::DesiredMachine;
use super::{Host, RealizePlan, Realizer, ResourceKind};
use crate::base::time::rfc3339;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Obstacle {
    /// `foreign`, `kvm`, `emulator`, `firmware`, `image`, `address`, `space`, `expiry`, `program`, `port`, `quorum`, `authority` or `rendered`.
    pub kind: &'static str,
    pub message: String,
    pub hint: String,
}

impl Obstacle {
    /// Whether the image of the node OS is missing, or is none.
    pub(crate) fn is_image(&self) -> bool {
        self.kind == "image"
    }
}

pub(super) fn obstacle(kind: &'static str, message: String, hint: impl Into<String>) -> Obstacle {
    Obstacle { kind, message, hint: hint.into() }
}

pub(super) fn find(realizer: &Realizer<'_>, host: &Host<'_>, plan: &RealizePlan) -> Vec<Obstacle> {
    let mut all = host.inventory.obstacles(plan, realizer.no_image);
    all.extend(expiry(realizer, host, plan));
    all.extend(credentials(realizer, host, plan));
    all.extend(programs(realizer, plan));
    all.extend(ports(host));
    all.extend(quorum(realizer, host, plan));
    all
}

/// Certificates that expire before a boot can finish.
fn expiry(realizer: &Realizer<'_>, host: &Host<'_>, plan: &RealizePlan) -> Option<Obstacle> {
    let until = realizer.expired?;
    let boots = |machine: &DesiredMachine| host.inventory.boots_anew(machine);
    (realizer.desired.machines.iter().any(boots) && !plan.pivoted).then(|| {
        let message =
            format!("the first certificate expires before a boot can finish: this set boots until {until}");
        obstacle("expiry", message, "`tinderbox renew` issues new certificates with the same keys")
    })
}

/// Machines that join a running cluster with a credential that has ended. Before the pivot, [`expiry`] says so.
fn credentials(realizer: &Realizer<'_>, host: &Host<'_>, plan: &RealizePlan) -> Vec<Obstacle> {
    let Some(cluster) = realizer.cluster.filter(|_| plan.pivoted) else { return Vec::new() };
    let machines = realizer.desired.machines.iter();
    let booting = machines.filter(|machine| host.inventory.boots_anew(machine));
    ended(&cluster.nodes, booting.map(|machine| machine.node.as_str()), (cluster.now)())
}

/// Those of these nodes whose credential has ended.
fn ended<'a>(
    nodes: &[NodeIdentity],
    booting: impl Iterator<Item = &'a str>,
    now: OffsetDateTime,
) -> Vec<Obstacle> {
    let found = booting.filter_map(|name| nodes.iter().find(|node| node.node == name));
    let late = found.filter_map(|node| Some((&node.node, node.credential_ends.filter(|ends| *ends <= now)?)));
    late.map(|(node, ends)| {
        let message = format!("the credential that `{node}` joins with expired at {}", rfc3339(ends));
        let hint = format!("`tinderbox renew kubelet-bootstrap-{node}` issues a new one with the same key");
        obstacle("expiry", message, hint)
    })
    .collect()
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
fn ports(host: &Host<'_>) -> Option<Obstacle> {
    let taken: Vec<String> = host.taken.iter().map(ToString::to_string).collect();
    (!taken.is_empty()).then(|| {
        let message = format!("the load balancer cannot listen on {}: other programs do", taken.join(", "));
        obstacle("port", message, "`ss -ltnp` shows which: stop them, or give them other addresses")
    })
}

/// Masters that would be reinstalled while etcd cannot do without them.
fn quorum(realizer: &Realizer<'_>, host: &Host<'_>, plan: &RealizePlan) -> Option<Obstacle> {
    let masters = realizer.desired.machines.iter().filter(|one| one.is_master());
    let (lost, kept): (Vec<&DesiredMachine>, Vec<&DesiredMachine>) =
        masters.partition(|one| host.inventory.boots_anew(one));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_boots_late_needs_a_new_credential() {
        let at = |day: i64| OffsetDateTime::UNIX_EPOCH + time::Duration::days(day);
        let node = |node: &str, ends: Option<i64>| NodeIdentity {
            node: node.to_owned(),
            name: node.to_owned(),
            names: Vec::new(),
            ips: Vec::new(),
            bootstrapper: ends.map(|_| format!("system:bootstrapper:{node}")),
            credential_ends: ends.map(at),
        };
        let nodes = [node("bootstrap", None), node("worker-0", Some(14)), node("worker-1", Some(30))];
        let said = |day: i64| -> Vec<String> {
            let all = ended(&nodes, ["bootstrap", "worker-0", "worker-1"].into_iter(), at(day));
            all.into_iter().map(|one| format!("{}; {}", one.message, one.hint)).collect()
        };
        assert_eq!(said(13), [""; 0]);
        assert_eq!(
            said(15),
            ["the credential that `worker-0` joins with expired at 1970-01-15T00:00:00Z; \
              `tinderbox renew kubelet-bootstrap-worker-0` issues a new one with the same key"]
        );
        assert_eq!(said(30).len(), 2);
    }
}
