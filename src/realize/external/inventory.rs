//! What there is, as the cluster's API says; while it is silent, what earlier runs have kept. And the plan that follows from it.

use std::collections::BTreeMap;

use super::External;
use super::ledger::Ledger;
use super::machines::{Boot, Machine};
use crate::realize::api::ApiError;
use crate::realize::cluster::{CONFIG_MAPS, conditions, get_or_null};
use crate::realize::desired::DesiredMachine;
use crate::realize::live::stranger;
use crate::realize::obstacles::{Obstacle, obstacle};
use crate::realize::plan::{PlanStep, ResourceKind, StepAction};
use crate::realize::provider::{Inventory, MachineState};
use crate::realize::{RealizePlan, Result};

/// What was found.
pub(super) struct Found<'a> {
    of: &'a External<'a>,
    ledger: Ledger,
    /// What the API says; the error if it does not answer.
    cluster: Result<Seen, ApiError>,
    /// Whether the bootstrap machine answers, if that matters.
    bootstrap_on: bool,
}

/// What the API says.
struct Seen {
    /// Whether its kubelet is ready, by node.
    nodes: BTreeMap<String, bool>,
    /// Whether the bootstrap has been reported complete.
    complete: bool,
}

impl<'a> Found<'a> {
    pub(super) fn read(of: &'a External<'a>) -> Result<Self> {
        let ledger = Ledger::read(of.state)?;
        let cluster = match Seen::read(of) {
            Err(ApiError::Stopped) => return Err(ApiError::Stopped.into()),
            seen => seen,
        };
        let mut found = Self { of, ledger, cluster, bootstrap_on: false };
        let bootstrap = of.machines.all.iter().find(|machine| machine.is_bootstrap());
        if let Some(machine) =
            bootstrap.filter(|one| found.is_pivot_recorded() && !found.ledger.is_off(&one.node))
        {
            found.bootstrap_on = of.is_on(&machine.ips);
        }
        Ok(found)
    }

    /// Whether its node is in the API; what is known from before if the API is silent.
    pub(super) fn has_joined(&self, node: &str) -> bool {
        match &self.cluster {
            Ok(seen) => seen.nodes.contains_key(node),
            Err(_) => self.ledger.ignition_of(node).is_some(),
        }
    }

    /// Whether a machine has what it needs on its disk, as far as is known.
    fn runs(&self, machine: &Machine) -> bool {
        match machine.is_bootstrap() {
            true => self.cluster.is_ok() && !self.is_pivot_recorded(),
            false => self.has_joined(&machine.node),
        }
    }

    fn step(&self, machine: &Machine) -> PlanStep {
        let step = |action, why| PlanStep::new(action, ResourceKind::Machine, &machine.node, why);
        if !self.runs(machine) {
            return PlanStep { destroys: false, ..step(StepAction::Boot, machine.instructions()) };
        }
        let booted = self.ledger.ignition_of(&machine.node).filter(|booted| *booted != machine.ignition);
        let short = |id: &str| id.get(..16).unwrap_or(id).to_owned();
        let why = booted.map(|booted| {
            let (then, now) = (short(booted), short(&machine.ignition));
            format!(
                "it joined with the Ignition config {then}, and the closure has {now}: to replace it, `tinderbox realize remove {}` \
                 and boot it again",
                machine.node
            )
        });
        step(StepAction::Keep, why.into_iter().collect())
    }
}

impl Seen {
    fn read(of: &External<'_>) -> Result<Self, ApiError> {
        let client = of.cluster.client(of.runner.cancel)?;
        client.ready()?;
        let found = client.nodes()?;
        let known = of.cluster.nodes.iter();
        let nodes = known.filter_map(|node| {
            let found = found.iter().find(|found| found.name == node.name)?;
            Some((node.node.clone(), found.ready))
        });
        let bootstrap = get_or_null(&client, CONFIG_MAPS, Some("kube-system"), "bootstrap")?;
        Ok(Self { nodes: nodes.collect(), complete: conditions::is_bootstrap_complete(&bootstrap) })
    }
}

