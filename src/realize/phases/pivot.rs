//! The pivot: the control plane moves to the masters, and the bootstrap machine is removed.
//!
//! The order makes it safe to interrupt anywhere:
//!
//! 1. wait for everything that the bootstrap node itself waits for, and for its own word
//! 2. record the pivot: from then on, plans have no bootstrap machine
//! 3. reload the load balancer without it
//! 4. wait until the API answers without it
//! 5. remove it

use std::time::Duration;

use super::{PhaseWait, join};
use crate::realize::api::{ApiError, Client};
use crate::realize::approve::ApprovalReport;
use crate::realize::cluster::{API_SERVERS, CONFIG_MAPS, ETCDS, conditions, get_or_null};
use crate::realize::plan::{PlanStep, ResourceKind, StepAction};
use crate::realize::wait::Poll;
use crate::realize::{ClusterAccess, Phase, Realizer, Result, apply, provider};

/// Operators bring networking, etcd and API servers to the masters, one after the other.
const MOVE: Duration = Duration::from_secs(60 * 60);
/// The masters' API servers take over from the bootstrap node's.
const TAKE_OVER: Duration = Duration::from_secs(10 * 60);
/// This many answers in a row, each on its own connection: the load balancer picks another server for each.
const ANSWERS: usize = 6;

pub(super) fn run(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<Vec<PlanStep>> {
    let take = |step: &PlanStep| apply::take(realizer, Phase::Pivot, step);
    let mut done = Vec::new();
    if !realizer.plan()?.pivoted {
        wait_until_moved(realizer, cluster)?;
        let record = provider::record_pivot();
        take(&record)?;
        done.push(record);
    }
    let (load_balancer, rest): (Vec<PlanStep>, Vec<PlanStep>) = realizer
        .plan()?
        .steps
        .into_iter()
        .filter(|step| step.action != StepAction::Keep)
        .partition(|step| step.resource == ResourceKind::LoadBalancer);
    load_balancer.iter().try_for_each(take)?;
    wait_until_api_answers(realizer, cluster)?;
    let is_ours = |step: &PlanStep| Phase::of(step, realizer.desired) == Phase::Pivot;
    let removed: Vec<PlanStep> = rest.into_iter().filter(is_ours).collect();
    removed.iter().try_for_each(take)?;
    done.extend(load_balancer.into_iter().chain(removed));
    Ok(done)
}

/// Until the masters run the whole control plane, and the bootstrap node says so.
fn wait_until_moved(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<()> {
    let client = cluster.client(realizer.runner.cancel)?;
    let approver = cluster.approver(&client, realizer.events);
    let mut report = ApprovalReport::default();
    let look = "tinderbox realize logs bootstrap bootkube";
    let what = "the control plane to move to the masters";
    PhaseWait { phase: Phase::Pivot, what, limit: MOVE, look }.until(realizer, || {
        approver.pass(&mut report)?;
        poll_moved(realizer, &client, &report)
    })
}

/// The first thing that is still missing.
fn poll_moved(
    realizer: &Realizer<'_>,
    client: &Client<'_>,
    report: &ApprovalReport,
) -> Result<Poll<()>, ApiError> {
    let masters = || join::members(realizer.desired, report, true);
    let unready: Vec<String> = masters().filter_map(join::unready).collect();
    if !unready.is_empty() {
        return Ok(Poll::Pending(unready.join("; ")));
    }
    if let Err(seen) = conditions::etcd_runs(&get_or_null(client, ETCDS, None, "cluster")?) {
        return Ok(Poll::Pending(seen));
    }
    let servers = conditions::api_servers(&get_or_null(client, API_SERVERS, None, "cluster")?);
    let enough = masters().count().min(2);
    if servers < enough {
        return Ok(Poll::Pending(format!("API servers run on {servers} of at least {enough} masters")));
    }
    let bootstrap = get_or_null(client, CONFIG_MAPS, Some("kube-system"), "bootstrap")?;
    Ok(match conditions::is_bootstrap_complete(&bootstrap) {
        true => Poll::Ready(()),
        false => Poll::Pending("the bootstrap node has not reported that it is done".to_owned()),
    })
}

/// Until the API answers without the bootstrap machine, several times in a row.
fn wait_until_api_answers(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<()> {
    let what = format!("the API at {}, without the bootstrap machine", cluster.api);
    let look = "tinderbox realize status";
    PhaseWait { phase: Phase::Pivot, what: &what, limit: TAKE_OVER, look }.until(realizer, || {
        let answer = |_| cluster.client(realizer.runner.cancel)?.ready();
        (0..ANSWERS).try_for_each(answer).map(Poll::Ready)
    })
}
