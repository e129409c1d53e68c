//! `realize apply`: makes the machines and brings the cluster up, phase by phase.

use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::login::{Login, WithLogin};
use super::plan::{planned_download, shown};
use super::realizer::with_workspace;
use super::{confirm, show_obstacles, show_operators};
use crate::cli::arguments::{Jobs, parse_age};
use crate::cli::document::{Document, Documented};
use crate::cli::output::line;
use crate::cli::{Error, Printer, Result};
use crate::openshift::workspace::{Env, PlannedDownload, fetch_boot_images};
use crate::realize::{self, Applied, Obstacle, Phase, RealizeError, Realizer};

/// Make the machines and bring the cluster up: phase by phase, from wherever an earlier run ended
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox realize apply                       all phases, until the cluster is up and verified
  tinderbox realize apply --until media         nothing is started yet
  tinderbox realize apply --phase verify        this one again
  tinderbox realize apply --no-wait             only make and start the machines

It continues from wherever an earlier run ended, even after `kill -9`: every phase first looks at what exists.
Phases, in order:
  host           network with DNS and the VIPs, pool, firewall, load balancer
  media          what the machines boot with, and their disks
  bootstrap      the bootstrap machine, until the API answers
  control-plane  the masters, until they have joined (their requests for certificates are approved)
  pivot          the control plane moves to the masters; the bootstrap machine is removed
  workers        the workers, until they are ready
  convergence    every operator is available, not progressing and not degraded
  verify         nodes, operators, etcd; a workload and its route; the console
A single node that bootstraps itself has neither bootstrap nor pivot: control-plane waits for its API, and until operators have taken over.
With `machines: external`, host is a preflight, and every phase says what you have to boot, from what, and waits for it; pivot says when to \
take the bootstrap machine out of your load balancer and to switch it off.
A disk is lost, and the image of the node OS downloaded, only with `--yes` or after a question on the terminal. Every wait has a limit; after that it says what was seen last, and where to look next.")]
pub(crate) struct Args {
    /// The last phase to go through
    #[arg(long, value_name = "PHASE", conflicts_with = "phase", value_parser = phases())]
    until: Option<Phase>,
    /// Only this phase
    #[arg(long, value_name = "PHASE", value_parser = phases())]
    phase: Option<Phase>,
    /// Agree to lose what is on disks that have to be recreated, and to download the image of the node OS
    #[arg(long)]
    yes: bool,
    /// Do not wait for the cluster: no pivot, no convergence, no verification
    #[arg(long, conflicts_with = "timeout")]
    no_wait: bool,
    /// The time limit of each wait: 90s, 30m, 2h [default: 40m to 90m, by phase]
    #[arg(long, value_name = "TIME", value_parser = parse_age)]
    timeout: Option<Duration>,
    /// Do not ask DNS, load balancer, registry and time servers before your own machines boot
    #[arg(long)]
    skip_preflight: bool,
    #[command(flatten)]
    jobs: Jobs,
}

/// Phases by name, which `--help` and completions list.
fn phases() -> impl TypedValueParser<Value = Phase> {
    PossibleValuesParser::new(Phase::ALL.map(Phase::as_str))
        .try_map(|name| Phase::named(&name).ok_or_else(|| format!("there is no phase `{name}`")))
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<WithLogin<Applied>>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let phases = self.phases()?;
        let mut applied = self.apply(env, &phases, self.yes);
        if let Err(Error::Realize(RealizeError::Obstacles { obstacles })) = &applied
            && obstacles.iter().all(Obstacle::is_image)
            && let Some(download) = planned_download(env)?
            && (self.yes || confirm(env, &question(&download)))
        {
            fetch_boot_images(env, &[download.image])?;
            applied = self.apply(env, &phases, self.yes);
        }
        if let Err(Error::Realize(error @ RealizeError::Confirm { .. })) = &applied
            && confirm(env, &error.to_string())
        {
            applied = self.apply(env, &phases, true);
        }
        if let Err(Error::Realize(RealizeError::Obstacles { obstacles })) = &applied {
            env.events.settle();
            show_obstacles(obstacles);
        }
        let applied = applied?;
        let is_up = !self.no_wait && phases.last().is_some_and(|last| *last >= Phase::Bootstrap);
        Ok(printer.answer(&applied, || show(&applied, is_up)))
    }

    /// Executes these phases; `yes` permits losing disks.
    fn apply(&self, env: Env<'_>, phases: &[Phase], yes: bool) -> Result<WithLogin<Applied>> {
        with_workspace(env, self.jobs.count(), |realizer, workspace| {
            let cluster = realizer.cluster.filter(|_| !self.no_wait);
            let questions = realizer.questions.filter(|_| !self.skip_preflight);
            let realizer = Realizer { cluster, questions, limit: self.timeout, ..realizer };
            let result = realize::apply(&realizer, phases, yes)?;
            Ok(WithLogin { login: Login::new(env, workspace, &result.closure), result })
        })
    }

    /// The phases to execute; without waiting, excludes those that only wait.
    fn phases(&self) -> Result<Vec<Phase>> {
        let waits = |phase: &Phase| matches!(phase, Phase::Pivot | Phase::Convergence | Phase::Verify);
        let last = self.until.unwrap_or(Phase::Verify);
        match self.phase {
            Some(only) if self.no_wait && waits(&only) => {
                Err(Error::usage(format!("the phase `{}` only waits", only.as_str()), "drop `--no-wait`"))
            }
            Some(only) => Ok(vec![only]),
            None => Ok(Phase::ALL
                .into_iter()
                .filter(|phase| *phase <= last && !(self.no_wait && waits(phase)))
                .collect()),
        }
    }
}

fn question(download: &PlannedDownload) -> String {
    format!("the image of the node OS is not on this machine: {} is downloaded first", shown(download))
}

fn show(WithLogin { result: applied, login }: &WithLogin<Applied>, is_up: bool) {
    show_operators(&applied.operators);
    for check in &applied.checks {
        line(format!("{}: {}", check.name, check.detail));
    }
    match applied.steps.len() {
        0 => line("nothing to do"),
        1 => line("1 step taken"),
        count => line(format!("{count} steps taken")),
    }
    if is_up {
        login.show();
    }
}