impl Inventory for Found<'_> {
    fn plan_shared(&self) -> Vec<PlanStep> {
        Vec::new()
    }

    fn plan_machines(&self, pivoted: bool) -> Vec<PlanStep> {
        let wanted = |machine: &&Machine| !(pivoted && machine.is_bootstrap());
        let mut steps: Vec<PlanStep> =
            self.of.machines.in_order().filter(wanted).map(|machine| self.step(machine)).collect();
        let done = self.of.machines.in_order().filter(|machine| pivoted && machine.is_bootstrap());
        for machine in done.filter(|_| self.bootstrap_on) {
            let why = vec!["the control plane runs on the masters: you switch it off".to_owned()];
            steps.push(PlanStep::new(StepAction::Remove, ResourceKind::Machine, &machine.node, why));
        }
        steps
    }

    fn removal_of(&self, machine: &DesiredMachine) -> Vec<PlanStep> {
        if self.ledger.is_off(&machine.node) && !self.has_joined(&machine.node) {
            return Vec::new();
        }
        let why = vec!["its node leaves the cluster: you switch it off".to_owned()];
        vec![PlanStep::new(StepAction::Remove, ResourceKind::Machine, &machine.node, why)]
    }

    fn boots_anew(&self, machine: &DesiredMachine) -> bool {
        let of_cluster = self.of.machines.get(&machine.node);
        of_cluster.is_some_and(|machine| {
            !(self.runs(machine) || machine.is_bootstrap() && self.is_pivot_recorded())
        })
    }

    fn obstacles(&self, plan: &RealizePlan, no_image: &str) -> Vec<Obstacle> {
        let boots = |machine: &&Machine| {
            plan.steps.iter().any(|step| step.action == StepAction::Boot && step.name == machine.node)
        };
        let without = self.of.machines.in_order().filter(boots).find(|machine| !machine.has_medium());
        let medium = without.map(|machine| {
            let message = format!(
                "`{}` has nothing to boot from: the image of the node OS is not on this machine",
                machine.node
            );
            obstacle("image", message, no_image)
        });
        let refused = match &self.cluster {
            Err(error) if !error.is_transient() => Some(stranger(error)),
            _ => None,
        };
        refused.into_iter().chain(medium).collect()
    }

    fn boots(&self, pivoted: bool) -> Vec<Boot> {
        let wanted = |machine: &&Machine| !(self.runs(machine) || pivoted && machine.is_bootstrap());
        self.of.machines.in_order().filter(wanted).map(Machine::boot).collect()
    }

    fn is_pivot_recorded(&self) -> bool {
        self.ledger.pivoted || matches!(&self.cluster, Ok(seen) if seen.complete)
    }

    fn is_network_active(&self) -> Option<bool> {
        None
    }

    fn is_running(&self, machine: &DesiredMachine) -> bool {
        self.of.machines.get(&machine.node).is_some_and(|machine| self.runs(machine))
    }

    fn state_of(&self, machine: &DesiredMachine) -> Result<MachineState> {
        let of_cluster = self.of.machines.get(&machine.node);
        let runs = of_cluster.is_some_and(|machine| self.runs(machine));
        let state = match (&self.cluster, runs) {
            (_, true) if machine.is_bootstrap() => "running",
            (Ok(seen), true) => {
                if seen.nodes.get(&machine.node) == Some(&true) {
                    "running"
                } else {
                    "joined"
                }
            }
            (Err(_), true) => "unknown",
            (_, false) if machine.is_bootstrap() && self.is_pivot_recorded() => {
                if self.bootstrap_on {
                    "not needed"
                } else {
                    "removed"
                }
            }
            (_, false) => "missing",
        };
        Ok(MachineState {
            name: of_cluster.map(Machine::named).unwrap_or_default(),
            state: state.to_owned(),
            addresses: Vec::new(),
            created_with: self.ledger.ignition_of(&machine.node).map(str::to_owned),
        })
    }

    fn has_console(&self, _: &DesiredMachine) -> bool {
        false
    }
}
