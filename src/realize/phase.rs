//! The phases on the way to a running cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Realizer;
use super::desired::{Desired, DesiredMachine};
use super::plan::{PlanStep, ResourceKind, StepAction};

/// A phase, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// The network, the pool, the firewall, the load balancer.
    Host,
    /// Boot media and disks.
    Media,
    /// The bootstrap machine, until its API answers.
    Bootstrap,
    /// The masters, until they have joined.
    ControlPlane,
    /// The control plane moves to the masters, and the bootstrap machine is removed.
    Pivot,
    /// The workers, until they are ready.
    Workers,
    /// Until every operator is available and has stopped progressing.
    Convergence,
    /// A workload runs, and is reachable.
    Verify,
}

impl Phase {
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

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == name)
    }

    /// Whether this cluster has the phase: one whose only node bootstraps itself has no bootstrap machine, and nothing moves.
    pub(crate) fn applies(self, desired: &Desired) -> bool {
        !matches!(self, Self::Bootstrap | Self::Pivot) || !desired.is_in_place()
    }

    /// The phase that a step belongs to. The pivot removes the bootstrap machine.
    pub(super) fn of(step: &PlanStep, realizer: &Realizer<'_>) -> Self {
        let machine = realizer.machine_of(step);
        match step.resource {
            ResourceKind::Network
            | ResourceKind::Pool
            | ResourceKind::Firewall
            | ResourceKind::LoadBalancer => Self::Host,
            _ if step.action == StepAction::Remove && machine.is_some_and(DesiredMachine::is_bootstrap) => {
                Self::Pivot
            }
            ResourceKind::Machine if step.action != StepAction::Remove => match machine {
                Some(machine) if machine.is_bootstrap() => Self::Bootstrap,
                Some(machine) if machine.is_master() => Self::ControlPlane,
                _ => Self::Workers,
            },
            _ => Self::Media,
        }
    }
}
