//! `schema`: the JSON schemas of cluster.yaml and of documents that this program prints.

use std::process::ExitCode;

use clap::ValueEnum;

use super::{Printer, Result, output};
use crate::compare::{readiness, report};
use crate::openshift::config;
use crate::openshift::workspace::Env;

/// Print the JSON schema of cluster.yaml, for editors; or of a document that this program prints
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox schema > cluster.schema.json       with the YAML language server:
  # yaml-language-server: $schema=cluster.schema.json    (first line of cluster.yaml)
  tinderbox schema diff                        what `diff --format json` prints")]
pub(super) struct Args {
    /// Which schema
    #[arg(value_enum, default_value_t = Of::Cluster)]
    of: Of,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Of {
    /// cluster.yaml
    Cluster,
    /// The document of `diff --format json`
    Diff,
    /// The document of `report --json`
    Report,
    /// The document of `release try --json`
    ReleaseTry,
}

impl Args {
    /// A schema is JSON with and without `--json`.
    pub(super) fn run(self, _: Env<'_>, _: Printer<'_>) -> Result<ExitCode> {
        match self.of {
            Of::Cluster => output::json(&config::schema()),
            Of::Diff => output::text(report::DIFF_SCHEMA),
            Of::Report => output::text(report::REPORT_SCHEMA),
            Of::ReleaseTry => output::text(readiness::SCHEMA),
        }
        Ok(ExitCode::SUCCESS)
    }
}
