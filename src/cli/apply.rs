//! `realize apply`: its arguments, and how it ended.

use std::io::{BufRead as _, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::args::{Jobs, parse_age};
use super::output::{line, table};
use super::realize::tell;
use super::run::{jobs, say};
use crate::cli::ops::realize::{ApplyRequest, apply};
use crate::cli::ops::{Env, OpsError, Result};
use crate::realize::{Applied, Operator, Phase, RealizeError};

#[derive(Debug, clap::Args)]
pub(super) struct Apply {
    /// The last phase to go through
    #[arg(long, value_name = "PHASE", conflicts_with = "phase", value_parser = phases())]
    until: Option<Phase>,
    /// Only this phase
    #[arg(long, value_name = "PHASE", value_parser = phases())]
    phase: Option<Phase>,
    /// Agree that what is on disks which have to be made again is lost
    #[arg(long)]
    yes: bool,
    /// Wait for nothing of the cluster: no pivot, no convergence, nothing is tried
    #[arg(long, conflicts_with = "timeout")]
    no_wait: bool,
    /// The longest that any one wait may take: 90s, 30m, 2h [default: 40m to 90m, by phase]
    #[arg(long, value_name = "TIME", value_parser = parse_age)]
    timeout: Option<Duration>,
    #[command(flatten)]
    jobs: Jobs,
}

/// Phases by their names, which `--help` and completions list.
fn phases() -> impl TypedValueParser<Value = Phase> {
    PossibleValuesParser::new(Phase::ALL.map(Phase::as_str))
        .try_map(|name| Phase::named(&name).ok_or_else(|| format!("there is no phase `{name}`")))
}

impl Apply {
    /// The phases to go through. Those that only wait are none of a run that does not.
    fn phases(&self) -> Result<Vec<Phase>> {
        let waits = |phase: &Phase| matches!(phase, Phase::Pivot | Phase::Convergence | Phase::Verify);
        let last = self.until.unwrap_or(Phase::Verify);
        match self.phase {
            Some(only) if self.no_wait && waits(&only) => Err(OpsError::Usage {
                message: format!("the phase `{}` is a wait", only.as_str()),
                advice: Some("leave `--no-wait` out".into()),
            }),
            Some(only) => Ok(vec![only]),
            None => Ok(Phase::ALL
                .into_iter()
                .filter(|phase| *phase <= last && !(self.no_wait && waits(phase)))
                .collect()),
        }
    }
}

/// Does what was asked.
pub(super) fn run(env: Env<'_>, json: bool, asked: &Apply) -> Result<ExitCode> {
    let mut request = ApplyRequest {
        jobs: jobs(&asked.jobs),
        phases: asked.phases()?,
        yes: asked.yes,
        wait: !asked.no_wait,
        limit: asked.timeout,
    };
    let mut applied = apply(env, &request);
    if let Err(OpsError::Realize(error @ RealizeError::Confirm { .. })) = &applied
        && agrees(env, &error.to_string())
    {
        request.yes = true;
        applied = apply(env, &request);
    }
    let applied = match applied {
        Err(OpsError::Realize(RealizeError::Obstacles { obstacles })) => {
            env.events.settle();
            tell(&obstacles);
            return Err(RealizeError::Obstacles { obstacles }.into());
        }
        applied => applied?,
    };
    say(env, json, &applied, || show(&applied));
    Ok(ExitCode::SUCCESS)
}

/// Asks, where somebody is there to answer.
#[expect(clippy::print_stderr, reason = "a question is no data")]
pub(super) fn agrees(env: Env<'_>, what: &str) -> bool {
    let (mut stdin, mut answer) = (std::io::stdin().lock(), String::new());
    if !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        return false;
    }
    env.events.settle();
    eprint!("{what}\nGo on? [y/N] ");
    stdin.read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

fn show(applied: &Applied) {
    operators(&applied.operators);
    for check in &applied.checks {
        line(format!("{}: {}", check.name, check.detail));
    }
    match applied.steps.len() {
        0 => line("everything is as it should be"),
        1 => line("1 step taken"),
        count => line(format!("{count} steps taken")),
    }
}

/// The table of operators, if there are any.
pub(super) fn operators(operators: &[Operator]) {
    if operators.is_empty() {
        return;
    }
    let rows = operators.iter().map(|one| {
        let version = one.version.clone().unwrap_or_default();
        vec![one.name.clone(), version, one.state(), one.message.clone()]
    });
    table(&["OPERATOR", "VERSION", "STATE", "MESSAGE"], &rows.collect::<Vec<_>>());
}
