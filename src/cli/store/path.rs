//! `store path`: the path of an object.

use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::open;
use crate::base::digest::ObjectId;
use crate::cli::document::{Document, Documented};
use crate::cli::output::line;
use crate::cli::{Printer, Result};
use crate::openshift::workspace::Env;

/// Print the path of an object
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An id, or the beginning of one
    prefix: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ObjectPath {
    object: ObjectId,
    name: String,
    path: PathBuf,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<ObjectPath>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let store = open(env)?;
        let name = store.by_prefix(&self.prefix)?;
        let found = ObjectPath { object: name.id, name: name.name.clone(), path: store.path_of(&name) };
        Ok(printer.answer(&found, || line(found.path.display())))
    }
}
