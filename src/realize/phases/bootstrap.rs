//! The bootstrap machine: until its API answers on the VIP.

use std::time::Duration;

use super::PhaseWait;
use crate::realize::wait::Poll;
use crate::realize::{ClusterAccess, Phase, Realizer, Result};

/// It boots or installs itself, pulls images, and starts a control plane.
const LIMIT: Duration = Duration::from_secs(40 * 60);

pub(super) fn wait(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<()> {
    let client = cluster.client(realizer.runner.cancel)?;
    let what = format!("the API at {}", cluster.api);
    let look = "tinderbox realize logs bootstrap";
    PhaseWait { phase: Phase::Bootstrap, what: &what, limit: LIMIT, look }
        .until(realizer, || client.ready().map(Poll::Ready))
}
