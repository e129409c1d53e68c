//! `check`: all validation, and nothing else. `--list` says which checks there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::build::{self, BuildRequest, Failure};
use super::{Env, OpsError, Result};
use crate::base::fs;
use crate::engine::builders::BuildError;
use crate::engine::exec::ExecError;
use crate::openshift::builders::ArtifactError;
use crate::openshift::builders::validate::{self, Finding};
use crate::openshift::config;

/// A check that exists.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub name: &'static str,
    pub rule: &'static str,
    /// What happens at boot if it does not.
    pub breaks: &'static str,
    /// When it is made: while the files are read, or on the artifacts.
    pub when: &'static str,
}

/// Every check, by name.
pub(crate) fn list() -> Vec<Listed> {
    let config = config::CHECKS.iter().map(|check| Listed {
        name: check.name,
        rule: check.rule,
        breaks: check.breaks,
        when: "config",
    });
    let artifacts = validate::CHECKS.iter().map(|check| Listed {
        name: check.name,
        rule: check.rule,
        breaks: check.breaks,
        when: "artifacts",
    });
    let mut all: Vec<Listed> = config.chain(artifacts).collect();
    all.sort_by_key(|check| check.name);
    all
}

/// How the checks went.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    /// Checks that were made, or that the user turned off.
    pub checks: Vec<Made>,
    /// What failed checks found.
    pub findings: Vec<Finding>,
    /// Derivations below `check/` that have no output because a check failed.
    pub failed: Vec<Failure>,
    /// The errors themselves, for whoever prints them.
    #[serde(skip)]
    pub errors: Vec<Arc<ExecError>>,
}

/// One check that was made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Made {
    pub name: String,
    pub rule: String,
    /// `passed`, `failed` or `disabled`.
    pub status: String,
    /// Rules that it leaves to the API server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_evaluated: Vec<Open>,
}

/// A rule that nobody evaluated before boot.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Open {
    /// The file with the object.
    pub file: String,
    /// The field that it is about.
    pub field: String,
    pub rule: String,
    pub why: String,
}

/// Makes every check of the cluster: reads the files, then builds all of `check/`.
pub(crate) fn check(env: Env<'_>, jobs: usize) -> Result<Checked> {
    let request =
        BuildRequest { targets: vec!["check".into()], jobs, keep_going: true, check: false, no_link: true };
    let report = build::build(env, &request)?;
    // Checks of the configuration were made when it was read: a failed one does not get this far.
    let mut checks: Vec<Made> = config::CHECKS
        .iter()
        .map(|check| {
            let disabled = report.disabled_checks.iter().any(|name| name == check.name);
            let status = if disabled { "disabled" } else { "passed" };
            let not_evaluated = Vec::new();
            Made { name: check.name.into(), rule: check.rule.into(), status: status.into(), not_evaluated }
        })
        .collect();
    for target in &report.targets {
        let path = target.path.join("report.json");
        let made: Vec<Made> = serde_json::from_str(&fs::read_text(&path)?).map_err(|source| {
            OpsError::Store(crate::engine::store::StoreError::Unreadable { path, source })
        })?;
        checks.extend(made);
    }
    let findings = findings(&report.errors);
    let broken: BTreeMap<&str, &str> = findings.iter().map(|finding| (finding.check, finding.rule)).collect();
    checks.extend(broken.into_iter().map(|(name, rule)| Made {
        name: name.into(),
        rule: rule.into(),
        status: "failed".into(),
        not_evaluated: Vec::new(),
    }));
    Ok(Checked { checks: once(checks), findings, failed: report.failed, errors: report.errors })
}

/// Every check once, by name: several derivations may make the same one on different artifacts.
fn once(made: Vec<Made>) -> Vec<Made> {
    let mut checks: BTreeMap<String, Made> = BTreeMap::new();
    for one in made {
        match checks.get_mut(&one.name) {
            Some(known) => {
                known.not_evaluated.extend(one.not_evaluated);
                if one.status == "failed" {
                    known.status = one.status;
                }
            }
            None => drop(checks.insert(one.name.clone(), one)),
        }
    }
    checks.into_values().collect()
}

/// What the checks of failed derivations found.
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
