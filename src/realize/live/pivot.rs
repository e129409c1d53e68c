//! The control plane moves to the masters, and the bootstrap machine goes.
//!
//! In this order, so that it can be interrupted anywhere: everything that the bootstrap node waits for is seen, and its own
//! word; then the mark that it happened, from which on a plan has no bootstrap machine; then the load balancer leaves it out;
//! then the API must answer without it; and only then it is removed.

use std::time::Duration;

use super::{API_SERVERS, CONFIG_MAPS, Cluster, ETCDS, approver, facts, nodes, there};
use crate::realize::api::{ApiError, Client};
use crate::realize::approve::Report;
use crate::realize::host::PIVOTED;
use crate::realize::plan::{Action, Step, Thing};
use crate::realize::wait::{Look, Wait, passing};
use crate::realize::{Hands, Phase, RealizeError};

/// For networking, etcd and API servers on the masters: operators do it one after the other.
const MOVE: Duration = Duration::from_secs(60 * 60);
/// For API servers on masters to answer, after the bootstrap node's has gone.
const PROVE: Duration = Duration::from_secs(10 * 60);
/// So many answers in a row, each on a connection of its own: the load balancer takes another server for each.
const ANSWERS: usize = 6;

impl Hands<'_> {
    /// Waits for the pivot, and does our part of it.
    pub(in crate::realize) fn pivot(&self, cluster: &Cluster) -> Result<Vec<Step>, RealizeError> {
        let mut done = Vec::new();
        if !self.plan()?.pivoted {
            self.moved(cluster)?;
            let why = vec!["the masters have the control plane".to_owned()];
            done.push(Step::new(Action::Create, Thing::Mark, PIVOTED, why));
            self.take(Phase::Pivot, &done[0])?;
        }
        let steps = self.plan()?.steps;
        let (balancer, rest): (Vec<Step>, Vec<Step>) = steps
            .into_iter()
            .filter(|step| step.action != Action::Keep)
            .partition(|step| step.thing == Thing::Balancer);
        balancer.iter().try_for_each(|step| self.take(Phase::Pivot, step))?;
        self.still_answers(cluster)?;
        let gone: Vec<Step> =
            rest.into_iter().filter(|step| Phase::of(step, self.wanted) == Phase::Pivot).collect();
        gone.iter().try_for_each(|step| self.take(Phase::Pivot, step))?;
        done.extend(balancer.into_iter().chain(gone));
        Ok(done)
    }

    /// Until the masters have it all, and the bootstrap node says so.
    fn moved(&self, cluster: &Cluster) -> Result<(), RealizeError> {
        let client = cluster.client(self.virsh.cancel)?;
        let approver = approver(&client, cluster, self.events);
        let mut report = Report::default();
        let look = "tinderbox realize logs bootstrap bootkube";
        let what = "the control plane to move to the masters";
        self.wait(&Wait { phase: Phase::Pivot, what, limit: MOVE, look }, || {
            passing(approver.pass(&mut report).and_then(|()| self.still_missing(&client, &report)))
        })
    }

    /// What is still missing, the first of it.
    fn still_missing(&self, client: &Client<'_>, report: &Report) -> Result<Look<()>, ApiError> {
        let masters = self.of(report, true).count();
        let unready: Vec<String> = self.of(report, true).filter_map(nodes::unready).collect();
        if !unready.is_empty() {
            return Ok(Look::NotYet(unready.join("; ")));
        }
        if let Err(seen) = facts::etcd_runs(&there(client, ETCDS, None, "cluster")?) {
            return Ok(Look::NotYet(seen));
        }
        let (servers, enough) =
            (facts::api_servers(&there(client, API_SERVERS, None, "cluster")?), masters.min(2));
        if servers < enough {
            return Ok(Look::NotYet(format!("API servers on {servers} of at least {enough} masters")));
        }
        let bootstrap = there(client, CONFIG_MAPS, Some("kube-system"), "bootstrap")?;
        Ok(match facts::is_complete(&bootstrap) {
            true => Look::Done(()),
            false => Look::NotYet("the bootstrap node has not said that it is done".to_owned()),
        })
    }

    /// Until the API answers without the bootstrap machine, again and again.
    fn still_answers(&self, cluster: &Cluster) -> Result<(), RealizeError> {
        let what = format!("the API at {}, without the bootstrap machine", cluster.api);
        let wait = Wait { phase: Phase::Pivot, what: &what, limit: PROVE, look: "tinderbox realize status" };
        self.wait(&wait, || {
            let answer = |_| cluster.client(self.virsh.cancel)?.ready();
            passing((0..ANSWERS).try_for_each(answer).map(Look::Done))
        })
    }
}
