//! How a change reaches the running nodes of a site: pool by pool, so many at a time.
//!
//! The machine-config operator updates the pools of a cluster side by side, and of each pool at most `maxUnavailable` nodes at a
//! time: 1 unless a MachineConfigPool says otherwise; of a percentage the whole part counts, and at least 1. What has to be
//! installed again, nobody but the user does.

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::diff::NodeImpact;
use crate::openshift::knowledge::Effect;

/// A pool of a site's nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePool {
    pub name: String,
    pub nodes: Vec<String>,
    /// As a MachineConfigPool has it: a number, or a percentage.
    pub max_unavailable: Option<String>,
}

impl NodePool {
    fn at_a_time(&self) -> usize {
        let given = self.max_unavailable.as_deref().unwrap_or("1").trim();
        let number = match given.strip_suffix('%') {
            Some(percent) => percent.parse().map_or(1, |percent: usize| self.nodes.len() * percent / 100),
            None => given.parse().unwrap_or(1),
        };
        number.max(1)
    }
}

/// Nodes of one pool to which the same happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PoolRollout {
    pub pool: String,
    /// As in the document of `diff`.
    #[schemars(with = "String")]
    pub effect: Effect,
    pub nodes: Vec<String>,
    /// How many of them at a time.
    pub at_a_time: usize,
    /// How many times one after another.
    pub rounds: usize,
}

/// What happens to the running nodes of a site, the strongest effect first.
pub fn rollout(impacts: &[NodeImpact], pools: &[NodePool]) -> Vec<PoolRollout> {
    let mut found: Vec<PoolRollout> = Vec::new();
    for pool in pools {
        let affected = impacts.iter().filter(|impact| pool.nodes.contains(&impact.node));
        for (impact, effect) in affected.filter_map(|impact| Some((impact, impact.effect?))) {
            if effect == Effect::FirstBoot {
                continue;
            }
            match found.iter_mut().find(|one| one.pool == pool.name && one.effect == effect) {
                Some(one) => one.nodes.push(impact.node.clone()),
                None => found.push(PoolRollout {
                    pool: pool.name.clone(),
                    effect,
                    nodes: vec![impact.node.clone()],
                    at_a_time: pool.at_a_time(),
                    rounds: 0,
                }),
            }
        }
    }
    for one in &mut found {
        one.rounds = one.nodes.len().div_ceil(one.at_a_time);
    }
    found.sort_by(|one, other| (other.effect, &one.pool).cmp(&(one.effect, &other.pool)));
    found
}

/// The strongest effect on a site's running nodes.
pub(crate) fn effect(rollout: &[PoolRollout]) -> Option<Effect> {
    rollout.iter().map(|one| one.effect).max()
}

/// How many nodes reboot or are installed again.
pub(crate) fn disrupted(rollout: &[PoolRollout]) -> usize {
    rollout.iter().filter(|one| one.effect >= Effect::Reboot).map(|one| one.nodes.len()).sum()
}

/// How many reboots a site waits for, one after another: pools are updated side by side.
pub(crate) fn rounds(rollout: &[PoolRollout]) -> usize {
    rollout.iter().filter(|one| one.effect >= Effect::Reboot).map(|one| one.rounds).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{NodeImpact, NodePool, disrupted, effect, rollout, rounds};
    use crate::openshift::knowledge::Effect;

    fn pool(name: &str, nodes: usize, max: Option<&str>) -> NodePool {
        let nodes = (0..nodes).map(|n| format!("{name}-{n}")).collect();
        NodePool { name: name.to_owned(), nodes, max_unavailable: max.map(str::to_owned) }
    }

    fn impact(node: &str, effect: Option<Effect>) -> NodeImpact {
        NodeImpact {
            node: node.to_owned(),
            effect,
            because: vec!["/etc/motd".to_owned()],
            added: Vec::new(),
            removed: Vec::new(),
            changed: Vec::new(),
            units: Vec::new(),
        }
    }

    #[test]
    fn pools_are_updated_side_by_side_and_nodes_one_after_another() {
        let pools = [pool("master", 3, None), pool("worker", 7, Some("34%"))];
        let mut impacts: Vec<_> =
            (0..3).map(|n| impact(&format!("master-{n}"), Some(Effect::Reboot))).collect();
        impacts.extend((0..7).map(|n| impact(&format!("worker-{n}"), Some(Effect::Reboot))));
        impacts.push(impact("bootstrap", Some(Effect::FirstBoot)));
        let found = rollout(&impacts, &pools);
        let told: Vec<_> = found.iter().map(|one| (one.pool.as_str(), one.at_a_time, one.rounds)).collect();
        // 34 % of 7 are 2.38.
        assert_eq!(told, [("master", 1, 3), ("worker", 2, 4)]);
        assert_eq!((disrupted(&found), rounds(&found), effect(&found)), (10, 4, Some(Effect::Reboot)));
    }

    #[test]
    fn a_share_of_less_than_one_node_is_one() {
        for (max, at_a_time) in [("10%", 1), ("0", 1), ("3", 3), ("100%", 4), ("many", 1)] {
            assert_eq!(pool("worker", 4, Some(max)).at_a_time(), at_a_time, "{max}");
        }
    }

    #[test]
    fn nodes_that_only_write_files_wait_for_nothing() {
        let impacts = [impact("master-0", Some(Effect::Written)), impact("master-1", None)];
        let found = rollout(&impacts, &[pool("master", 2, None)]);
        assert_eq!(found.len(), 1);
        assert_eq!((disrupted(&found), rounds(&found), effect(&found)), (0, 0, Some(Effect::Written)));
    }
}
