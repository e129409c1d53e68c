//! The plan: the difference between what the closure asks for and what the host has, as steps in the order they are taken.
//!
//! Pure: the same closure and the same host give the same plan.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::external::Boot;
use super::needs::Need;
use super::obstacles::{self, Obstacle};
use super::privileged::{self, Privileged};
use super::{Host, Realizer, live, needs};
use crate::openshift::workspace::PlannedDownload;

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct RealizePlan {
    pub uri: String,
    pub closure: String,
    /// Whether the control plane runs on the masters, without the bootstrap machine.
    pub pivoted: bool,
    /// All steps, including those that change nothing.
    pub steps: Vec<PlanStep>,
    /// What you have to boot, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub boots: Vec<Boot>,
    /// What your DNS and your load balancer must have before that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// Commands that need root.
    pub privileged: Vec<Privileged>,
    /// What `apply` downloads first, if it may.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub downloads: Vec<PlannedDownload>,
    /// What is worth knowing, and prevents nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
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
    /// You boot it.
    Boot,
}

impl StepAction {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Keep => "keep",
            Self::Remove => "remove",
            Self::Boot => "boot",
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
    pub(super) fn new(realizer: &Realizer<'_>, host: &Host<'_>) -> Self {
        let Realizer { desired, access, .. } = *realizer;
        let (inventory, pivoted) = (&host.inventory, is_pivoted(realizer, host));
        let mut steps = inventory.plan_shared();
        steps.extend(firewall(host));
        let balanced = access.local && desired.has_load_balancer();
        steps.extend(balanced.then(|| load_balancer(&desired.haproxy_config(pivoted), host)));
        steps.extend(inventory.plan_machines(pivoted));
        let running = host.load_balancer.as_ref();
        let privileged = privileged::to_apply(realizer, &steps, pivoted, running);
        let (uri, closure) = (realizer.provider.uri().to_owned(), desired.closure.display().to_string());
        let boots = inventory.boots(pivoted);
        let needs = if boots.is_empty() { Vec::new() } else { needs::of(realizer, pivoted) };
        let (downloads, notes, obstacles) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan =
            Self { uri, closure, pivoted, steps, boots, needs, privileged, downloads, notes, obstacles };
        plan.obstacles = obstacles::find(realizer, host, &plan);
        let live::Findings { obstacles, notes } = live::compare(realizer, host, &plan);
        plan.obstacles.extend(obstacles);
        plan.notes = notes;
        if !plan.boots.is_empty() {
            plan.notes.extend_from_slice(realizer.alternatives);
        }
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
fn firewall(host: &Host<'_>) -> Option<PlanStep> {
    let closed = host.closed.as_ref()?;
    let action = if closed.is_empty() { StepAction::Keep } else { StepAction::Create };
    let why = (!closed.is_empty())
        .then(|| format!("{} rules: nodes reach the load balancer and the outside", closed.len()));
    Some(PlanStep::new(action, ResourceKind::Firewall, "firewall.sh", why.into_iter().collect()))
}

/// The load balancer on this machine.
fn load_balancer(config: &Path, host: &Host<'_>) -> PlanStep {
    let (action, why) = match &host.load_balancer {
        None => (StepAction::Create, Some("it is not running")),
        Some(running) if running.uses(config) => (StepAction::Keep, None),
        Some(_) => (StepAction::Change, Some("it runs with another configuration")),
    };
    PlanStep::new(action, ResourceKind::LoadBalancer, "haproxy", why.map(str::to_owned).into_iter().collect())
}

/// Whether the masters run the control plane: it moved there once, and not all of them are reinstalled.
fn is_pivoted(realizer: &Realizer<'_>, host: &Host<'_>) -> bool {
    let mut masters = realizer.desired.machines.iter().filter(|machine| machine.is_master());
    host.inventory.is_pivot_recorded() && masters.any(|master| !host.inventory.boots_anew(master))
}
