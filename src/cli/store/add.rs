//! `store add`: adds a file or directory to the store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::open;
use crate::base::digest::ObjectId;
use crate::cli::document::{Document, Documented};
use crate::cli::output::line;
use crate::cli::{Printer, Result};
use crate::engine::store::{ObjectName, Session, Store, StoreError};
use crate::openshift::workspace::Env;

/// Put a file or directory into the store
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file or directory
    path: PathBuf,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Added {
    object: ObjectId,
    path: PathBuf,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Added>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let added = add(env, &self.path)?;
        Ok(printer.answer(&added, || line(added.path.display())))
    }
}

/// Only its use protects it from gc.
fn add(env: Env<'_>, source: &Path) -> Result<Added> {
    let store = match &env.store.named {
        Some(named) => Store::open_or_create(named)?,
        None => open(env)?,
    };
    let session = Session::open(&store, None)?;
    let tree = session.stage(false)?;
    tree.copy_from(source, "").map_err(StoreError::from)?;
    let name = source.file_name().and_then(|name| name.to_str()).unwrap_or("source");
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    let staged = session.finish(tree, &plain)?;
    session.sync()?;
    let output = session.publish(&staged)?;
    let path = store.path_of(&ObjectName { id: output.object, name: output.name });
    Ok(Added { object: output.object, path })
}
