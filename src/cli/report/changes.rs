//! What changed since the previous generation and why, in the words of `diff`.

use serde::Serialize;

use crate::cli::{Result, diff};
use crate::compare::cause::Cause;
use crate::compare::diff::{ArtifactState, Diff, NodeImpact};
use crate::openshift::workspace::Env;

#[derive(Debug, Serialize)]
pub(super) struct Changes {
    /// The previous generation.
    pub(super) since: u64,
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) changed: usize,
    pub(super) causes: Vec<Reaching>,
    /// What running nodes would do.
    pub(super) nodes: Vec<NodeImpact>,
}

/// A cause, and how far it reaches.
#[derive(Debug, Serialize)]
pub(super) struct Reaching {
    #[serde(flatten)]
    pub(super) cause: Cause,
    /// The artifacts that differ because of it.
    pub(super) artifacts: Vec<String>,
}

/// Compares two retained generations.
pub(super) fn changes(env: Env<'_>, since: u64, now: u64) -> Result<Changes> {
    let Diff { causes, artifacts, summary, .. } = diff::between(env, since, now)?;
    let count = |wanted: fn(ArtifactState) -> bool| artifacts.iter().filter(|one| wanted(one.state)).count();
    let reached = |at: usize| {
        let reached = artifacts.iter().filter(|one| one.causes.contains(&at));
        reached.map(|one| one.name.clone()).collect()
    };
    Ok(Changes {
        since,
        added: count(|state| state == ArtifactState::Added),
        removed: count(|state| state == ArtifactState::Removed),
        changed: count(|state| matches!(state, ArtifactState::Changed | ArtifactState::Renamed)),
        causes: causes
            .into_iter()
            .enumerate()
            .map(|(at, cause)| Reaching { cause, artifacts: reached(at) })
            .collect(),
        nodes: summary.nodes,
    })
}
