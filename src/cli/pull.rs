//! `pull`: takes from caches what they have of targets, and builds nothing but what is secret.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::Jobs;
use super::build::{BuildReport, BuildRequest, Failure, build};
use super::document::{Document, Documented};
use super::error::explain;
use super::output::{Colour, count, exit_code, line, stderr_line, stderr_paint};
use super::{Error, Printer, Result, complete};
use crate::base::event::{Event, Events};
use crate::base::hint::Hint;
use crate::engine::exec::{Building, ExecError};
use crate::openshift::workspace::{self, ClusterDir, Env, read_cluster};

/// Take from caches what they have of targets; build only what is secret, and not encrypted for you
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox pull                               everything of `cluster`; then `build --offline` works
  tinderbox pull mco
  tinderbox pull --identity ~/.config/tinderbox/identity
                                               also what is encrypted for you

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
    /// Derivations that no cache has.
    missing: Vec<String>,
    /// Derivations that are made from secrets, and failed.
    failed: Vec<Failure>,
    /// Derivations that need one of those.
    left: Vec<String>,
}

/// What no cache has is a result of a pull, not a failure on the way.
struct Misses<'a>(&'a dyn Events);

impl Events for Misses<'_> {
    fn emit(&self, event: Event) {
        if !matches!(event, Event::Failed { .. }) {
            self.0.emit(event);
        }
    }

    fn settle(&self) {
        self.0.settle();
    }
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let directory = ClusterDir::open(env.directory)?;
        let cluster = read_cluster(&directory)?;
        let settings = workspace::cache_settings(env, directory.path(), &cluster)?;
        if let Some(cache) = settings.first()
            && settings.iter().all(|cache| cache.trust.is_empty())
        {
            return Err(Error::usage(
                format!("no key is trusted for {}, so nothing is taken from there", cache.url),
                "`trust: [{key: ed25519:…}]` beside its `url` names the keys that count; `tinderbox key show` prints a builder's",
            ));
        }
        if settings.is_empty() {
            return Err(Error::usage(
                "there is no cache to pull from",
                "`caches: [{url: oci://…, trust: [{key: ed25519:…}]}]` in cluster.yaml, or in your own configuration",
            ));
        }
        let report = build(
            Env { events: &Misses(env.events), ..env },
            &BuildRequest {
                targets: self.targets,
                jobs: self.jobs.count_waiting(),
                keep_going: true,
                no_link: true,
                building: Building::Secrets,
                ..BuildRequest::default()
            },
        )?;
        let BuildReport { built, cached, substituted, failed, skipped, errors, .. } = report;
        let is_missing = |error: &ExecError| matches!(error, ExecError::NotCached { .. });
        let (missing, failed): (Vec<_>, Vec<_>) =
            failed.into_iter().zip(&errors).partition(|(_, error)| is_missing(error));
        let missing = missing.into_iter().map(|(failure, _)| failure.name).collect();
        let failed = failed.into_iter().map(|(failure, _)| failure).collect();
        let done = Pulled {
            pulled: substituted,
            present: cached,
            built: built.unwrap_or_default(),
            missing,
            failed,
            left: skipped,
        };
        printer.answer(&done, || show(&done));
        let failures = errors.iter().filter(|error| !is_missing(error));
        failures.for_each(|error| explain(error, error.hint()));
        Ok(exit_code(done.missing.is_empty() && done.failed.is_empty()))
    }
}

/// How many missing outputs are named.
const SHOWN: usize = 3;

fn show(done: &Pulled) {
    let Pulled { pulled, present, built, missing, left, failed: _ } = done;
    line(format!(
        "{} pulled, {} already in the store, {} made from secrets and built here",
        count(pulled.len(), "output"),
        present.len(),
        built.len()
    ));
    if missing.is_empty() {
        return;
    }
    let first = missing.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match missing.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more, which `--json` lists"),
    };
    let need = if left.is_empty() { String::new() } else { format!("; {} others need them", left.len()) };
    line(format!("no cache has {}: {first}{more}{need}", count(missing.len(), "output")));
    if pulled.is_empty() && present.is_empty() {
        let text = "a builder shares what it built from the same files and lock with `tinderbox push`, and `trust` must \
                    name its key (`tinderbox key show`)";
        stderr_line(format!("{} {text}", stderr_paint("hint:", Colour::Cyan)));
    }
}
