//! Until every operator is done, and with them the release.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Cluster, OPERATORS, Operator, VERSIONS, approver, facts, there};
use crate::base::event::Event;
use crate::realize::api::{ApiError, Client};
use crate::realize::approve::Report;
use crate::realize::wait::{Look, Wait, passing};
use crate::realize::{Hands, Phase, RealizeError};

/// For everything that the release brings.
const CONVERGE: Duration = Duration::from_secs(90 * 60);
/// So many operators that are not done are named.
const NAMED: usize = 4;

impl Hands<'_> {
    /// Waits until every operator is available, at rest and well, and the release is there as a whole.
    pub(super) fn converge(&self, cluster: &Cluster) -> Result<Vec<Operator>, RealizeError> {
        let client = cluster.client(self.virsh.cancel)?;
        let approver = approver(&client, cluster, self.events);
        let (mut report, mut told) = (Report::default(), BTreeMap::new());
        let (what, look) = ("the cluster's operators", "tinderbox realize status");
        self.wait(&Wait { phase: Phase::Convergence, what, limit: CONVERGE, look }, || {
            passing(approver.pass(&mut report).and_then(|()| {
                let operators = operators(&client)?;
                self.tell(&operators, &mut told);
                let version = facts::version(&there(&client, VERSIONS, None, "version")?);
                Ok(match unfinished(&operators).or(version) {
                    None => Look::Done(operators),
                    Some(seen) => Look::NotYet(seen),
                })
            }))
        })
    }

    /// Tells what has changed.
    fn tell(&self, operators: &[Operator], told: &mut BTreeMap<String, (String, String)>) {
        for one in operators {
            let now = (one.state(), one.message.clone());
            if told.insert(one.name.clone(), now.clone()).as_ref() != Some(&now) {
                let (name, (state, message)) = (one.name.clone(), now);
                self.events.emit(Event::Operator { name, state, message });
            }
        }
    }
}

/// All of them, by name.
pub(in crate::realize) fn operators(client: &Client<'_>) -> Result<Vec<Operator>, ApiError> {
    let mut all: Vec<Operator> = client.list(OPERATORS, None)?.iter().map(Operator::read).collect();
    all.sort_by(|one, two| one.name.cmp(&two.name));
    Ok(all)
}

/// What is not done, if anything is not.
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
        0 => "no operator has said anything yet".to_owned(),
        all => format!("{done} of {all} operators are done; not yet: {}", named.join(", ")),
    })
}
