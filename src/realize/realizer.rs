//! The realizer: everything that the verbs of `realize` work with. Each verb is a function of a file of its own that takes it.

use std::time::Duration;

use super::desired::{Desired, DesiredMachine};
use super::plan::{PlanStep, RealizePlan};
use super::preflight::Questions;
use super::provider::Provider;
use super::{ClusterAccess, Host, HostAccess, Result, StateDir};
use crate::base::event::Events;
use crate::base::process::ProgramRunner;

#[derive(Clone, Copy)]
pub(crate) struct Realizer<'a> {
    /// What creates machines.
    pub provider: &'a dyn Provider,
    /// Runs programs of this machine.
    pub runner: ProgramRunner<'a>,
    pub desired: &'a Desired,
    pub state: &'a StateDir,
    pub access: HostAccess,
    /// What to do if the image of the node OS is not here.
    pub no_image: &'a str,
    /// How else machines of the user's own could boot.
    pub alternatives: &'a [String],
    /// Until when the closure could boot, if that is past.
    pub expired: Option<&'a str>,
    /// The version of the release, if the lock pins one.
    pub version: Option<&'a str>,
    /// How to reach the cluster; without it, no phase waits for it.
    pub cluster: Option<&'a ClusterAccess>,
    /// What is asked before machines of the user's own boot; none if the user has asked already.
    pub questions: Option<&'a Questions<'a>>,
    /// The longest that any wait may take, in place of each wait's own limit.
    pub limit: Option<Duration>,
    pub events: &'a dyn Events,
}

impl Realizer<'_> {
    /// The machine that a step is about, if it is about one.
    pub(super) fn machine_of(&self, step: &PlanStep) -> Option<&DesiredMachine> {
        self.desired.machine(self.provider.node_of(step)?)
    }

    /// What `apply` would do now.
    pub(crate) fn plan(&self) -> Result<RealizePlan> {
        let plan = RealizePlan::new(self, &Host::read(self)?);
        if !plan.privileged.is_empty() {
            self.state.create()?; // a load balancer that root starts keeps its pid file there
        }
        Ok(plan)
    }
}
