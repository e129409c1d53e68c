//! The realizer: everything that the verbs of `realize` work with. Each verb is a function of a file of its own that takes it.

use std::time::Duration;

use super::desired::Desired;
use super::plan::RealizePlan;
use super::{ClusterAccess, Connection, Host, HostAccess, Result, StateDir};
use crate::base::event::Events;
use crate::base::process::ProgramRunner;

#[derive(Clone, Copy)]
pub(crate) struct Realizer<'a> {
    /// What creates machines.
    pub provider: Connection<'a>,
    /// Runs programs of this machine.
    pub runner: ProgramRunner<'a>,
    pub desired: &'a Desired,
    pub state: &'a StateDir,
    pub access: HostAccess,
    /// What to do if the image of the node OS is not here.
    pub no_image: &'a str,
    /// Until when the closure could boot, if that is past.
    pub expired: Option<&'a str>,
    /// How to reach the cluster; without it, no phase waits for it.
    pub cluster: Option<&'a ClusterAccess>,
    /// The longest that any wait may take, in place of each wait's own limit.
    pub limit: Option<Duration>,
    pub events: &'a dyn Events,
}

impl Realizer<'_> {
    /// What `apply` would do now.
    pub(crate) fn plan(&self) -> Result<RealizePlan> {
        let plan = RealizePlan::new(self, &Host::read(self)?);
        if !plan.privileged.is_empty() {
            self.state.create()?; // a load balancer that root starts keeps its pid file there
        }
        Ok(plan)
    }
}
