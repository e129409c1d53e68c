//! `store path`: the path of an object.

use std::process::ExitCode;

use serde_json::json;

use super::open;
use crate::cli::output::line;
use crate::cli::{Printer, Result};
use crate::openshift::workspace::Env;

/// Print the path of an object
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An id, or the beginning of one
    prefix: String,
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let store = open(env)?;
        let name = store.by_prefix(&self.prefix)?;
        let path = store.path_of(&name);
        let document = json!({"object": name.id, "name": name.name, "path": path});
        Ok(printer.answer(&document, || line(path.display())))
    }
}
