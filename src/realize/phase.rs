//! The way to a running cluster, in parts.

use serde::{Deserialize, Serialize};

use super::plan::{Action, Step, Thing};
use super::wanted::{Machine, Wanted};

/// A part of the way, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// The network, the pool, the firewall's openings, the load balancer.
    Host,
    /// What machines boot with, and their disks.
    Media,
    /// The bootstrap machine, until its API answers.
    Bootstrap,
    /// The masters, until they have joined.
    ControlPlane,
    /// The control plane moves to the masters, and the bootstrap machine goes.
    Pivot,
    /// The workers, until they are ready.
    Workers,
    /// Every operator is done.
    Convergence,
    /// A workload runs, and is reached.
    Verify,
}

impl Phase {
    /// All of them, in order.
    pub(crate) const ALL: [Self; 8] = [
        Self::Host,
        Self::Media,
        Self::Bootstrap,
        Self::ControlPlane,
        Self::Pivot,
        Self::Workers,
        Self::Convergence,
        Self::Verify,
    ];

    /// As people write it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Media => "media",
            Self::Bootstrap => "bootstrap",
            Self::ControlPlane => "control-plane",
            Self::Pivot => "pivot",
            Self::Workers => "workers",
            Self::Convergence => "convergence",
            Self::Verify => "verify",
        }
    }

    /// The one of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == name)
    }

    /// The phase that a step belongs to; what `pivot` removes is no longer wanted, and known by its role.
    pub(super) fn of(step: &Step, wanted: &Wanted) -> Self {
        let named = |name: fn(&Machine) -> &str| wanted.machines.iter().find(|one| name(one) == step.name);
        let machine = match step.thing {
            Thing::Machine => named(|one| &one.object.name),
            Thing::Disk => named(|one| &one.disk.name),
            Thing::Medium => named(|one| &one.medium.name),
            _ => None,
        };
        match step.thing {
            Thing::Network | Thing::Pool | Thing::Firewall | Thing::Balancer => Self::Host,
            _ if step.action == Action::Remove && machine.is_some_and(Machine::is_bootstrap) => Self::Pivot,
            Thing::Machine if step.action != Action::Remove => match machine {
                Some(machine) if machine.is_bootstrap() => Self::Bootstrap,
                Some(machine) if machine.is_master() => Self::ControlPlane,
                _ => Self::Workers,
            },
            _ => Self::Media,
        }
    }
}
