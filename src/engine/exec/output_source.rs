//! The store as a source of outputs: what is there need not be built, if it was built here, or if this cluster trusts
//! who signed or executed it. What others built comes through [`crate::engine::cache::Substituter`] and
//! [`crate::engine::remote`], on a worker, and goes the same way into the store as what is built.

use std::os::unix::fs::MetadataExt as _;

use super::{BuildContext, Done, ExecError, in_store};
use crate::base::digest::DrvId;
use crate::base::fs;
use crate::engine::recipe::GraphNode;
use crate::engine::store::{Output, Realisation, Using};

/// An output that need not be built.
pub(super) struct Found {
    pub(super) done: Done,
    /// All known outputs of this derivation.
    pub(super) realisation: Realisation,
}

/// The output of a derivation, if the store has it. The caller claims it before `using` ends.
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
            if let Some(signers) = realisation.signed.get(&output.object) {
                let secret =
                    fs::metadata(&path).map_err(|error| in_store(node)(error.into()))?.mode() & 0o077 == 0;
                let mut trust = context.trust.iter();
                if !trust.any(|trusted| trusted.vouches(signers, &node.name, secret))
                    && !context.farms.vouches(signers, &node.name, secret)
                {
                    continue;
                }
            }
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once('-'));
            let name = name.map_or_else(|| output.name.clone(), |(_, name)| name.to_owned());
            let done = Done { drv, output: Output { object: output.object, name } };
            return Ok(Some(Found { done, realisation }));
        }
    }
    Ok(None)
}
