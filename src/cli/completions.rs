//! `completions`: what a shell needs to complete our command line. It asks this program, which knows the cluster directory:
//! see [`super::complete`].

use std::process::ExitCode;

use clap_complete::Shell;
use clap_complete::env::Shells;
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented};
use super::{Printer, Result, output};
use crate::openshift::workspace::Env;

/// Print a shell's completion script: for verbs, options, targets, files, nodes and config fields
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox completions bash > ~/.local/share/bash-completion/completions/tinderbox
  tinderbox completions zsh > ~/.zfunc/_tinderbox                with `fpath+=~/.zfunc` before `compinit`
  tinderbox completions fish > ~/.config/fish/completions/tinderbox.fish")]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

/// To bash a colon ends a word, and targets have one: `infra/haproxy:haproxy.cfg`.
const BASH: &str = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}\n";

#[derive(Debug, Serialize, JsonSchema)]
struct Completions<'a> {
    shell: &'a str,
    script: &'a str,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Completions<'static>>()];
}

impl Args {
    pub(super) fn run(self, _: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let mut text = Vec::new();
        let name = self.shell.to_string();
        if self.shell == Shell::Bash {
            text.extend(BASH.as_bytes());
        }
        if let Some(shell) = Shells::builtins().completer(&name) {
            // A script in memory: nothing can fail.
            let _ = shell.write_registration("COMPLETE", "tinderbox", "tinderbox", "tinderbox", &mut text);
        }
        let script = String::from_utf8_lossy(&text);
        let made = Completions { shell: &name, script: &script };
        Ok(printer.answer(&made, || output::text(&script)))
    }
}
