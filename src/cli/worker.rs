//! `worker`: what a farm runs. Not for people: `build` sends this program and its work to the farms that `builders` names.

use std::path::Path;
use std::process::ExitCode;

use super::document::{Document, Documented};
use super::{Printer, Result};
use crate::engine::remote::run_worker;
use crate::openshift::builders;
use crate::openshift::workspace::Env;

/// Build the one derivation that the current directory describes
///
/// Farms run this: the current directory is the input tree of an action, and the output goes into `out/`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox worker                             in the input tree of an action")]
pub(super) struct Args {}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, _: Printer<'_>) -> Result<ExitCode> {
        run_worker(Path::new("."), builders::ALL, env.cancel)?;
        Ok(ExitCode::SUCCESS)
    }
}
