//! `realize gather`: collects the secrets to mask, and what is known without contacting the host.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

use super::realizer::with_workspace;
use super::ssh;
use crate::base::fs;
use crate::base::hint::chain;
use crate::base::redact::Redactor;
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, line, size};
use crate::cli::store::scan;
use crate::cli::{Error, Printer, Result};
use crate::openshift::workspace::{self, Env, Workspace};
use crate::realize::{self, GatherRequest, Gathered, Realizer};

/// Put everything that helps after a failed boot into one archive, secrets masked
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox realize gather
  tinderbox realize gather --output /tmp/failed.tar.gz --json

Consoles, journals, containers and static pods' logs of every node, what libvirt and the load balancer say, the plan and the \
status. What does not answer is listed in its `errors.txt`, and stops nothing else. Secrets of the closure, and what looks like a \
key, a token or a password, are masked. Only its owner can read the archive: gather-CLUSTER-TIME.tar.gz, or the file that `-o` \
names, which must not exist yet.")]
pub(crate) struct Args {
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Gathered>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = gather(env, self.jobs.count(), printer.output, Path::new(""))?;
        Ok(printer.answer(&done, || show(&done)))
    }
}

fn show(done: &Gathered) {
    line(format!("{}: {}, {}", done.archive.display(), count(done.files, "file"), size(done.size)));
    match done.reached.as_slice() {
        [] => line("no node answered over SSH"),
        reached => line(format!("answered over SSH: {}", reached.join(", "))),
    }
    if !done.missed.is_empty() {
        line(format!("{} things could not be collected: `errors.txt` in it says why", done.missed.len()));
    }
}

/// A file for the archive, or the error.
type Content = (String, std::result::Result<Vec<u8>, String>);

/// Gathers everything into the requested archive, or one with a generated name next to `here`.
fn gather(env: Env<'_>, jobs: usize, asked: Option<&Path>, here: &Path) -> Result<Gathered> {
    if let Some(path) = asked.filter(|path| matches!(fs::exists(path), Ok(true))) {
        let advice = "name a file that does not exist yet";
        return Err(Error::Exists { path: path.to_owned(), advice });
    }
    with_workspace(env, jobs, |realizer, workspace| {
        let now = workspace::this_second();
        let time = now.format(format_description!("[year][month][day]T[hour][minute][second]Z"));
        let name = format!("gather-{}", workspace.cluster.name);
        let named = || here.join(format!("{name}-{}.tar.gz", time.unwrap_or_default()));
        let to: PathBuf = asked.map_or_else(named, Path::to_owned);
        let when = now.format(&Rfc3339).unwrap_or_default();
        let request = GatherRequest {
            addresses: &ssh::addresses(workspace),
            redactor: &redactor(env, workspace)?,
            files: known(env, realizer, workspace, &when),
            name: &name,
            to: &to,
        };
        Ok(realize::gather(&realizer, request)?)
    })
}

/// Masks every secret known here: of this cluster's files, and of all closures in the store, because a node may run an
/// earlier one.
fn redactor(env: Env<'_>, workspace: &Workspace) -> Result<Redactor> {
    let store = workspace::open_store(env.store, env.directory)?;
    Ok(Redactor::new(store.patterns(&scan::known(env, &workspace.directory)?)?))
}

/// What is known without contacting anything.
fn known(env: Env<'_>, realizer: Realizer<'_>, workspace: &Workspace, when: &str) -> Vec<Content> {
    let about = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "closure": realizer.desired.closure,
        "cluster": realizer.desired.cluster,
        "uri": realizer.provider.uri(),
        "gathered": when,
    });
    let document = |value: &serde_json::Value| format!("{value:#}\n").into_bytes();
    let checks = fs::read(&realizer.desired.closure.join("checks.json")).map_err(|error| chain(&error));
    vec![
        ("tinderbox.json".to_owned(), Ok(document(&about))),
        (
            "artifacts.json".to_owned(),
            artifacts(env, workspace).map(|value| document(&value)).map_err(|error| chain(&error)),
        ),
        ("checks.json".to_owned(), checks),
    ]
}

/// Every derivation of the closure with its ids, without content.
fn artifacts(env: Env<'_>, workspace: &Workspace) -> Result<serde_json::Value> {
    let store = workspace::open_store(env.store, env.directory)?;
    let plan = workspace.plan(env, &store, &[workspace.find("cluster")?])?;
    let rows = plan.done.iter().map(|(at, done)| {
        let name = &workspace.graph.nodes()[*at].name;
        json!({"name": name, "drv": done.drv, "object": done.output.object})
    });
    Ok(rows.collect())
}
