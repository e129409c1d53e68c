//! `release try`: whether this cluster can go to a release, without building it there.
//!
//! Reads both releases and the cluster's objects, fetches the images whose programs our artifacts call, and asks these
//! programs in the sandbox. What cannot be asked is listed, never taken for an answer.

mod programs;
mod questions;
mod reading;

use std::collections::BTreeMap;
use std::process::ExitCode;

use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{Colour, exit_code, line, stdout_paint};
use crate::cli::{Error, Printer, Result};
use crate::compare::readiness::{
    self, Finding, Level, NotAsked, Question, Readiness, Section, TriedRelease, Verdict,
};
use crate::engine::registry::RegistryError;
use crate::openshift::lock::LockedRelease;
use crate::openshift::workspace::{Env, Workspace, WorkspaceError, release_named};
use questions::Trial;
use reading::Reading;

/// Say whether this cluster can move to a release, without building it there
///
/// Compares what this cluster uses with what the release has, and asks the release's own programs whether they know the
/// flags that they are given.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox release try demo:4.19
  tinderbox release try demo:4.22 --install
  tinderbox release try quay.io/openshift-release-dev/ocp-release:4.22.1-x86_64 --json
  tinderbox release try oci:./mirror:4.22.1 --no-programs

Exit codes: 0 nothing stands against it, though there may be something to look at; 1 it cannot go; 2 trouble.")]
pub(crate) struct Args {
    /// The release to go to
    reference: String,
    /// Do not fetch the images of components; flags and renders are then not checked
    #[arg(long)]
    no_programs: bool,
    /// Ask about a new cluster with this configuration, not about an update: direction and distance do not matter
    #[arg(long)]
    install: bool,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::text(readiness::SCHEMA)];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let question = if self.install { Question::Install } else { Question::Update };
        let readiness = try_release(env, &self.reference, question, self.jobs.count(), !self.no_programs)?;
        printer.answer(&readiness, || show(&readiness));
        Ok(exit_code(readiness.verdict != Verdict::CannotGo))
    }
}

/// How many items of a finding a page has.
const SHOWN: usize = 8;

fn show(found: &Readiness) {
    let Readiness { from, to, .. } = found;
    let look = found.count(Level::Look);
    let verdict = match found.verdict {
        Verdict::CanGo => stdout_paint("can go", Colour::Green),
        Verdict::Look => stdout_paint(&format!("can go, look at {look}"), Colour::Yellow),
        Verdict::CannotGo => stdout_paint("cannot go", Colour::Red),
    };
    let not_asked = match found.not_asked.len() {
        0 => String::new(),
        1 => "; 1 question not asked".to_owned(),
        count => format!("; {count} questions not asked"),
    };
    line(format!("{verdict}: {} → {} ({}){not_asked}", from.version, to.version, to.reference));
    for (level, title) in
        [(Level::Obstacle, "stands against it"), (Level::Look, "look at"), (Level::Note, "also")]
    {
        let mut findings = found.findings.iter().filter(|finding| finding.level == level).peekable();
        if findings.peek().is_some() {
            line(stdout_paint(title, Colour::Cyan));
        }
        findings.for_each(show_finding);
    }
    if !found.not_asked.is_empty() {
        line(stdout_paint("not asked", Colour::Cyan));
    }
    let mut by_reason: BTreeMap<(Section, &str), Vec<&str>> = BTreeMap::new();
    for NotAsked { section, what, why } in &found.not_asked {
        by_reason.entry((*section, why)).or_default().push(what);
    }
    for ((section, why), what) in by_reason {
        line(format!("  {}: {}: {why}", section.title(), what.join(", ")));
    }
}

