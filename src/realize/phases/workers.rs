//! The workers: until each is ready.

use super::{PhaseWait, join};
use crate::realize::{ClusterAccess, Phase, RealizeError, Realizer};

pub(super) fn wait(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<(), RealizeError> {
    let (what, look) = ("the workers to be ready", "tinderbox realize status");
    let wait = PhaseWait { phase: Phase::Workers, what, limit: join::LIMIT, look };
    join::wait(realizer, cluster, &wait, false, join::unready)
}
