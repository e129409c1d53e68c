//! `completions`: what a shell needs to complete our command line.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use super::{Printer, Result, output};
use crate::openshift::workspace::Env;

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tinderbox completions bash > ~/.local/share/bash-completion/completions/tinderbox")]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    pub(super) fn run(self, _: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut super::Args::command(), "tinderbox", &mut text);
        let script = String::from_utf8_lossy(&text);
        let document = json!({"shell": self.shell.to_string(), "script": script});
        Ok(printer.answer(&document, || output::text(&script)))
    }
}
