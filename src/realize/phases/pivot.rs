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

use super::{PhaseWait, take_over};
use crate::base::event::Event;
use crate::realize::plan::{PlanStep, ResourceKind, StepAction};
use crate::realize::wait::Poll;
use crate::realize::{ClusterAccess, Phase, Realizer, Result, apply};

/// The masters' API servers take over from the bootstrap node's.
const TAKE_OVER: Duration = Duration::from_secs(10 * 60);
/// This many answers in a row, each on its own connection: the load balancer picks another server for each.
const ANSWERS: usize = 6;

pub(super) fn run(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<Vec<PlanStep>> {
    let take = |step: &PlanStep| apply::take(realizer, Phase::Pivot, step);
    let mut done = Vec::new();
    if !realizer.plan()?.pivoted {
        take_over::wait(realizer, cluster, (Phase::Pivot, "bootstrap"))?;
        let record = realizer.provider.record_pivot();
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
    tell_about_load_balancer(realizer);
    wait_until_api_answers(realizer, cluster)?;
    let is_ours = |step: &PlanStep| Phase::of(step, realizer) == Phase::Pivot;
    let removed: Vec<PlanStep> = rest.into_iter().filter(is_ours).collect();
    removed.iter().try_for_each(take)?;
    done.extend(load_balancer.into_iter().chain(removed));
    Ok(done)
}

/// A load balancer of the user's own: nobody else can take the bootstrap machine out of it.
fn tell_about_load_balancer(realizer: &Realizer<'_>) {
    let Realizer { desired, access, .. } = *realizer;
    if !access.hosted && desired.has_load_balancer() {
        let config = desired.haproxy_config(true);
        let text = format!(
            "take the bootstrap machine out of your load balancer now, ports 6443 and 22623: {} is HAProxy's configuration without it",
            config.display()
        );
        realizer.events.emit(Event::Notice { text });
    }
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
