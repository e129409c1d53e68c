//! `cache …`: looks after caches.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::parse_small_count;
use super::document::{Document, Documented};
use super::output::{count, line};
use super::{Error, Printer, Result, verbs};
use crate::engine::cache::{self, CacheUrl};
use crate::openshift::workspace::{self, ClusterDir, Env, read_cluster};

verbs! {
    "Look after caches";
    Prune(Prune),
}

/// Remove from a cache what none of the newest closures of each builder needs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox cache prune --keep-closures 5 --dry-run
  tinderbox cache prune oci://registry.example.com:5000/team/tinderbox --keep-closures 5

A closure is what one `push` of a target was about. The registry frees the space when it collects its own garbage.")]
pub(super) struct Prune {
    /// The cache; default: all in cluster.yaml and in your own configuration
    #[arg(value_parser = |text: &str| text.parse::<CacheUrl>().map_err(|()| "write it as oci://registry/repository"))]
    url: Option<CacheUrl>,
    /// How many closures of each signing key to keep, the newest
    #[arg(long, value_name = "N", value_parser = parse_small_count)]
    keep_closures: u16,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

impl Documented for Prune {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Vec<PruneReport>>()];
}

/// What was removed from one cache.
#[derive(Debug, Serialize, JsonSchema)]
struct PruneReport {
    cache: String,
    /// Closures that stay.
    kept: usize,
    /// Closures that were removed, or would be.
    closures: usize,
    /// Outputs that were removed, or would be.
    entries: usize,
    dry_run: bool,
}

impl Prune {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let directory = ClusterDir::open(env.directory)?;
        let cluster = read_cluster(&directory)?;
        let mut all = workspace::cache_settings(env, directory.path(), &cluster)?;
        all.retain(|known| self.url.as_ref().is_none_or(|url| known.url == *url));
        if all.is_empty() {
            return Err(Error::usage(
                "there is no such cache",
                "`caches: [{url: oci://…}]` in cluster.yaml names it, with the credentials to reach it",
            ));
        }
        let mut reports = Vec::new();
        for settings in all {
            let name = settings.url.to_string();
            let done = cache::prune(settings, usize::from(self.keep_closures), self.dry_run, env.events)?;
            let cache::Pruned { kept, closures, entries } = done;
            reports.push(PruneReport { cache: name, kept, closures, entries, dry_run: self.dry_run });
        }
        Ok(printer.answer(&reports, || reports.iter().for_each(show)))
    }
}

fn show(report: &PruneReport) {
    let PruneReport { cache, kept, closures, entries, dry_run } = report;
    let verb = if *dry_run { "would be removed" } else { "removed" };
    let (closures, entries) = (count(*closures, "closure"), count(*entries, "output"));
    line(format!("{cache}: {closures} and {entries} {verb}; {} kept", count(*kept, "closure")));
}
