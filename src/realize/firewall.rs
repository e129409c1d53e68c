//! The host's firewall, opened by the closure's own script: what the user can read is what runs.

use std::time::Duration;

use super::desired::Desired;
use super::{RealizeError, Result};
use crate::base::process::{Invocation, ProcessOutput, ProgramRunner};

/// How long firewalld may take for all rules.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs the script: `open`, `close` or `check`. Missing rules are not an error of `check`.
pub(super) fn run(runner: ProgramRunner<'_>, desired: &Desired, verb: &str) -> Result<ProcessOutput> {
    let script = desired.artifact("firewall.sh").display().to_string();
    let output = runner.run(Invocation::new("sh", &[&script, verb], LIMIT))?;
    match output.is_success() || verb == "check" && output.status == Some(1) {
        true => Ok(output),
        false => Err(RealizeError::Firewall { verb: verb.to_owned(), message: output.stderr }),
    }
}

/// The rules that are missing; none if the script cannot tell.
pub(super) fn missing(runner: ProgramRunner<'_>, desired: &Desired) -> Option<Vec<String>> {
    let output = run(runner, desired, "check").ok()?;
    Some(output.text().lines().map(|line| line.trim_start_matches("not open: ").to_owned()).collect())
}
