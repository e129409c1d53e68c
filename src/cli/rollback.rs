//! `rollback`: points `result` to an earlier generation.

use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented};
use super::generations::{object_path, open, point};
use super::output::line;
use super::{Error, Printer, Result};
use crate::engine::store::{Session, StoreError};
use crate::openshift::workspace::{Env, RESULT};

/// Point result/ to an earlier generation
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The generation; default: the one before the current
    #[arg(allow_negative_numbers = true, value_parser = parse_generation)]
    number: Option<u64>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<RolledBack>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = rollback(env, self.number)?;
        Ok(printer.answer(&done, || line(format!("generation {}: {}", done.to, done.path.display()))))
    }
}

fn parse_generation(text: &str) -> std::result::Result<u64, String> {
    let number = text.strip_prefix("gen:").unwrap_or(text);
    number.parse().map_err(|_| "write its number; `tinderbox generations` lists them".to_owned())
}

#[derive(Debug, Serialize, JsonSchema)]
struct RolledBack {
    from: Option<u64>,
    to: u64,
    path: PathBuf,
}

/// Makes an earlier generation current: by number, or the one before the current.
fn rollback(env: Env<'_>, number: Option<u64>) -> Result<RolledBack> {
    let (directory, store, roots) = open(env)?;
    let from = roots.current()?;
    let numbers = roots.numbers()?;
    let to = match number {
        Some(number) => number,
        None => *numbers.iter().rev().find(|number| Some(**number) < from).ok_or_else(|| {
            Error::usage(
                "there is no generation before the current one",
                "`tinderbox generations` lists what is kept",
            )
        })?,
    };
    let generation = roots.generation(to)?;
    let Some(path) = object_path(&store, generation.object)? else {
        return Err(StoreError::Collected { object: generation.object }.into());
    };
    let session = Session::open(&store, None)?;
    roots.set_current(&session, to, generation.object)?;
    point(&directory.file(RESULT), &path)?;
    Ok(RolledBack { from, to, path })
}
