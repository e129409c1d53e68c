//! Machines become nodes: certificate requests are approved until masters, or workers, have joined.

use std::time::Duration;

use super::PhaseWait;
use crate::base::event::Event;
use crate::base::hint::chain;
use crate::realize::api::{ApiError, Gvr};
use crate::realize::approve::{ApprovalReport, Member};
use crate::realize::desired::{Desired, DesiredMachine};
use crate::realize::wait::Poll;
use crate::realize::{ClusterAccess, Realizer, Result};

const NODES: Gvr = Gvr::new("", "v1", "nodes");
const REQUESTS: Gvr = Gvr::new("certificates.k8s.io", "v1", "certificatesigningrequests");
/// Nodes boot or install themselves, and ask for two certificates.
pub(super) const LIMIT: Duration = Duration::from_secs(40 * 60);

/// Waits until `lacks` has nothing to say about the masters, or about the workers.
pub(super) fn wait(
    realizer: &Realizer<'_>,
    cluster: &ClusterAccess,
    wait: &PhaseWait<'_>,
    masters: bool,
    lacks: fn(&Member) -> Option<String>,
) -> Result<()> {
    let client = cluster.client(realizer.runner.cancel)?;
    let approver = cluster.approver(&client, realizer.events);
    let mut report = ApprovalReport::default();
    wait.until(realizer, || {
        approver.pass(&mut report)?;
        let missing: Vec<String> = members(realizer.desired, &report, masters).filter_map(lacks).collect();
        Ok(if missing.is_empty() { Poll::Ready(()) } else { Poll::Pending(missing.join("; ")) })
    })
}

/// A load balancer that has just started knows nothing of a master that does not answer: the next attempt reaches another one.
const ATTEMPTS: usize = 4;

/// Deletes the node of a machine that is reinstalled or removed, and the requests that it made with its bootstrap credential: while the
/// cluster still has them, the first certificate request of the new machine looks like a replay, or like a second machine.
/// If the API cannot be reached they stay, and the approver says so.
pub(crate) fn forget_node(realizer: &Realizer<'_>, machine: &DesiredMachine, why: &str) -> Result<()> {
    let Some(cluster) = realizer.cluster else { return Ok(()) };
    let Some(node) = cluster.nodes.iter().find(|one| one.node == machine.node) else { return Ok(()) };
    let client = cluster.client(realizer.runner.cancel)?;
    let delete = |what: &str, gvr: Gvr, name: &str| match client.delete(gvr, None, name) {
        Ok(_) => {
            let text = format!("deleted the {what} `{name}`: {why}");
            realizer.events.emit(Event::Notice { text });
            Ok(())
        }
        Err(ApiError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    };
    let forget = || {
        delete("node", NODES, &node.name)?;
        let claims = cluster.approver(&client, realizer.events).claims(&client.requests()?);
        let mut its = claims.iter().filter(|claim| claim.node == node.node);
        its.try_for_each(|claim| delete("certificate request", REQUESTS, &claim.request))
    };
    let mut done = forget();
    for _ in 1..ATTEMPTS {
        if !done.as_ref().is_err_and(ApiError::is_transient) {
            break;
        }
        done = forget();
    }
    match done {
        Err(error) if error.is_transient() => {
            let text = format!("the node `{}` stays in the cluster for now: {}", node.name, chain(&error));
            realizer.events.emit(Event::Warning { text });
            Ok(())
        }
        done => Ok(done?),
    }
}

/// The masters, or the workers, of a report.
pub(super) fn members<'r>(
    desired: &'r Desired,
    report: &'r ApprovalReport,
    masters: bool,
) -> impl Iterator<Item = &'r Member> {
    let is_master =
        |node: &str| desired.machines.iter().any(|machine| machine.node == node && machine.is_master());
    report.nodes.iter().filter(move |member| is_master(&member.node) == masters)
}

/// Why a node is not ready.
pub(super) fn unready(member: &Member) -> Option<String> {
    let waiting = (!member.ready).then(|| format!("`{}`: in the API, but not ready", member.node));
    member.lacks().or(waiting)
}
