//! The plan: the difference between what the closure asks for and what the host has, as steps in the order they are taken.
//!
//! Pure: the same closure and the same host give the same plan.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::obstacles::{self, Obstacle};
use super::privileged::{self, Privileged};
use super::{Host, Realizer, provider};
use crate::openshift::workspace::PlannedDownload;

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct RealizePlan {
    pub uri: String,
    pub closure: String,
    /// Whether the control plane runs on the masters, without the bootstrap machine.
    pub pivoted: bool,
    /// All steps, including those that change nothing.
    pub steps: Vec<PlanStep>,
    /// Commands that need root.
    pub privileged: Vec<Privileged>,
    /// What `apply` downloads first, if it may.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub downloads: Vec<PlannedDownload>,
    /// While there is an obstacle, nothing is changed.
    pub obstacles: Vec<Obstacle>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct PlanStep {
    pub action: StepAction,
    pub resource: ResourceKind,
    pub name: String,
    /// Why, or what it is.
    pub why: Vec<String>,
    /// Whether data on a disk is lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub destroys: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StepAction {
    Create,
    /// It exists, and differs.
    Change,
    /// It exists as it should.
    Keep,
    /// It is ours, and no longer needed.
    Remove,
}

impl StepAction {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Keep => "keep",
            Self::Remove => "remove",
        }
    }

    /// Whether the host has something new afterwards.
    pub(crate) fn makes(self) -> bool {
        matches!(self, Self::Create | Self::Change)
    }
}

/// What a step creates, changes or removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ResourceKind {
    Network,
    Pool,
    /// The image that backs disks.
    Image,
    /// What a machine boots with: a live ISO, or an Ignition config.
    Medium,
    /// The rules of the host's firewall.
    Firewall,
    #[serde(rename = "balancer")]
    LoadBalancer,
    /// The record that the control plane has moved to the masters.
    #[serde(rename = "record")]
    PivotRecord,
    Disk,
    Machine,
}

impl ResourceKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Pool => "pool",
            Self::Image => "image",
            Self::Medium => "medium",
            Self::Firewall => "firewall",
            Self::LoadBalancer => "balancer",
            Self::PivotRecord => "record",
            Self::Disk => "disk",
            Self::Machine => "machine",
        }
    }
}

impl RealizePlan {
    pub(super) fn new(realizer: &Realizer<'_>, host: &Host) -> Self {
        let Realizer { desired, state, access, .. } = *realizer;
        let (inventory, pivoted) = (&host.inventory, is_pivoted(realizer, host));
        let mut steps = provider::plan_shared(desired, inventory).to_vec();
        steps.extend(firewall(host));
        let balanced = access.local && desired.has_load_balancer();
        steps.extend(balanced.then(|| load_balancer(&desired.haproxy_config(pivoted), host)));
        steps.extend(provider::plan_machines(desired, inventory, pivoted));
        let running = host.load_balancer.as_ref();
        let privileged = privileged::to_apply(desired, &steps, pivoted, running, state, access);
        let (uri, closure) = (realizer.provider.uri().to_owned(), desired.closure.display().to_string());
        let mut plan =
            Self { uri, closure, pivoted, steps, privileged, downloads: Vec::new(), obstacles: Vec::new() };
        plan.obstacles = obstacles::find(realizer, host, &plan);
        plan
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_done(&self) -> bool {
        self.steps.iter().all(|step| step.action == StepAction::Keep)
    }

    /// Whether an image, medium or disk of that name is created or replaced.
    pub(super) fn makes(&self, name: &str) -> bool {
        let is_file = |kind| matches!(kind, ResourceKind::Image | ResourceKind::Medium | ResourceKind::Disk);
        self.steps.iter().any(|step| is_file(step.resource) && step.name == name && step.action.makes())
    }
}

impl PlanStep {
    /// A step that loses no data.
    pub(super) fn new(action: StepAction, resource: ResourceKind, name: &str, why: Vec<String>) -> Self {
        Self { action, resource, name: name.to_owned(), why, destroys: false }
    }
}

/// The firewall's rules, if we may look at them.
fn firewall(host: &Host) -> Option<PlanStep> {
    let closed = host.closed.as_ref()?;
    let action = if closed.is_empty() { StepAction::Keep } else { StepAction::Create };
    let why = (!closed.is_empty())
        .then(|| format!("{} rules: nodes reach the load balancer and the outside", closed.len()));
    Some(PlanStep::new(action, ResourceKind::Firewall, "firewall.sh", why.into_iter().collect()))
}

/// The load balancer on this machine.
fn load_balancer(config: &Path, host: &Host) -> PlanStep {
    let (action, why) = match &host.load_balancer {
        None => (StepAction::Create, Some("it is not running")),
        Some(running) if running.uses(config) => (StepAction::Keep, None),
        Some(_) => (StepAction::Change, Some("it runs with another configuration")),
    };
    PlanStep::new(action, ResourceKind::LoadBalancer, "haproxy", why.map(str::to_owned).into_iter().collect())
}

/// Whether the masters run the control plane: it moved there once, and not all of them are reinstalled.
fn is_pivoted(realizer: &Realizer<'_>, host: &Host) -> bool {
    let mut masters = realizer.desired.machines.iter().filter(|machine| machine.is_master());
    host.inventory.is_pivot_recorded()
        && masters.any(|master| !provider::replaces_disk(master, &host.inventory))
}
