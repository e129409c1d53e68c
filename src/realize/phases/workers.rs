//! The workers: until each is ready.

use super::{PhaseWait, join};
use crate::realize::{ClusterAccess, Phase, Realizer, Result};

pub(super) fn wait(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<()> {
    let (what, look) = ("the workers to be ready", "tinderbox realize status");
    let wait = PhaseWait { phase: Phase::Workers, what, limit: join::LIMIT, look };
    join::wait(realizer, cluster, &wait, false, join::unready)
}
