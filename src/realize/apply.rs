//! `realize apply`: takes the steps of a plan phase by phase, each after a new look at the host, so that a run continues
//! from wherever the last one ended.
//!
//! Invariant: every step can be repeated, also after `kill -9` in the middle of it.

use std::time::Instant;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::desired::Desired;
use super::state::Journal;
use super::{
    Operator, Phase, PlanStep, RealizeError, Realizer, ResourceKind, Result, SmokeCheck, StepAction,
    firewall, load_balancer, phases,
};
use crate::base::event::Event;

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Applied {
    pub closure: String,
    pub phases: Vec<Phase>,
    /// The steps that were taken, without those that had nothing to do.
    pub steps: Vec<PlanStep>,
    /// The cluster's operators, if they were waited for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<Operator>,
    /// The smoke test, if it ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<SmokeCheck>,
}

/// Takes the steps of these phases. With `yes`, disks may be lost.
pub(crate) fn apply(realizer: &Realizer<'_>, phases: &[Phase], yes: bool) -> Result<Applied> {
    let Realizer { state, desired, .. } = *realizer;
    let phases = &applicable(phases, desired)?;
    let _held = state.lock()?;
    let plan = realizer.plan()?;
    if !plan.obstacles.is_empty() {
        return Err(RealizeError::Obstacles { obstacles: plan.obstacles });
    }
    let destroys = |step: &&PlanStep| step.destroys && phases.contains(&Phase::of(step, realizer));
    let disks: Vec<String> = plan.steps.iter().filter(destroys).map(|step| step.name.clone()).collect();
    if !disks.is_empty() && !yes {
        return Err(RealizeError::Confirm { disks });
    }
    let closure = desired.closure.display().to_string();
    let mut journal = state.journal()?.filter(|last| last.closure == closure).unwrap_or_default();
    journal = Journal { closure: closure.clone(), uri: realizer.provider.uri().to_owned(), ..journal };
    let mut applied = Applied { closure, phases: phases.to_vec(), ..Applied::default() };
    for phase in phases {
        journal.begun = Some(*phase);
        journal.finished.retain(|finished| finished < phase);
        state.write(&journal)?;
        phases::run(realizer, *phase, &mut applied)?;
        realizer.provider.remember()?;
        journal.finished.push(*phase);
        state.write(&journal)?;
    }
    Ok(applied)
}

/// The phases that this cluster has. To ask for another one alone is an error.
fn applicable(phases: &[Phase], desired: &Desired) -> Result<Vec<Phase>> {
    match phases {
        [only] if !only.applies(desired) => Err(RealizeError::NoSuchPhase { phase: *only }),
        all => Ok(all.iter().copied().filter(|phase| phase.applies(desired)).collect()),
    }
}

/// Takes the steps of one phase, after a new look: the phase before may have changed what there is to do.
pub(super) fn take_all(realizer: &Realizer<'_>, phase: Phase) -> Result<Vec<PlanStep>> {
    let steps: Vec<PlanStep> = realizer
        .plan()?
        .steps
        .into_iter()
        .filter(|step| step.action != StepAction::Keep && Phase::of(step, realizer) == phase)
        .collect();
    // What nodes share comes first, then the nodes in parallel; removals come last.
    let is_per_node = |step: &&PlanStep| {
        step.action.makes() && matches!(step.resource, ResourceKind::Medium | ResourceKind::Machine)
    };
    let is_removal =
        |step: &&PlanStep| step.action == StepAction::Remove && step.resource != ResourceKind::PivotRecord;
    let (nodes, rest): (Vec<&PlanStep>, Vec<&PlanStep>) = steps.iter().partition(is_per_node);
    let (removals, shared): (Vec<&PlanStep>, Vec<&PlanStep>) = rest.into_iter().partition(is_removal);
    shared.into_iter().try_for_each(|step| take(realizer, phase, step))?;
    nodes.into_par_iter().try_for_each(|step| take(realizer, phase, step))?;
    removals.into_iter().try_for_each(|step| take(realizer, phase, step))?;
    Ok(steps)
}

/// Takes one step.
pub(super) fn take(realizer: &Realizer<'_>, phase: Phase, step: &PlanStep) -> Result<()> {
    let started = Instant::now();
    match step.action {
        StepAction::Remove => realizer.provider.remove(step, realizer.limit)?,
        // Nothing was done yet: the provider says what you have to do.
        StepAction::Boot => return realizer.provider.create(step),
        _ => create(realizer, step)?,
    }
    realizer.events.emit(Event::Step {
        phase: phase.as_str(),
        action: step.action.as_str(),
        resource: step.resource.as_str(),
        name: step.name.clone(),
        milliseconds: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    Ok(())
}

fn create(realizer: &Realizer<'_>, step: &PlanStep) -> Result<()> {
    let Realizer { provider, runner, desired, access, .. } = *realizer;
    match step.resource {
        ResourceKind::Firewall => firewall::run(runner, desired, "open").map(drop),
        ResourceKind::LoadBalancer => load_balancer::start(realizer),
        ResourceKind::Network if access.session => {
            Err(RealizeError::needs_root("the network", realizer.plan()?))
        }
        ResourceKind::Disk if step.action == StepAction::Change => {
            if let Some(machine) = realizer.machine_of(step) {
                phases::forget_node(realizer, machine, "its machine is reinstalled")?;
            }
            provider.create(step)
        }
        _ => provider.create(step),
    }
}
