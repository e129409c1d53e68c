//! `pull`: takes from caches what they have of targets, and builds nothing but what is secret.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::Jobs;
use super::build::{BuildReport, BuildRequest, build};
use super::document::{Document, Documented};
use super::output::{count, exit_code, line};
use super::{Error, Printer, Result, complete};
use crate::engine::exec::Building;
use crate::openshift::workspace::{self, ClusterDir, Env, read_cluster};

/// Take from caches what they have of targets; build only what is secret, which no cache has
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox pull                               everything of `cluster`; then `build --offline` works
  tinderbox pull mco

What is missing at every cache is listed, and makes the exit code 1. Whatever arrives is verified: the signature by the keys \
that `caches` in cluster.yaml trusts, the bytes by content. What breaks off continues with the next `pull`.")]
pub(super) struct Args {
    /// Derivations or folders of them; default: cluster
    #[arg(add = complete::target())]
    targets: Vec<String>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Pulled>()];
}

/// What a pull did.
#[derive(Debug, Serialize, JsonSchema)]
struct Pulled {
    /// Derivations whose output came from a cache.
    pulled: Vec<String>,
    /// Derivations whose output the store already had.
    present: Vec<String>,
    /// Derivations that are made from secrets, which were built.
    built: Vec<String>,
    /// Derivations that no cache has, and why others were not taken.
    missing: Vec<String>,
    /// Derivations that need one of those.
    left: Vec<String>,
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let directory = ClusterDir::open(env.directory)?;
        let cluster = read_cluster(&directory)?;
        let settings = workspace::cache_settings(env, directory.path(), &cluster)?;
        if settings.iter().all(|cache| cache.trust.is_empty()) {
            return Err(Error::usage(
                "there is no cache to pull from",
                "`caches: [{url: oci://…, trust: [{key: ed25519:…}]}]` in cluster.yaml, or in your own configuration",
            ));
        }
        let report = build(
            env,
            &BuildRequest {
                targets: self.targets,
                jobs: self.jobs.count(),
                keep_going: true,
                no_link: true,
                building: Building::Secrets,
                ..BuildRequest::default()
            },
        )?;
        let BuildReport { built, cached, substituted, failed, skipped, .. } = report;
        let missing: Vec<String> = failed.into_iter().map(|failure| failure.name).collect();
        let done = Pulled {
            pulled: substituted,
            present: cached,
            built: built.unwrap_or_default(),
            missing,
            left: skipped,
        };
        printer.answer(&done, || show(&done));
        Ok(exit_code(done.missing.is_empty()))
    }
}

fn show(done: &Pulled) {
    let Pulled { pulled, present, built, missing, left } = done;
    line(format!(
        "{} pulled, {} already in the store, {} made from secrets and built here",
        count(pulled.len(), "output"),
        present.len(),
        built.len()
    ));
    if !missing.is_empty() {
        line(format!("no cache has {}; {} need them", missing.join(", "), left.len()));
    }
}
