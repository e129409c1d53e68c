//! The realizer: everything that the verbs of `realize` work with, and the verbs themselves, each in a file of its own.

use std::net::IpAddr;
use std::time::Duration;

use super::desired::{Desired, DesiredMachine};
use super::gather::{GatherRequest, Gathered};
use super::provider::Connection;
use super::ssh::{SshRoute, SshSession};
use super::{
    Applied, ClusterAccess, Destroyed, Host, HostAccess, NodeLog, Phase, RealizePlan, RealizeStatus, Result,
    StateDir, apply, console, destroy, gather, logs, ssh, status,
};
use crate::base::event::Events;
use crate::base::process::{ProgramRunner, Sink};

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

    /// Takes the steps of these phases. With `yes`, disks may be lost.
    pub(crate) fn apply(&self, phases: &[Phase], yes: bool) -> Result<Applied> {
        apply::apply(self, phases, yes)
    }

    /// Removes everything that `apply` created.
    pub(crate) fn destroy(&self) -> Result<Destroyed> {
        destroy::destroy(self)
    }

    pub(crate) fn status(&self) -> Result<RealizeStatus> {
        status::status(self)
    }

    /// How ssh reaches a node.
    pub(crate) fn route(&self, machine: &DesiredMachine, address: IpAddr) -> Result<SshRoute> {
        ssh::route(self, machine, address)
    }

    /// Opens an ssh session on the user's terminal.
    pub(crate) fn session(&self, route: &SshRoute, command: &[String]) -> Result<SshSession> {
        ssh::session(self, route, command)
    }

    /// Streams a log of a node: its last lines or all of it, and with `follow` what comes after.
    pub(crate) fn log(
        &self,
        route: &SshRoute,
        log: &NodeLog,
        lines: Option<u64>,
        follow: bool,
        sink: Sink<'_>,
    ) -> Result<()> {
        logs::stream(self, route, log, lines, follow, sink)
    }

    /// Streams the console of a node: its last lines, or all of it. Returns its size; none if there is none yet.
    pub(crate) fn console(
        &self,
        machine: &DesiredMachine,
        lines: Option<u64>,
        sink: Sink<'_>,
    ) -> Result<Option<u64>> {
        console::stream(self, machine, lines, sink)
    }

    /// Streams what a node writes to its console from byte `from` on, until the user or the sink has seen enough.
    pub(crate) fn follow_console(&self, machine: &DesiredMachine, from: u64, sink: Sink<'_>) -> Result<()> {
        console::follow(self, machine, from, sink)
    }

    /// Collects everything that helps after a failed boot.
    pub(crate) fn gather(&self, request: GatherRequest<'_>) -> Result<Gathered> {
        gather::gather(self, request)
    }
}
