//! The masters: until each has its certificates and is in the API. The only node of a cluster without a bootstrap machine also has
//! to bring up that API first, and to finish the bootstrap that others do in a phase of their own.

use super::{PhaseWait, bootstrap, join, take_over};
use crate::realize::approve::Member;
use crate::realize::{ClusterAccess, Phase, Realizer, Result};

pub(super) fn wait(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<()> {
    let in_place = realizer.desired.machines.first().filter(|_| realizer.desired.is_in_place());
    if let Some(node) = in_place {
        bootstrap::wait(realizer, cluster, (Phase::ControlPlane, &node.node))?;
    }
    let (what, look) = ("the masters to join", "tinderbox realize logs master-0");
    let wait = PhaseWait { phase: Phase::ControlPlane, what, limit: join::LIMIT, look };
    join::wait(realizer, cluster, &wait, true, Member::lacks)?;
    match in_place {
        Some(node) => take_over::wait(realizer, cluster, (Phase::ControlPlane, &node.node)),
        None => Ok(()),
    }
}
