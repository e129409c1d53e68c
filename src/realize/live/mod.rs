//! The cluster itself, once its API answers: nodes join, the control plane moves, operators finish, a workload is reached.
//!
//! | module | what it owns |
//! |---|---|
//! | `facts` | what objects of the cluster say: pure |
//! | `nodes` | until machines are nodes |
//! | `pivot` | the control plane moves to the masters |
//! | `converge` | every operator is done |
//! | `verify` | the smoke test |
//! | `documents` | what the cluster says of itself, for an archive |
//!
//! Invariant: the cluster is only looked at, but for requests of our own nodes, which are approved, and the smoke test's
//! namespace, which is removed again.

mod converge;
mod documents;
mod facts;
mod nodes;
mod pivot;
mod verify;

use std::net::IpAddr;
use std::sync::atomic::AtomicBool;

use time::OffsetDateTime;
use zeroize::Zeroizing;

pub(crate) use facts::Operator;
pub(crate) use verify::Check;

use super::approve::{Approver, Made, Member};
use super::{Phase, RealizeError};
use crate::base::event::Events;
use crate::realize::api::{ApiError, Client, Endpoint, Kind};

const OPERATORS: Kind = Kind::new("config.openshift.io", "v1", "clusteroperators");
const VERSIONS: Kind = Kind::new("config.openshift.io", "v1", "clusterversions");
const ETCDS: Kind = Kind::new("operator.openshift.io", "v1", "etcds");
const API_SERVERS: Kind = Kind::new("operator.openshift.io", "v1", "kubeapiservers");
const CONFIG_MAPS: Kind = Kind::new("", "v1", "configmaps");

/// The way to the cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub kubeconfig: Zeroizing<String>,
    /// Where the API is: its VIP, whose name this machine may not know.
    pub api: Endpoint,
    pub ingress: IpAddr,
    pub domain: String,
    /// The nodes that we made.
    pub made: Vec<Made>,
    pub now: fn() -> OffsetDateTime,
    /// The image that the smoke test runs, if the release has it.
    pub image: Option<String>,
}

impl Cluster {
    /// A connection of its own.
    pub(super) fn client<'a>(&self, cancel: &'a AtomicBool) -> Result<Client<'a>, ApiError> {
        Client::new(&self.kubeconfig, &self.api, cancel)
    }

    /// Whether a node's own API server answers, without the load balancer; none if it has no address.
    pub(super) fn answers_on(&self, node: &str, cancel: &AtomicBool) -> Option<bool> {
        let ip = self.made.iter().find(|made| made.node == node)?.ips.first()?;
        let client = Client::new(&self.kubeconfig, &Endpoint::of(*ip), cancel);
        Some(client.and_then(|client| client.ready()).is_ok())
    }

    /// The nodes and the operators, looked at and left alone.
    pub(super) fn look(
        &self,
        cancel: &AtomicBool,
        events: &dyn Events,
    ) -> Result<(Vec<Member>, Vec<Operator>), ApiError> {
        let client = self.client(cancel)?;
        client.ready()?;
        let members = approver(&client, self, events).look()?;
        // A young cluster does not know what an operator is.
        let operators = match converge::operators(&client) {
            Err(ApiError::NotFound { .. }) => Vec::new(),
            found => found?,
        };
        Ok((members, operators))
    }
}

impl super::Hands<'_> {
    /// After the machines of a phase were started: until the cluster has what the phase is for.
    pub(super) fn arrive(&self, phase: Phase, cluster: &Cluster) -> Result<Arrived, RealizeError> {
        let mut arrived = Arrived::default();
        match phase {
            Phase::Host | Phase::Media | Phase::Pivot => {}
            Phase::Bootstrap => self.answers(cluster)?,
            Phase::ControlPlane => self.masters_join(cluster)?,
            Phase::Workers => self.workers_are_ready(cluster)?,
            Phase::Convergence => arrived.operators = self.converge(cluster)?,
            Phase::Verify => arrived.checks = self.verify(cluster)?,
        }
        Ok(arrived)
    }
}

/// An object; null if it is not there yet.
fn there(
    client: &Client<'_>,
    kind: Kind,
    namespace: Option<&str>,
    name: &str,
) -> Result<serde_json::Value, ApiError> {
    match client.get(kind, namespace, name) {
        Err(ApiError::NotFound { .. }) => Ok(serde_json::Value::Null),
        found => found,
    }
}

/// Who approves requests of the cluster's nodes.
fn approver<'a>(client: &'a Client<'a>, cluster: &'a Cluster, events: &'a dyn Events) -> Approver<'a> {
    Approver { client, made: &cluster.made, events, now: cluster.now }
}

/// What a phase has shown.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pub(super) operators: Vec<Operator>,
    pub(super) checks: Vec<Check>,
}
