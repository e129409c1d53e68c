//! `store …`: inspects and verifies the store, and frees space.

mod add;
mod du;
mod gc;
mod ls;
mod path;
mod repair;
pub(super) mod scan;
mod verify;

use super::{Result, verbs};
use crate::engine::store::Store;
use crate::openshift::workspace::{self, Env};

verbs! {
    "Inspect and verify the store, and free space";
    Ls(ls::Args),
    Du(du::Args),
    Path(path::Args),
    Add(add::Args),
    Verify(verify::Args),
    Scan(scan::Args),
    Repair(repair::Args),
    Gc(gc::Args),
}

/// The selected store, which may be damaged.
fn open_damaged(env: Env<'_>) -> Result<Store> {
    Ok(workspace::open_damaged_store(env.store, env.directory)?)
}

/// The selected store.
fn open(env: Env<'_>) -> Result<Store> {
    Ok(workspace::open_store(env.store, env.directory)?)
}
