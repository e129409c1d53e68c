//! Builds both sides of a comparison with the operators' own renders. A render that fails is listed, and the others are
//! compared.

use std::collections::BTreeMap;

use crate::base::digest::ObjectId;
use crate::base::hint::chain;
use crate::cli::Result;
use crate::cli::output::{Colour, stdout_paint};
use crate::cli::partial_build::PartialBuild;
use crate::engine::store::Session;
use crate::openshift::knowledge::Reason;
use crate::openshift::workspace::{Env, Workspace};

/// What was built of the derivations that were asked for.
pub(super) struct Built<'w> {
    pub(super) session: Session,
    pub(super) done: BTreeMap<&'w str, ObjectId>,
    /// Why the others were not.
    pub(super) failed: BTreeMap<String, String>,
}

/// Builds these, and whatever they need; fails if no render could be built.
pub(super) fn build<'w>(
    workspace: &'w Workspace,
    env: Env<'_>,
    jobs: usize,
    names: &[String],
) -> Result<Built<'w>> {
    let PartialBuild { session, outputs: done, failed: errors, skipped, .. } =
        PartialBuild::of(workspace, env, jobs, names)?;
    let mut failed: BTreeMap<String, String> =
        errors.iter().map(|(name, error)| (name.clone(), chain(&**error))).collect();
    failed.extend(skipped.into_iter().map(|name| (name, "what it needs failed".to_owned())));
    if let (false, Some((_, error))) = (done.keys().any(|name| is_render(name)), errors.into_iter().next()) {
        return Err(error.into());
    }
    Ok(Built { session, done, failed })
}

/// Whether a derivation is the output of an operator's render command.
pub(in crate::cli) fn is_render(name: &str) -> bool {
    name.starts_with("render/") && name != "render/inputs"
}

/// The reason of a difference, for people.
pub(super) fn why(reason: &Option<Reason>) -> String {
    match reason {
        Some(Reason { reason, source, .. }) => format!("because {reason} ({source})"),
        None => stdout_paint("unexplained", Colour::Yellow),
    }
}
