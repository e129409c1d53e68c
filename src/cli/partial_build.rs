//! Builds as many of some derivations as can be built: those that fail are listed, and the others are there to read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Error, Result};
use crate::base::digest::ObjectId;
use crate::engine::exec::{self, Done, ExecError, Options};
use crate::engine::recipe::NodeIndex;
use crate::engine::store::Session;
use crate::openshift::workspace::{Env, Workspace};

/// What was built of the derivations that were asked for.
pub(super) struct PartialBuild<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) session: Session,
    /// Outputs of those that were asked for.
    pub(super) outputs: BTreeMap<&'w str, ObjectId>,
    /// Why others were not built, themselves or what they need.
    pub(super) failed: Vec<(String, Arc<ExecError>)>,
    /// Those that need a failed one.
    pub(super) skipped: Vec<String>,
    /// Everything that was needed.
    done: BTreeMap<NodeIndex, Done>,
}

impl<'w> PartialBuild<'w> {
    pub(super) fn of(
        workspace: &'w Workspace,
        env: Env<'_>,
        jobs: usize,
        names: &[impl AsRef<str>],
    ) -> Result<Self> {
        let names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
        let targets = workspace.select(&names)?;
        let session = workspace.session(env)?;
        let outcome = exec::build(
            workspace.context(env, &session),
            &targets,
            Options { jobs, keep_going: true, ..Options::default() },
        )?;
        if outcome.cancelled {
            return Err(Error::Interrupted { kept: outcome.built.len() });
        }
        let nodes = workspace.graph.nodes();
        let outputs = targets
            .iter()
            .filter_map(|at| Some((nodes[*at].name.as_str(), outcome.done.get(at)?.output.object)))
            .collect();
        let exec::Outcome { done, failed, skipped, .. } = outcome;
        Ok(Self { workspace, session, outputs, failed, skipped, done })
    }

    /// Where a file of an output comes from: a derivation or a file of the user's, and the patches that changed it.
    pub(super) fn origin(&self, env: Env<'_>, name: &str, path: &str) -> Option<String> {
        let at = self.workspace.graph.find(name)?;
        exec::origin_of(self.workspace.context(env, &self.session), &self.done, at, path)
    }
}
