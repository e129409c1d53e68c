//! `realize preflight`: asks DNS, load balancer, registry and time servers before anything boots.

use std::process::ExitCode;

use super::realizer::with_realizer;
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{Colour, exit_code, line, stdout_paint};
use crate::cli::{Printer, Result};
use crate::openshift::workspace::Env;
use crate::realize::preflight::{Outcome, Preflight, PreflightCheck, preflight};

/// Ask everything that a boot needs and that is not ours: DNS, the load balancer, the registry, time servers
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox realize preflight
  tinderbox realize preflight --json

The DNS servers are those of the nodes (`network.dns`), and each is asked for every name. The load balancer's ports are connected to. The \
registry must have the release by its digest, through the mirrors and with the pull secret of install-config.yaml. Time servers are those of \
/etc/chrony.conf in the nodes' Ignition. Everything is asked from this machine: what only the nodes reach fails here. Nothing is changed.
On libvirt, names and VIPs are asked once our network is there.
Exit codes: 0 a boot can succeed, 1 something fails.")]
pub(crate) struct Args {
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Preflight>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = with_realizer(env, self.jobs.count(), |realizer| match realizer.questions {
            Some(questions) => Ok(preflight(&realizer, questions)?),
            None => Ok(Preflight::default()),
        })?;
        printer.answer(&done, || done.checks.iter().for_each(show));
        Ok(exit_code(done.passed))
    }
}

fn show(check: &PreflightCheck) {
    let colour = match check.outcome {
        Outcome::Passed => Colour::Green,
        Outcome::Warning => Colour::Yellow,
        Outcome::Failed => Colour::Red,
        Outcome::Skipped => Colour::Dim,
    };
    let word = stdout_paint(&format!("{:<7}", check.outcome.as_str()), colour);
    let name = if check.name.is_empty() { String::new() } else { format!("{}: ", check.name) };
    line(format!("{word}  {:<8}  {name}{}", check.area.as_str(), check.detail));
    if let Some(hint) = &check.hint {
        line(format!("                   {hint}"));
    }
}
