//! `fleet check`: validates every site. What is wrong with several is said once.

use std::process::ExitCode;

use super::build::{self, FleetReport, Request};
use super::open::{Opened, Selection};
use super::outcome;
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, exit_code, line};
use crate::cli::{Printer, Result};
use crate::openshift::workspace::{Env, Missing};

/// Validate the configuration and the artifacts of every site; what is wrong with several is said once
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox -C fleet fleet check
  tinderbox -C fleet fleet check --group edge
  tinderbox -C fleet --site berlin check       one site, with all findings")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<FleetReport>()];
}

impl Args {
    pub(in crate::cli) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let opened = Opened::open(env, Missing::Make)?;
        let targets = ["check".to_owned()];
        let request = Request {
            targets: &targets,
            selection: &self.selection,
            jobs: self.jobs.count(),
            keep_going: true,
            names: false,
            dry_run: false,
            keep: false,
        };
        let report = build::build(env, &opened, &request, &mut |_| {})?;
        printer.answer(&report, || {
            let (all, failed) = (report.totals.sites, report.totals.failed);
            let passed = all - failed - report.totals.skipped;
            let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
            line(format!("{}: {passed} passed{failed}", count(all, "site")));
        });
        outcome::explain(&report.errors);
        Ok(exit_code(report.is_success()))
    }
}
