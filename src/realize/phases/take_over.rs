//! Operators take over the first control plane: on the masters, beside the bootstrap machine; or on the only node, in its place.

use std::time::Duration;

use super::{PhaseWait, join};
use crate::realize::api::{ApiError, Client};
use crate::realize::approve::ApprovalReport;
use crate::realize::cluster::{API_SERVERS, CONFIG_MAPS, ETCDS, conditions, get_or_null};
use crate::realize::wait::Poll;
use crate::realize::{ClusterAccess, Phase, Realizer, Result};

/// Operators bring networking, etcd and API servers to the masters, one after the other.
const MOVE: Duration = Duration::from_secs(60 * 60);

/// Until operators run the whole control plane, and `node`, which started the first one, says so.
pub(super) fn wait(
    realizer: &Realizer<'_>,
    cluster: &ClusterAccess,
    (phase, node): (Phase, &str),
) -> Result<()> {
    let client = cluster.client(realizer.runner.cancel)?;
    let approver = cluster.approver(&client, realizer.events);
    let mut report = ApprovalReport::default();
    let look = format!("tinderbox realize logs {node} bootkube");
    let what = match realizer.desired.is_in_place() {
        true => "operators to take over the control plane",
        false => "the control plane to move to the masters",
    };
    PhaseWait { phase, what, limit: MOVE, look: &look }.until(realizer, || {
        approver.pass(&mut report)?;
        poll(realizer, &client, &report)
    })
}

/// The first thing that is still missing.
fn poll(realizer: &Realizer<'_>, client: &Client<'_>, report: &ApprovalReport) -> Result<Poll<()>, ApiError> {
    let masters = || join::members(realizer.desired, report, true);
    let unready: Vec<String> = masters().filter_map(join::unready).collect();
    if !unready.is_empty() {
        return Ok(Poll::Pending(unready.join("; ")));
    }
    if let Err(seen) = conditions::etcd_runs(&get_or_null(client, ETCDS, None, "cluster")?) {
        return Ok(Poll::Pending(seen));
    }
    let servers = conditions::api_servers(&get_or_null(client, API_SERVERS, None, "cluster")?);
    let enough = masters().count().min(2);
    if servers < enough {
        return Ok(Poll::Pending(format!("API servers run on {servers} of at least {enough} masters")));
    }
    let bootstrap = get_or_null(client, CONFIG_MAPS, Some("kube-system"), "bootstrap")?;
    Ok(match conditions::is_bootstrap_complete(&bootstrap) {
        true => Poll::Ready(()),
        false if realizer.desired.is_in_place() => {
            Poll::Pending("the node has not reported that bootstrap is done".to_owned())
        }
        false => Poll::Pending("the bootstrap node has not reported that it is done".to_owned()),
    })
}
