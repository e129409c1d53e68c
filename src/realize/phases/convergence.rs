//! Convergence: until every operator is available, has stopped progressing, and is not degraded; and with them the release.

use std::collections::BTreeMap;
use std::time::Duration;

use super::PhaseWait;
use crate::base::event::Event;
use crate::realize::approve::ApprovalReport;
use crate::realize::cluster::{VERSIONS, conditions, get_or_null, operators, unfinished};
use crate::realize::wait::Poll;
use crate::realize::{ClusterAccess, Operator, Phase, Realizer, Result};

/// For everything that the release installs.
const LIMIT: Duration = Duration::from_secs(90 * 60);

pub(super) fn wait(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<Vec<Operator>> {
    let client = cluster.client(realizer.runner.cancel)?;
    let approver = cluster.approver(&client, realizer.events);
    let (mut report, mut reported) = (ApprovalReport::default(), BTreeMap::new());
    let (what, look) = ("the cluster's operators", "tinderbox realize status");
    PhaseWait { phase: Phase::Convergence, what, limit: LIMIT, look }.until(realizer, || {
        approver.pass(&mut report)?;
        let operators = operators(&client)?;
        report_changes(realizer, &operators, &mut reported);
        let version = conditions::unfinished_version(&get_or_null(&client, VERSIONS, None, "version")?);
        Ok(match unfinished(&operators).or(version) {
            None => Poll::Ready(operators),
            Some(seen) => Poll::Pending(seen),
        })
    })
}

fn report_changes(
    realizer: &Realizer<'_>,
    operators: &[Operator],
    reported: &mut BTreeMap<String, (String, String)>,
) {
    for one in operators {
        let now = (one.state(), one.message.clone());
        if reported.insert(one.name.clone(), now.clone()).as_ref() != Some(&now) {
            let (name, (state, message)) = (one.name.clone(), now);
            realizer.events.emit(Event::Operator { name, state, message });
        }
    }
}
