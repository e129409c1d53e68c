//! `fleet status`: the sites, their groups, and whether they are built as they are configured.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::build::{self, Request};
use super::open::{Opened, Selection};
use super::outcome::{self, SiteState};
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{Colour, stdout_paint, table};
use crate::cli::{Printer, Result};
use crate::openshift::fleet::SiteKind;
use crate::openshift::workspace::{Env, Missing};

/// List the sites: their groups, and whether each is built as it is configured
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox -C fleet fleet status
  tinderbox -C fleet fleet status --json | jq -r '.sites[] | select(.state != \"unchanged\").site'")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<FleetStatus>()];
}

#[derive(Debug, Serialize, JsonSchema)]
struct FleetStatus {
    sites: Vec<SiteStatus>,
    /// Equal errors of several sites once.
    errors: Vec<outcome::ErrorGroup>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SiteStatus {
    site: String,
    groups: Vec<String>,
    /// `unchanged`: built as configured; `would-build`: something would be built; `failed`: the configuration has problems.
    state: SiteState,
    /// Number of derivations that would be built.
    would_build: usize,
    /// None if `results/SITE` is not of this configuration.
    generation: Option<u64>,
}

impl Args {
    pub(in crate::cli) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let opened = Opened::open(env, Missing::Imagine)?;
        let request = Request {
            targets: &[],
            selection: &self.selection,
            jobs: self.jobs.count(),
            keep_going: true,
            names: false,
            dry_run: true,
            keep: false,
        };
        let report = build::build(env, &opened, &request, &mut |_| {})?;
        let sites = report.sites.into_iter().map(|site| {
            let groups = match &opened.site(&site.site)?.kind {
                SiteKind::Layered(layered) => layered.groups.clone(),
                SiteKind::Directory(_) => Vec::new(),
            };
            let (would_build, generation) = (site.built, site.generation);
            Ok(SiteStatus { site: site.site, groups, state: site.state, would_build, generation })
        });
        let status = FleetStatus { sites: sites.collect::<Result<_>>()?, errors: report.errors };
        let code = printer.answer(&status, || {
            let rows = status.sites.iter().map(|site| {
                let state = match site.state {
                    SiteState::Unchanged => "built".to_owned(),
                    SiteState::Failed => stdout_paint("has problems", Colour::Red),
                    _ => stdout_paint(&format!("{} to build", site.would_build), Colour::Yellow),
                };
                let generation = site.generation.map(|number| number.to_string()).unwrap_or_default();
                vec![site.site.clone(), site.groups.join(" "), state, generation]
            });
            table(&["SITE", "GROUPS", "STATE", "GENERATION"], &rows.collect::<Vec<_>>());
        });
        outcome::explain(&status.errors);
        Ok(code)
    }
}
