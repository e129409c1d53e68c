//! Selects the store that a cluster directory builds into.

use std::path::{Path, PathBuf};

use super::{Result, WorkspaceError};
use crate::base::cancel::Cancel;
use crate::base::fs;
use crate::engine::store::{Store, StoreError};

/// The user's choice, else the nearest store above the cluster directory, else the default.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoreChoice {
    /// From `--store` or TINDERBOX_STORE.
    pub named: Option<PathBuf>,
    /// The user's data directory.
    pub data: Option<PathBuf>,
    /// Ends what waits in it.
    pub cancel: Cancel,
}

/// The selected store, which must exist.
pub(crate) fn open_store(choice: &StoreChoice, directory: &Path) -> Result<Store> {
    Ok(Store::open(&locate(choice, directory)?)?.cancelled_by(&choice.cancel))
}

/// The selected store, whose own files may be damaged.
pub(crate) fn open_damaged_store(choice: &StoreChoice, directory: &Path) -> Result<Store> {
    Ok(Store::open_damaged(&locate(choice, directory)?)?.cancelled_by(&choice.cancel))
}

/// The selected store; none if it does not exist yet. An unusable store is an error.
pub(crate) fn open_store_if_there(choice: &StoreChoice, directory: &Path) -> Result<Option<Store>> {
    match open_store(choice, directory) {
        Ok(store) => Ok(Some(store)),
        Err(WorkspaceError::Store(StoreError::NotAStore { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The selected store, created if necessary.
pub(crate) fn open_or_create(choice: &StoreChoice, directory: &Path) -> Result<Store> {
    Ok(Store::open_or_create(&locate(choice, directory)?)?.cancelled_by(&choice.cancel))
}

fn locate(choice: &StoreChoice, directory: &Path) -> Result<PathBuf> {
    if let Some(named) = &choice.named {
        return Ok(named.clone());
    }
    let absolute = fs::canonical(directory)?;
    for above in absolute.ancestors() {
        let store = above.join("store");
        // Its format file may be damaged or gone: `repair` finds it all the same.
        if Store::is_at(&store) {
            return Ok(store);
        }
    }
    choice.data.as_ref().map(|data| data.join("tinderbox/store")).ok_or(WorkspaceError::NoStore)
}
