//! The host: for machines of the user's own, everything that surrounds them is somebody else's, and is asked before one boots.

use crate::realize::{Realizer, Result, preflight};

pub(super) fn prepare(realizer: &Realizer<'_>) -> Result<()> {
    match realizer.questions {
        Some(questions) if !realizer.plan()?.boots.is_empty() => preflight::require(realizer, questions),
        _ => Ok(()),
    }
}
