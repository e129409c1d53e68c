//! The masters: until each has its certificates and is in the API.

use super::{PhaseWait, join};
use crate::realize::approve::Member;
use crate::realize::{ClusterAccess, Phase, Realizer, Result};

pub(super) fn wait(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<()> {
    let (what, look) = ("the masters to join", "tinderbox realize logs master-0");
    let wait = PhaseWait { phase: Phase::ControlPlane, what, limit: join::LIMIT, look };
    join::wait(realizer, cluster, &wait, true, Member::lacks)
}
