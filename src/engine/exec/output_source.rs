//! Sources of outputs besides building them. The scheduler asks only here before it builds anything.
//!
//! To add a source, such as a signed cache or a remote action cache, add a variant of [`OutputSource`] and a step in
//! [`find`] after the store's. It must put the object into the store before it returns, so that every output is on this
//! machine. Its failure is a miss, not an error.

use super::{BuildContext, Done, ExecError, in_store};
use crate::base::digest::DrvId;
use crate::engine::recipe::GraphNode;
use crate::engine::store::{Output, Realisation, Using};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputSource {
    Store,
}

impl OutputSource {
    /// The name used in events.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
        }
    }
}

/// An output that need not be built.
pub(super) struct Found {
    pub(super) done: Done,
    /// All known outputs of this derivation.
    pub(super) realisation: Realisation,
    pub(super) source: OutputSource,
}

/// The output of a derivation, from the first source that has it. The caller claims it before `using` ends.
pub(super) fn find(
    context: BuildContext<'_>,
    _while: &Using,
    node: &GraphNode,
    drv: DrvId,
) -> Result<Option<Found>, ExecError> {
    if node.impure {
        return Ok(None); // its last output may be stale
    }
    let store = context.session.store();
    let Some(realisation) = store.realisation(drv).map_err(in_store(node))? else { return Ok(None) };
    for output in &realisation.outputs {
        if let Some(path) = store.find(output.object, &output.name).map_err(in_store(node))? {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once('-'));
            let name = name.map_or_else(|| output.name.clone(), |(_, name)| name.to_owned());
            let done = Done { drv, output: Output { object: output.object, name } };
            return Ok(Some(Found { done, realisation, source: OutputSource::Store }));
        }
    }
    Ok(None)
}
