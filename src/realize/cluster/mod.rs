//! The cluster itself, once its API answers: how to reach it, and what its objects say.
//!
//! | file | what it owns |
//! |---|---|
//! | `conditions` | what the objects of the cluster say: pure |
//! | `documents` | the same as documents for `realize gather` |

pub(super) mod conditions;
mod documents;

use std::net::IpAddr;
use std::sync::atomic::AtomicBool;

use time::OffsetDateTime;
use zeroize::Zeroizing;

pub(crate) use conditions::Operator;

use super::approve::{Approver, Member, NodeIdentity};
use crate::base::event::Events;
use crate::realize::api::{ApiError, Client, Endpoint, Gvr};

pub(super) const OPERATORS: Gvr = Gvr::new("config.openshift.io", "v1", "clusteroperators");
pub(super) const VERSIONS: Gvr = Gvr::new("config.openshift.io", "v1", "clusterversions");
pub(super) const ETCDS: Gvr = Gvr::new("operator.openshift.io", "v1", "etcds");
pub(super) const API_SERVERS: Gvr = Gvr::new("operator.openshift.io", "v1", "kubeapiservers");
pub(super) const CONFIG_MAPS: Gvr = Gvr::new("", "v1", "configmaps");

/// How many unfinished operators are named.
const NAMED: usize = 4;

/// How to reach the cluster, and which nodes it should have.
#[derive(Clone)]
pub(crate) struct ClusterAccess {
    pub kubeconfig: Zeroizing<String>,
    /// The API's VIP: this machine may not be able to resolve its name.
    pub api: Endpoint,
    pub ingress: IpAddr,
    /// All addresses of the API, and of all routes.
    pub api_vips: Vec<IpAddr>,
    pub ingress_vips: Vec<IpAddr>,
    pub domain: String,
    pub nodes: Vec<NodeIdentity>,
    pub now: fn() -> OffsetDateTime,
    /// The image that the smoke test runs, if the release has it.
    pub image: Option<String>,
}

impl ClusterAccess {
    /// A new connection.
    pub(super) fn client<'a>(&self, cancel: &'a AtomicBool) -> Result<Client<'a>, ApiError> {
        Client::new(&self.kubeconfig, &self.api, cancel)
    }

    pub(super) fn approver<'a>(&'a self, client: &'a Client<'a>, events: &'a dyn Events) -> Approver<'a> {
        Approver { client, nodes: &self.nodes, events, now: self.now, choice: None }
    }

    /// Whether the API server on a node answers, bypassing the load balancer; none if the node has no address.
    pub(super) fn answers_on(&self, node: &str, cancel: &AtomicBool) -> Option<bool> {
        let ip = self.nodes.iter().find(|one| one.node == node)?.ips.first()?;
        let client = Client::new(&self.kubeconfig, &Endpoint::of(*ip), cancel);
        Some(client.and_then(|client| client.ready()).is_ok())
    }

    /// The nodes and the operators. Changes nothing.
    pub(super) fn read(
        &self,
        cancel: &AtomicBool,
        events: &dyn Events,
    ) -> Result<(Vec<Member>, Vec<Operator>), ApiError> {
        let client = self.client(cancel)?;
        client.ready()?;
        let members = self.approver(&client, events).read()?;
        // A young cluster does not have the resource yet.
        let operators = match operators(&client) {
            Err(ApiError::NotFound { .. }) => Vec::new(),
            found => found?,
        };
        Ok((members, operators))
    }
}

/// An object; null if it does not exist yet.
pub(super) fn get_or_null(
    client: &Client<'_>,
    resource: Gvr,
    namespace: Option<&str>,
    name: &str,
) -> Result<serde_json::Value, ApiError> {
    match client.get(resource, namespace, name) {
        Err(ApiError::NotFound { .. }) => Ok(serde_json::Value::Null),
        found => found,
    }
}

/// All operators, by name.
pub(super) fn operators(client: &Client<'_>) -> Result<Vec<Operator>, ApiError> {
    let mut all: Vec<Operator> = client.list(OPERATORS, None)?.iter().map(Operator::read).collect();
    all.sort_by(|one, two| one.name.cmp(&two.name));
    Ok(all)
}

/// Which operators are not done, if any.
pub(super) fn unfinished(operators: &[Operator]) -> Option<String> {
    let open: Vec<&Operator> = operators.iter().filter(|one| !one.is_done()).collect();
    if open.is_empty() && !operators.is_empty() {
        return None;
    }
    let mut named: Vec<String> =
        open.iter().take(NAMED).map(|one| format!("{} ({})", one.name, one.state())).collect();
    if open.len() > NAMED {
        named.push(format!("{} more", open.len() - NAMED));
    }
    let done = operators.len() - open.len();
    Some(match operators.len() {
        0 => "no operator has reported yet".to_owned(),
        all => format!("{done} of {all} operators are done; not yet: {}", named.join(", ")),
    })
}
