//! Until machines are nodes: the API answers, requests are approved, and nodes join.

use std::time::Duration;

use super::{Cluster, approver};
use crate::base::event::Event;
use crate::realize::api::{ApiError, Kind};
use crate::realize::approve::{Member, Report};
use crate::realize::wait::{Look, Wait, passing};
use crate::realize::wanted::Machine;
use crate::realize::{Hands, Phase, RealizeError};

const NODES: Kind = Kind::new("", "v1", "nodes");
/// For the bootstrap machine: it installs or boots, pulls images, and starts a control plane.
const API: Duration = Duration::from_secs(40 * 60);
/// For nodes to install or boot, and to join.
const JOIN: Duration = Duration::from_secs(40 * 60);

impl Hands<'_> {
    /// Until the API answers at its VIP.
    pub(super) fn answers(&self, cluster: &Cluster) -> Result<(), RealizeError> {
        let client = cluster.client(self.virsh.cancel)?;
        let what = format!("the API at {}", cluster.api);
        let look = "tinderbox realize logs bootstrap";
        let wait = Wait { phase: Phase::Bootstrap, what: &what, limit: API, look };
        self.wait(&wait, || passing(client.ready().map(Look::Done)))
    }

    /// Until every master has its certificates and is in the API.
    pub(super) fn masters_join(&self, cluster: &Cluster) -> Result<(), RealizeError> {
        let look = "tinderbox realize logs master-0";
        let wait = Wait { phase: Phase::ControlPlane, what: "the masters to join", limit: JOIN, look };
        self.members_come(cluster, &wait, true, Member::lacks)
    }

    /// Until every worker is ready.
    pub(super) fn workers_are_ready(&self, cluster: &Cluster) -> Result<(), RealizeError> {
        let look = "tinderbox realize status";
        let wait = Wait { phase: Phase::Workers, what: "the workers to be ready", limit: JOIN, look };
        self.members_come(cluster, &wait, false, unready)
    }

    /// Until masters, or workers, lack nothing.
    fn members_come(
        &self,
        cluster: &Cluster,
        wait: &Wait<'_>,
        masters: bool,
        lacks: fn(&Member) -> Option<String>,
    ) -> Result<(), RealizeError> {
        let client = cluster.client(self.virsh.cancel)?;
        let approver = approver(&client, cluster, self.events);
        let mut report = Report::default();
        self.wait(wait, || {
            passing(approver.pass(&mut report).map(|()| {
                let missing: Vec<String> = self.of(&report, masters).filter_map(lacks).collect();
                if missing.is_empty() { Look::Done(()) } else { Look::NotYet(missing.join("; ")) }
            }))
        })
    }

    /// Takes a node out of the cluster whose machine is made anew: while it is there, its first request is somebody else's
    /// replay. A cluster that cannot be reached keeps it, and whoever approves says so.
    pub(in crate::realize) fn forget(&self, machine: &Machine) -> Result<(), RealizeError> {
        let Some(cluster) = self.cluster else { return Ok(()) };
        let Some(made) = cluster.made.iter().find(|made| made.node == machine.node) else { return Ok(()) };
        match cluster.client(self.virsh.cancel)?.delete(NODES, None, &made.name) {
            Ok(_) => self.events.emit(Event::Notice {
                text: format!(
                    "the node `{}` was taken out of the cluster: its machine is made anew",
                    made.name
                ),
            }),
            Err(ApiError::NotFound { .. }) => {}
            Err(error) if error.passes() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The masters, or the workers, of a report.
    pub(super) fn of<'r>(&'r self, report: &'r Report, masters: bool) -> impl Iterator<Item = &'r Member> {
        let is_master = |node: &str| {
            self.wanted.machines.iter().any(|machine| machine.node == node && machine.is_master())
        };
        report.nodes.iter().filter(move |member| is_master(&member.node) == masters)
    }
}

/// Why a node is not ready.
pub(super) fn unready(member: &Member) -> Option<String> {
    let waiting = (!member.ready).then(|| format!("`{}`: in the API, and not ready", member.node));
    member.lacks().or(waiting)
}