fn show_finding(finding: &Finding) {
    let Finding { section, message, items, advice, .. } = finding;
    let short = |item: &String| item.len() < 60;
    let rest = items.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let shown = &items[..items.len().min(SHOWN)];
    if shown.iter().all(short) {
        let colon = if items.is_empty() { "" } else { ": " };
        line(format!("  {}: {message}{colon}{}{more}", section.title(), shown.join(", ")));
    } else {
        line(format!("  {}: {message}", section.title()));
        shown.iter().for_each(|item| line(format!("    {item}")));
        if rest > 0 {
            line(format!("   {more}"));
        }
    }
    if let Some(advice) = advice {
        line(format!("    {}", stdout_paint(advice, Colour::Dim)));
    }
}

/// What is read of both releases.
const READ: [&str; 4] = ["release/payload", "release/images", "release/crds", "release/featuregate"];
/// The cluster's objects and static pods, as they would be there.
const PATCHED: &str = "patched";
/// What the payload has for the machine-config controller.
const NODE_CONFIG: &str = "release/node-config";

fn try_release(
    env: Env<'_>,
    reference: &str,
    question: Question,
    jobs: usize,
    programs: bool,
) -> Result<Readiness> {
    let tried = |release: &LockedRelease| TriedRelease {
        reference: release.reference.clone(),
        version: release.version.clone(),
        image: release.image.clone(),
    };
    let old = release_named(env, None)?;
    let from = tried(&old);
    let new = match release_named(env, Some(reference)) {
        Err(WorkspaceError::Registry(RegistryError::Architecture { image, wanted, found })) => {
            let to = TriedRelease { reference: reference.to_owned(), version: "(unknown)".into(), image };
            let finding = no_architecture(&wanted, found);
            return Ok(Readiness::new(question, from, to, vec![finding], Vec::new()));
        }
        new => new?,
    };
    let to = tried(&new);
    let here = Workspace::load_release(env, &old)?;
    let there = match Workspace::load_release(env, &new) {
        Ok(there) => there,
        // The recipes do not fit: everything else would be a consequence.
        Err(WorkspaceError::Problems { problems }) => {
            let items = problems.0.iter().map(ToString::to_string).collect();
            let message = "the recipes and tables do not fit this release";
            let finding =
                Finding::new(Level::Obstacle, Section::Release, "recipes-do-not-fit", message, items);
            let finding =
                finding.advice("this tinderbox is too old for the release, or a recipe of yours is");
            return Ok(Readiness::new(question, from, to, vec![finding], Vec::new()));
        }
        Err(error) => return Err(error.into()),
    };
    let wanted: Vec<&str> = READ.into_iter().chain([PATCHED]).collect();
    let before = Reading::of(env, &here, jobs, &wanted)?;
    // The cluster's own objects may fail for reasons of their own, and are judged as they would be there.
    if let Some((name, why)) = before.failed.iter().find(|(name, _)| READ.contains(&name.as_str())) {
        return Err(Error::usage(
            format!("the pinned release cannot be read: {name}: {why}"),
            "`tinderbox build` says more",
        ));
    }
    let wanted: Vec<&str> = wanted.into_iter().chain([NODE_CONFIG]).collect();
    let after = Reading::of(env, &there, jobs, &wanted)?;
    let (here, there) = (&before, &after);
    let mut trial = Trial { env, jobs, question, here, there, findings: Vec::new(), not_asked: Vec::new() };
    if question == Question::Update {
        trial.update()?;
    }
    trial.tables()?;
    trial.release()?;
    trial.gates()?;
    trial.api()?;
    trial.payload()?;
    trial.ignition()?;
    match programs {
        true => trial.programs()?,
        false => {
            trial.not_asked(Section::Flags, "all programs", "`--no-programs`");
            trial.not_asked(Section::Renders, "all operators", "`--no-programs`");
        }
    }
    Ok(Readiness::new(question, from, to, trial.findings, trial.not_asked))
}

/// A release without images for the nodes of this cluster: nothing else can be asked.
fn no_architecture(wanted: &str, found: Vec<String>) -> Finding {
    let message = format!("it has no images for linux/{wanted}, which the nodes of this cluster are; it has");
    Finding::new(Level::Obstacle, Section::Release, "architecture-missing", message, found).advice(
        "choose the release image for this architecture, or the multi-architecture one; nodes do not change theirs",
    )
}
