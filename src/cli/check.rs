//! `check`: all validation, and nothing else. `--list` lists the checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::Jobs;
use super::build::{self, BuildReport, BuildRequest, Failure};
use super::document::{Document, Documented};
use super::error::explain;
use super::expiry::Ended;
use super::output::{self, Colour, exit_code, line, stdout_paint, table};
use super::{Printer, Result};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::Hint;
use crate::engine::builders::BuildError;
use crate::engine::exec::ExecError;
use crate::engine::fields::Projected;
use crate::engine::store::StoreError;
use crate::openshift::builders::ArtifactError;
use crate::openshift::builders::validate::Finding;
use crate::openshift::knowledge::{BootFact, Knowledge, Table};
use crate::openshift::workspace::{ClusterDir, Env, read_cluster};

/// Validate the cluster: read all files and run every check
///
/// On a terminal, checks that passed are only counted; `-v` lists them.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// List all checks, with what breaks at boot without them
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] =
        &[Document::of::<Checked>(), Document::of::<Vec<Listed<'static>>>().when("list", "--list")];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        if self.list {
            let knowledge = knowledge(env)?;
            let all = list(knowledge.boot_facts.get()?);
            return Ok(printer.answer(&all, || all.iter().for_each(show_listed)));
        }
        let checked = check(env, self.jobs.count())?;
        printer.answer(&checked, || {
            if printer.events.is_quiet() {
                return;
            }
            // A page of passed checks would hide on a terminal what did not.
            let is_brief = output::is_terminal() && !printer.events.is_verbose();
            let rows = checked.checks.iter().filter(|one| !is_brief || one.status != "passed");
            let rows: Vec<_> =
                rows.map(|one| vec![one.status.clone(), one.name.clone(), one.rule.clone()]).collect();
            if !rows.is_empty() {
                table(&["", "CHECK", "RULE"], &rows);
            }
            show_not_evaluated(&checked);
            if let Some(until) = &checked.booted_until {
                let colour = if checked.ended { Colour::Red } else { Colour::Yellow };
                let text =
                    format!("these artifacts could boot until {until}; `tinderbox renew` moves the dates");
                line(stdout_paint(&text, colour));
            }
            show_warnings(&checked);
            let rest = if rows.len() < checked.checks.len() { "; `-v` lists them" } else { "" };
            line(format!("{}{rest}", total(&checked)));
        });
        checked.errors.iter().for_each(|error| explain(error, error.hint()));
        Ok(exit_code(checked.failed.is_empty() && !checked.ended))
    }
}

/// The verdict: how many checks, and how they ended.
fn total(checked: &Checked) -> String {
    let count = |status: &str| checked.checks.iter().filter(|check| check.status == status).count();
    let warnings: usize = checked.checks.iter().map(|check| check.warnings.len()).sum();
    let words = [
        (count("passed"), "passed", Colour::Green),
        (count("failed"), "failed", Colour::Red),
        (count("disabled"), "disabled", Colour::Yellow),
        (warnings, if warnings == 1 { "warning" } else { "warnings" }, Colour::Yellow),
    ];
    let words = words.iter().filter(|(count, ..)| *count > 0);
    let words: Vec<String> =
        words.map(|(count, word, colour)| stdout_paint(&format!("{count} {word}"), *colour)).collect();
    format!("{}: {}", output::count(checked.checks.len(), "check"), words.join(", "))
}

fn show_listed(check: &Listed<'_>) {
    line(stdout_paint(check.name, Colour::Green));
    line(format!("  rule    {}", check.rule));
    line(format!("  breaks  {}", check.breaks));
}

/// Rules that checks leave to the API server.
fn show_not_evaluated(checked: &Checked) {
    for check in checked.checks.iter().filter(|check| !check.not_evaluated.is_empty()) {
        let count = check.not_evaluated.len();
        let rules = if count == 1 { "rule" } else { "rules" };
        line(stdout_paint(
            &format!("{}: {count} {rules} not evaluated; the API server will", check.name),
            Colour::Yellow,
        ));
        for open in &check.not_evaluated {
            line(format!("  {}: {}: {} ({})", open.file, open.field, open.rule, open.why));
        }
    }
}

