//! What a change does to the sites of a fleet. Sites with the same change are one group with one comparison.
//!
//! | module | responsibility |
//! |---|---|
//! | `own_values` | a text without what is a site's own |
//! | `key` | by what two changes are the same |
//! | `rollout` | which nodes reboot, how many at a time |
//! | `collect` | comparisons as they come, to groups and waves |
//!
//! **Waves** are the groups of fleet.yaml, in the order in which they stand there: a site is in the wave of the first of its groups,
//! and a site of no group in the last one. They are a proposal: nobody but the user carries them out.
//!
//! Invariant: memory is one comparison per group, of which only so many are kept with details, and a row per site.

mod collect;
mod key;
mod own_values;
mod rollout;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;

pub use collect::{Collector, Found};
pub use own_values::OwnValues;
pub(crate) use rollout::PoolRollout;
pub use rollout::{NodePool, rollout};

use super::diff::Diff;
use super::report::diff_schema;
use crate::openshift::knowledge::Effect;

const SHAPE: &str = "tinderbox-fleet-diff/1";

/// What a change does to the sites of a fleet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FleetDiff {
    /// `tinderbox-fleet-diff/1`.
    pub shape: &'static str,
    /// Title of the old side.
    pub old: String,
    /// Title of the new side.
    pub new: String,
    pub counts: SiteCounts,
    /// In order; those without a site that changes are left out.
    pub waves: Vec<Wave>,
    /// Those of most sites first.
    pub changes: Vec<SharedChange>,
    /// Every site, in the order of the files; those that left the fleet last.
    pub sites: Vec<SiteRow>,
    /// Equal errors of several sites once.
    pub errors: Vec<SharedError>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SiteCounts {
    pub sites: usize,
    pub changed: usize,
    pub same: usize,
    /// Sites that were never built.
    pub new: usize,
    /// Sites that are built, and no longer in the fleet.
    pub removed: usize,
    pub failed: usize,
    /// Nodes that reboot or have to be installed again.
    pub nodes: usize,
}

/// Sites of one group of fleet.yaml.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Wave {
    /// The group; empty for sites of none.
    pub name: String,
    /// Number of sites that change.
    pub sites: usize,
    /// Nodes of theirs that reboot or have to be installed again.
    pub nodes: usize,
    /// How many reboots some site waits for, one after another.
    pub rounds: usize,
}

/// A change that some sites have in common.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SharedChange {
    /// In the order of the files.
    pub sites: Vec<String>,
    /// The site that the comparison is of.
    pub example: String,
    /// Fields of which every site has a value of its own.
    pub own: Vec<String>,
    /// What happens to the running nodes of each site, the strongest effect first.
    pub rollout: Vec<PoolRollout>,
    /// Whether `diff` has all differences: only so many changes are kept with theirs.
    pub detailed: bool,
    /// As the document of `diff`, for the example.
    #[schemars(schema_with = "diff_schema")]
    pub diff: Diff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SiteOutcome {
    Changed,
    Same,
    /// It was never built: there is nothing to compare with.
    New,
    /// It was built, and is no longer in the fleet.
    Removed,
    Failed,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SiteRow {
    pub site: String,
    pub groups: Vec<String>,
    pub state: SiteOutcome,
    /// Index of its change.
    pub change: Option<usize>,
    /// Index of its wave, if it changes.
    pub wave: Option<usize>,
    /// The strongest effect on its running nodes, as in the document of `diff`.
    #[schemars(with = "Option<String>")]
    pub effect: Option<Effect>,
    /// Nodes that reboot or have to be installed again.
    pub nodes: usize,
    /// How many reboots it waits for, one after another.
    pub rounds: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SharedError {
    /// As it is at the first of the sites.
    pub error: String,
    pub hint: Option<String>,
    pub sites: Vec<String>,
}

impl FleetDiff {
    /// Whether nothing differs. A site that was never built differs from nothing.
    pub fn is_empty(&self) -> bool {
        self.counts.changed + self.counts.new + self.counts.removed == 0
    }
}
