//! The machine with the first control plane: until its API answers.

use std::time::Duration;

use super::PhaseWait;
use crate::realize::wait::Poll;
use crate::realize::{ClusterAccess, Phase, Realizer, Result};

/// It boots or installs itself, pulls images, and starts a control plane. A node of the cluster also reboots into its final
/// operating system before.
const LIMIT: Duration = Duration::from_secs(40 * 60);

pub(super) fn wait(
    realizer: &Realizer<'_>,
    cluster: &ClusterAccess,
    (phase, node): (Phase, &str),
) -> Result<()> {
    let client = cluster.client(realizer.runner.cancel)?;
    let what = format!("the API at {}", cluster.api);
    let look = format!("tinderbox realize logs {node}");
    PhaseWait { phase, what: &what, limit: LIMIT, look: &look }
        .until(realizer, || client.ready().map(Poll::Ready))
}
