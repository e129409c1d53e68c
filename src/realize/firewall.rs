//! The firewall's openings, by the closure's own script: what a user can read is what is run.

use std::time::Duration;

use super::wanted::Wanted;
use super::{RealizeError, Virsh};
use crate::base::process::{Ended, Run};

/// How long firewalld may take for all of it.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs the script: `open`, `close` or `check`. That something is not open is no error of `check`.
pub(super) fn run(virsh: Virsh<'_>, wanted: &Wanted, verb: &str) -> Result<Ended, RealizeError> {
    let script = wanted.artifact("firewall.sh").display().to_string();
    let run = Run {
        program: "sh",
        args: &[&script, verb],
        stdin: b"",
        limit: LIMIT,
        daemon: false,
        cancel: virsh.cancel,
    };
    let ended = virsh.programs.run(run)?;
    match ended.is_success() || verb == "check" && ended.status == Some(1) {
        true => Ok(ended),
        false => Err(RealizeError::Firewall { verb: verb.to_owned(), words: ended.stderr.clone() }),
    }
}

/// What is not open; none if nobody can tell.
pub(super) fn missing(virsh: Virsh<'_>, wanted: &Wanted) -> Option<Vec<String>> {
    let ended = run(virsh, wanted, "check").ok()?;
    Some(ended.text().lines().map(|line| line.trim_start_matches("not open: ").to_owned()).collect())
}