/// What may go wrong: each in files of the user, a count for the release's own, which nobody here can change.
fn show_warnings(checked: &Checked) {
    for check in checked.checks.iter().filter(|check| !check.warnings.is_empty()) {
        let (release, own): (Vec<&Warned>, Vec<&Warned>) =
            check.warnings.iter().partition(|warning| warning.derivation.starts_with("release/"));
        for warning in &own {
            let place = format!("{}:{}: {}", warning.file, warning.line, warning.field);
            line(stdout_paint(
                &format!("{}: warning: {place}: {}", check.name, warning.message),
                Colour::Yellow,
            ));
        }
        if let [first, ..] = release.as_slice() {
            let (count, fields) = (release.len(), if release.len() == 1 { "field" } else { "fields" });
            let which = format!("{}: {}: {}", first.file, first.field, first.message);
            let text =
                format!("{count} {fields} of the release's CRDs, which `--json` lists; the first: {which}");
            line(stdout_paint(&format!("{}: warning: {text}", check.name), Colour::Yellow));
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed<'a> {
    name: &'a str,
    rule: &'a str,
    /// What happens at boot without it.
    breaks: &'a str,
    /// When it runs: while the files are read, or on the artifacts.
    when: &'static str,
}

/// The tables of the directory, if it is a cluster's, else the built-in ones.
fn knowledge(env: Env<'_>) -> Result<Knowledge> {
    match ClusterDir::open(env.directory) {
        Ok(directory) => Ok(directory.knowledge()?),
        Err(_) => Ok(Knowledge::built_in()?),
    }
}

/// Every check, by name.
fn list(facts: &Table<BootFact>) -> Vec<Listed<'_>> {
    let facts = facts.facts(None).into_values();
    facts
        .map(|(fact, _)| Listed {
            name: &fact.name,
            rule: &fact.rule,
            breaks: &fact.breaks,
            when: if fact.is_on_config() { "config" } else { "artifacts" },
        })
        .collect()
}

#[derive(Debug, Serialize, JsonSchema)]
struct Checked {
    /// Checks that ran, or that the user disabled.
    checks: Vec<Made>,
    findings: Vec<Finding>,
    /// Derivations below `check/` without output because a check failed.
    failed: Vec<Failure>,
    /// Until when these artifacts could finish a boot, if that is past.
    #[serde(skip_serializing_if = "Option::is_none")]
    booted_until: Option<String>,
    /// Whether they are of no use to a running cluster either.
    ended: bool,
    /// The errors themselves, for printing.
    #[serde(skip)]
    errors: Vec<Arc<ExecError>>,
}

#[derive(Debug, Serialize, JsonSchema, Deserialize)]
pub(super) struct Made {
    pub(super) name: String,
    pub(super) rule: String,
    /// `passed`, `failed` or `disabled`.
    pub(super) status: String,
    /// Rules that it leaves to the API server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) not_evaluated: Vec<Open>,
    /// What may go wrong, and is not a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<Warned>,
}

#[derive(Debug, Serialize, JsonSchema, Deserialize)]
pub(super) struct Warned {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) field: String,
    pub(super) message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) derivation: String,
}

/// A rule that is not evaluated before boot.
#[derive(Debug, Serialize, JsonSchema, Deserialize)]
pub(super) struct Open {
    /// The file with the object.
    pub(super) file: String,
    pub(super) field: String,
    pub(super) rule: String,
    pub(super) why: String,
}

/// Runs every check of the cluster: reads the files, then builds all of `check/`.
fn check(env: Env<'_>, jobs: usize) -> Result<Checked> {
    let request = BuildRequest {
        targets: vec!["check".into()],
        jobs,
        keep_going: true,
        no_link: true,
        ..BuildRequest::default()
    };
    let report = build::build(env, &request)?;
    if !has_ssh_key(env)? {
        let text = "install-config.yaml has no sshKey: nobody can log in to a node, and `realize ssh`, `logs` and `gather` \
                    cannot reach one";
        env.events.emit(Event::Warning { text: text.into() });
    }
    // The configuration was checked when it was read: a failed check does not get this far.
    let knowledge = knowledge(env)?;
    let outputs = report.targets.iter().map(|target| target.path.as_path());
    let mut checks = made(knowledge.boot_facts.get()?, &report.disabled_checks, outputs)?;
    let findings = findings(&report.errors);
    let broken: BTreeMap<&str, &str> =
        findings.iter().map(|finding| (finding.check, finding.rule.as_str())).collect();
    checks.extend(broken.into_iter().map(|(name, rule)| Made {
        name: name.into(),
        rule: rule.into(),
        status: "failed".into(),
        not_evaluated: Vec::new(),
        warnings: Vec::new(),
    }));
    let BuildReport { failed, errors, ended: Ended { booted_until, beyond_joining: ended }, .. } = report;
    Ok(Checked { checks: once(checks), findings, failed, booted_until, ended, errors })
}

/// The checks on a configuration that was read, and those that these outputs of `check/` report.
pub(super) fn made<'p>(
    facts: &Table<BootFact>,
    disabled: &[String],
    outputs: impl Iterator<Item = &'p Path>,
) -> Result<Vec<Made>> {
    let on_config = facts.facts(None).into_values().filter(|(fact, _)| fact.is_on_config());
    let mut checks: Vec<Made> = on_config
        .map(|(fact, _)| {
            let status = if disabled.contains(&fact.name) { "disabled" } else { "passed" };
            let (name, rule) = (fact.name.clone(), fact.rule.clone());
            Made { name, rule, status: status.into(), not_evaluated: Vec::new(), warnings: Vec::new() }
        })
        .collect();
    for output in outputs {
        let path = output.join("report.json");
        let made: Vec<Made> = serde_json::from_str(&fs::read_text(&path)?)
            .map_err(|source| StoreError::Unreadable { path, source })?;
        checks.extend(made);
    }
    Ok(checks)
}

/// Whether anybody will be able to log in to the nodes.
fn has_ssh_key(env: Env<'_>) -> Result<bool> {
    let keys = read_cluster(&ClusterDir::open(env.directory)?)?.fields().project("sshKeys").ok();
    Ok(keys.is_some_and(|keys| matches!(keys.value, Projected::Plain(keys) if keys.is_truthy())))
}

/// Every check once, by name: several derivations may run the same check on different artifacts.
pub(super) fn once(made: Vec<Made>) -> Vec<Made> {
    let mut checks: BTreeMap<String, Made> = BTreeMap::new();
    for one in made {
        match checks.get_mut(&one.name) {
            Some(known) => {
                known.not_evaluated.extend(one.not_evaluated);
                known.warnings.extend(one.warnings);
                if one.status == "failed" {
                    known.status = one.status;
                }
            }
            None => drop(checks.insert(one.name.clone(), one)),
        }
    }
    checks.into_values().collect()
}

/// The findings of failed derivations.
fn findings(errors: &[Arc<ExecError>]) -> Vec<Finding> {
    let found = errors.iter().filter_map(|error| match &**error {
        ExecError::Build { source, .. } => match &**source {
            BuildError::Builder(failure) => match failure.downcast()? {
                ArtifactError::Checks { findings, .. } => Some(findings.clone()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    found.flatten().collect()
}
