//! `check`: all validation, and nothing else. `--list` says which checks there are.

use serde::Serialize;

use super::build::{self, BuildReport, BuildRequest};
use super::{Env, Result};
use crate::builders::validate;
use crate::config;

/// A check that exists.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// What must hold.
    pub rule: &'static str,
    /// What happens at boot if it does not.
    pub breaks: &'static str,
    /// When it is made: while the files are read, or on the artifacts.
    pub when: &'static str,
}

/// Every check, by name.
pub fn list() -> Vec<Listed> {
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

/// Makes every check of the cluster: reads the files, then builds all of `check/`.
pub fn check(env: Env<'_>, jobs: usize) -> Result<BuildReport> {
    let request =
        BuildRequest { targets: vec!["check".into()], jobs, keep_going: true, check: false, no_link: true };
    build::build(env, &request)
}
