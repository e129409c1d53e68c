//! `dist man`: one manual page per verb.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use serde_json::json;

use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::line;
use crate::cli::{Printer, Result};
use crate::openshift::workspace::Env;

/// Write manual pages, one per verb
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory to write to
    dir: PathBuf,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<serde_json::Value>()];
}

impl Args {
    pub(super) fn run(self, _: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        fs::create_dirs(&self.dir)?;
        let mut command = crate::cli::Args::command().disable_help_subcommand(true);
        command.build();
        let mut pages = Vec::new();
        write(&command, &self.dir, &mut pages)?;
        Ok(printer.answer(&json!({"pages": pages}), || pages.iter().for_each(line)))
    }
}

/// The page of a verb (`tinderbox-realize-plan.1`), and those of the verbs below it.
fn write(command: &Command, dir: &Path, pages: &mut Vec<String>) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let page = clap_mangen::Man::new(command.clone());
    let file = format!("{name}.1");
    let path = dir.join(&file);
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| fs::Error::new("write", &path, error))?;
    fs::replace(&path, &text, 0o644)?;
    pages.push(file);
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .try_for_each(|below| write(below, dir, pages))
}
