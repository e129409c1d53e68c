//! Steps taken: phase by phase, each after another look at the host, so that a run goes on from wherever the last one ended.
//!
//! | phase | what it makes |
//! |---|---|
//! | host | the network with its DNS and the VIPs, the pool, the firewall's openings, the load balancer |
//! | media | what machines boot with, and their disks |
//! | bootstrap, control-plane, workers | machines, defined and started, until the cluster's API knows them |
//! | pivot | a load balancer without the bootstrap machine, and then a host without it |
//! | convergence, verify | nothing: the cluster is watched, and tried |
//!
//! | module | what it owns |
//! |---|---|
//! | `make` | one step, taken |
//! | `network` | the network, changed while machines are in it |
//!
//! Invariants: every step is one that can be repeated; a machine is stopped before its disk goes, and gets its new
//! description only after the disk is there, so that an interrupted change is seen as one.

mod make;
mod network;

use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;

use super::phase::Phase;
use super::plan::{Action, Plan, Step, Thing};
use super::state::Journal;
use super::wanted::Wanted;
use super::{Access, Check, Cluster, Host, Operator, RealizeError, State, Virsh};
use crate::base::event::{Event, Events};

/// Everything that steps are taken with.
#[derive(Clone, Copy)]
pub(crate) struct Hands<'a> {
    /// The way to libvirt.
    pub virsh: Virsh<'a>,
    /// What the closure asks for.
    pub wanted: &'a Wanted,
    /// What is kept beside the cluster's files.
    pub state: &'a State,
    /// What this process may do.
    pub access: Access,
    /// What to do if the node OS is not here.
    pub no_image: &'a str,
    /// Until when the closure could boot, if that is past.
    pub expired: Option<&'a str>,
    /// The way to the cluster; without it, nothing of it is waited for.
    pub cluster: Option<&'a Cluster>,
    /// The longest that a wait may take, if not the usual.
    pub limit: Option<Duration>,
    /// Who is told what happens.
    pub events: &'a dyn Events,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Applied {
    pub closure: String,
    pub phases: Vec<Phase>,
    /// The steps that were taken, without those that did nothing.
    pub steps: Vec<Step>,
    /// The cluster's operators, if they were waited for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<Operator>,
    /// The smoke test, if it was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

impl Hands<'_> {
    /// What would be done now.
    pub(crate) fn plan(&self) -> Result<Plan, RealizeError> {
        let host = Host::look(self.virsh, self.wanted, self.state, self.access)?;
        let plan = Plan::make(self, &host);
        if !plan.privileged.is_empty() {
            self.state.make()?; // the load balancer that root starts has its pid file there
        }
        Ok(plan)
    }

    /// Takes the steps of these phases. With `yes`, disks may be lost.
    pub(crate) fn apply(&self, phases: &[Phase], yes: bool) -> Result<Applied, RealizeError> {
        let _held = self.state.lock()?;
        let plan = self.plan()?;
        if !plan.obstacles.is_empty() {
            return Err(RealizeError::Obstacles { obstacles: plan.obstacles });
        }
        let mine = |step: &&Step| phases.contains(&Phase::of(step, self.wanted));
        let lost: Vec<String> = plan
            .steps
            .iter()
            .filter(mine)
            .filter(|step| step.destroys)
            .map(|step| step.name.clone())
            .collect();
        if !lost.is_empty() && !yes {
            return Err(RealizeError::Confirm { disks: lost });
        }
        let closure = self.wanted.closure.display().to_string();
        let mut journal = self.state.journal()?.filter(|last| last.closure == closure).unwrap_or_default();
        journal = Journal { closure: closure.clone(), uri: self.virsh.uri.to_owned(), ..journal };
        let mut applied = Applied { closure, phases: phases.to_vec(), ..Applied::default() };
        for phase in phases {
            journal.begun = Some(*phase);
            journal.finished.retain(|finished| finished < phase);
            self.state.write(&journal)?;
            applied.steps.extend(self.phase(*phase)?);
            if let Some(cluster) = self.cluster {
                let arrived = self.arrive(*phase, cluster)?;
                applied.operators.extend(arrived.operators);
                applied.checks.extend(arrived.checks);
            }
            journal.finished.push(*phase);
            self.state.write(&journal)?;
        }
        Ok(applied)
    }

    /// One phase, after another look: the one before may have changed what there is to do.
    fn phase(&self, phase: Phase) -> Result<Vec<Step>, RealizeError> {
        if let (Phase::Pivot, Some(cluster)) = (phase, self.cluster) {
            return self.pivot(cluster);
        }
        let plan = self.plan()?;
        let steps: Vec<Step> = plan
            .steps
            .into_iter()
            .filter(|step| step.action != Action::Keep && Phase::of(step, self.wanted) == phase)
            .collect();
        // Nodes do not need each other; what they share comes first, what is removed last.
        let (together, one_by_one): (Vec<&Step>, Vec<&Step>) = steps
            .iter()
            .partition(|step| step.action.makes() && matches!(step.thing, Thing::Medium | Thing::Machine));
        let last = |step: &&Step| step.action == Action::Remove && step.thing != Thing::Mark;
        let (removed, first): (Vec<&Step>, Vec<&Step>) = one_by_one.into_iter().partition(last);
        first.into_iter().try_for_each(|step| self.take(phase, step))?;
        together.into_par_iter().try_for_each(|step| self.take(phase, step))?;
        removed.into_iter().try_for_each(|step| self.take(phase, step))?;
        Ok(steps)
    }

    pub(super) fn take(&self, phase: Phase, step: &Step) -> Result<(), RealizeError> {
        let began = Instant::now();
        match step.action {
            Action::Remove => self.remove(step)?,
            _ => self.make(step)?,
        }
        self.events.emit(Event::Step {
            phase: phase.as_str(),
            action: step.action.as_str(),
            thing: step.thing.as_str(),
            name: step.name.clone(),
            milliseconds: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        Ok(())
    }
}
