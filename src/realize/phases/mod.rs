//! The phases: what each waits for once its steps are taken. One file per phase that waits.
//!
//! | phase | its steps create | then it waits until |
//! |---|---|---|
//! | `host` | the network with its DNS and VIPs, the pool, firewall rules, the load balancer; for machines of the user's own: nothing, and what surrounds them is asked | – |
//! | media | boot media and disks | – |
//! | `bootstrap` | the bootstrap machine | the API answers |
//! | `control_plane` | the masters | they have joined |
//! | `pivot` | a load balancer without the bootstrap machine, and then a host without it | the masters run the control plane |
//! | `workers` | the workers | they are ready |
//! | `convergence` | – | every operator is done |
//! | `verify` | – | the smoke test passes |
//!
//! Where the only node bootstraps itself, there is neither `bootstrap` nor `pivot`: `control_plane` waits for the API first, and for
//! operators to take over at the end.
//!
//! `take_over` has what pivot and such a node share. `join` has what control plane and workers share: requests are approved until nodes have joined.
//!
//! Invariant: the cluster is only read, with three exceptions: certificate requests of our own nodes are approved, the node and
//! the requests of a machine that is reinstalled or removed are deleted, and the smoke test removes the namespace that it creates.

mod bootstrap;
mod control_plane;
mod convergence;
mod host;
mod join;
mod pivot;
mod take_over;
mod verify;
mod workers;

use std::time::Duration;

pub(super) use join::forget_node;
pub(crate) use verify::SmokeCheck;

use super::api::ApiError;
use super::error::minutes;
use super::wait::{Poll, Wait, WaitError};
use super::{Applied, Phase, RealizeError, Realizer, Result, apply};
use crate::base::event::Event;
use crate::base::process::ProcessError;

/// The poll interval of every phase.
const POLL: Duration = Duration::from_secs(2);

/// Takes the steps of a phase, and waits for what it is for.
pub(super) fn run(realizer: &Realizer<'_>, phase: Phase, applied: &mut Applied) -> Result<()> {
    if phase == Phase::Host {
        host::prepare(realizer)?;
    }
    applied.steps.extend(match (phase, realizer.cluster) {
        (Phase::Pivot, Some(cluster)) => pivot::run(realizer, cluster)?,
        _ => apply::take_all(realizer, phase)?,
    });
    let Some(cluster) = realizer.cluster else { return Ok(()) };
    match phase {
        Phase::Host | Phase::Media | Phase::Pivot => {}
        Phase::Bootstrap => bootstrap::wait(realizer, cluster, (phase, "bootstrap"))?,
        Phase::ControlPlane => control_plane::wait(realizer, cluster)?,
        Phase::Workers => workers::wait(realizer, cluster)?,
        Phase::Convergence => applied.operators = convergence::wait(realizer, cluster)?,
        Phase::Verify => applied.checks = verify::run(realizer, cluster)?,
    }
    Ok(())
}

/// What a phase waits for.
struct PhaseWait<'a> {
    phase: Phase,
    /// As in "waiting for …".
    what: &'a str,
    /// How long at most, unless the user says otherwise.
    limit: Duration,
    /// A command that shows more.
    look: &'a str,
}

impl PhaseWait<'_> {
    /// Polls the cluster until it is ready. An API that is not up yet, or is moving, counts as pending.
    fn until<T>(
        &self,
        realizer: &Realizer<'_>,
        mut poll: impl FnMut() -> Result<Poll<T>, ApiError>,
    ) -> Result<T> {
        let limit = realizer.limit.unwrap_or(self.limit);
        let wait = Wait { limit, interval: POLL, cancel: realizer.runner.cancel };
        let poll = || match poll() {
            Err(error) if error.is_transient() => Ok(Poll::Pending(error.to_string())),
            polled => polled,
        };
        let report = |seen: &str, elapsed: Duration| {
            let (phase, elapsed) = (self.phase.as_str(), minutes(elapsed));
            let what = format!("{} ({phase}; {elapsed} of at most {})", self.what, minutes(limit));
            realizer.events.emit(Event::Awaiting { what, seen: seen.to_owned() });
        };
        wait.until(poll, report).map_err(|error| match error {
            WaitError::Failed(error) => error.into(),
            WaitError::Cancelled => ProcessError::Stopped.into(),
            WaitError::TimedOut { seen } => {
                let (what, look) = (self.what.to_owned(), self.look.to_owned());
                RealizeError::TimedOut { what, limit, seen, look }
            }
        })
    }
}
