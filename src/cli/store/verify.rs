//! `store verify`: re-hashes everything.

use std::process::ExitCode;

use super::open_damaged;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{Colour, count, exit_code, line, size, stdout_paint};
use crate::cli::{Printer, Result};
use crate::engine::store::Verification;
use crate::openshift::workspace::Env;

/// Hash everything again, and name every bad path
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Verification>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let found = open_damaged(env)?.verify()?;
        printer.answer(&found, || show(&found));
        Ok(exit_code(found.findings.is_empty()))
    }
}

pub(super) fn show(found: &Verification) {
    for finding in &found.findings {
        line(format!("{} {}: {}", stdout_paint("bad", Colour::Red), finding.path.display(), finding.detail));
    }
    let bad = match found.findings.len() {
        0 => "all sound".to_owned(),
        1 => "1 bad path".to_owned(),
        bad => format!("{bad} bad paths"),
    };
    line(format!(
        "{}, {}, {}: {bad}",
        count(found.objects, "object"),
        count(found.files, "file"),
        size(found.bytes)
    ));
}
