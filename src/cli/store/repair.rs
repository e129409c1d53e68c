//! `store repair`: removes bad objects, and rebuilds those of this cluster directory.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::{open_damaged, verify};
use crate::base::digest::ObjectId;
use crate::cli::arguments::Jobs;
use crate::cli::build::{self, BuildRequest};
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, exit_code, line};
use crate::cli::{Error, Printer, Result};
use crate::engine::store::{FindingKind, Store, Verification};
use crate::openshift::workspace::{Env, WorkspaceError};

/// Remove what is bad, and build it again
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Repaired>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = repair(env, self.jobs.count())?;
        printer.answer(&done, || show(&done));
        Ok(exit_code(done.left.findings.is_empty()))
    }
}

fn show(done: &Repaired) {
    line(format!(
        "{} removed, {} built again",
        count(done.removed.len(), "bad object"),
        count(done.rebuilt.len(), "derivation")
    ));
    for (object, directories) in &done.elsewhere {
        let shown: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
        line(format!("  {object} belongs to {}: run `tinderbox build` there", shown.join(", ")));
    }
    for lost in &done.lost {
        line(format!("  lost: {lost}"));
    }
    verify::show(&done.left);
}

#[derive(Debug, Serialize, JsonSchema)]
struct Repaired {
    removed: Vec<ObjectId>,
    rebuilt: Vec<String>,
    /// Bad objects of other cluster directories, with candidates.
    elsewhere: Vec<(ObjectId, Vec<PathBuf>)>,
    /// What cannot be built again.
    lost: Vec<String>,
    /// Remaining defects.
    left: Verification,
}

fn repair(env: Env<'_>, jobs: usize) -> Result<Repaired> {
    let store = open_damaged(env)?;
    let mut lost = store.mend_layout()?;
    let mut found = store.verify()?;
    // With a key that is missing or damaged, all its objects look damaged. A build of this cluster writes it again.
    if found.findings.iter().any(|finding| finding.kind == FindingKind::Key) {
        let request = request(jobs);
        let _ = build::build(env, &request); // another cluster's key stays as it is
        found = store.verify()?;
    }
    let bad: BTreeSet<ObjectId> = found.findings.iter().filter_map(|finding| finding.object).collect();
    let damaged = !found.findings.is_empty() || !lost.is_empty();
    if !found.findings.is_empty() {
        lost.extend(store.remove_bad(&found)?);
    }
    let mut rebuilt = Vec::new();
    if damaged {
        match build::build(env, &request(jobs)) {
            Ok(report) => rebuilt = report.built.unwrap_or_default(),
            Err(Error::Workspace(WorkspaceError::NotACluster { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    lost.extend(store.forget_lost(&bad)?);
    let elsewhere = elsewhere(&store, &bad)?;
    Ok(Repaired { removed: bad.into_iter().collect(), rebuilt, elsewhere, lost, left: store.verify()? })
}

/// Bad objects that other cluster directories use, and can build again.
fn elsewhere(store: &Store, bad: &BTreeSet<ObjectId>) -> Result<Vec<(ObjectId, Vec<PathBuf>)>> {
    let there: BTreeSet<ObjectId> = store.objects()?.into_iter().map(|name| name.id).collect();
    let mut elsewhere = Vec::new();
    for object in bad.iter().filter(|object| !there.contains(object)) {
        let mut owners = Vec::new();
        for roots in store.all_roots()? {
            if roots.record()?.names.values().any(|named| named.object == *object) {
                owners.push(roots.directory.clone());
            }
        }
        if !owners.is_empty() {
            elsewhere.push((*object, owners));
        }
    }
    Ok(elsewhere)
}

fn request(jobs: usize) -> BuildRequest {
    BuildRequest { jobs, keep_going: true, ..BuildRequest::default() }
}
