//! `store ls`: all objects.

use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::open;
use crate::base::digest::ObjectId;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{size, table};
use crate::cli::{Printer, Result};
use crate::openshift::workspace::Env;

/// List all objects
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Vec<Listed>>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let all = ls(env)?;
        Ok(printer.answer(&all, || {
            let rows = all.iter().map(|one| {
                let secret = if one.secret { "secret" } else { "" };
                vec![
                    one.name.clone(),
                    size(one.size),
                    one.files.to_string(),
                    secret.to_owned(),
                    one.object.to_string(),
                ]
            });
            table(&["NAME", "SIZE", "FILES", "", "OBJECT"], &rows.collect::<Vec<_>>());
        }))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    object: ObjectId,
    name: String,
    path: PathBuf,
    /// Total size of its files.
    size: u64,
    files: usize,
    secret: bool,
}

/// All objects, by name.
fn ls(env: Env<'_>) -> Result<Vec<Listed>> {
    let store = open(env)?;
    let mut all = Vec::new();
    for name in store.objects()? {
        let object = store.object(name.id)?;
        all.push(Listed {
            object: name.id,
            path: store.path_of(&name),
            size: object.listing.size(),
            files: object.listing.leaves("").count(),
            secret: object.listing.root().secret,
            name: name.name,
        });
    }
    all.sort_by(|one, other| one.name.cmp(&other.name).then(one.object.cmp(&other.object)));
    Ok(all)
}
