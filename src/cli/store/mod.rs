//! `store …`: inspects and verifies the store, and frees space.

mod add;
mod du;
mod gc;
mod ls;
mod path;
mod repair;
pub(super) mod scan;
mod verify;

use std::process::ExitCode;

use clap::Subcommand;

use super::{Printer, Result};
use crate::engine::store::Store;
use crate::openshift::workspace::{self, Env};

/// Look into the store, verify it, free space
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    Ls(ls::Args),
    Du(du::Args),
    Path(path::Args),
    Add(add::Args),
    Verify(verify::Args),
    Scan(scan::Args),
    Repair(repair::Args),
    Gc(gc::Args),
}

impl Verb {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        match self {
            Self::Ls(verb) => verb.run(env, printer),
            Self::Du(verb) => verb.run(env, printer),
            Self::Path(verb) => verb.run(env, printer),
            Self::Add(verb) => verb.run(env, printer),
            Self::Verify(verb) => verb.run(env, printer),
            Self::Scan(verb) => verb.run(env, printer),
            Self::Repair(verb) => verb.run(env, printer),
            Self::Gc(verb) => verb.run(env, printer),
        }
    }
}

/// The selected store.
fn open(env: Env<'_>) -> Result<Store> {
    Ok(workspace::open_store(env.store, env.directory)?)
}
