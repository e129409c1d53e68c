//! `realize`: its arguments, what programs of the host see of our environment, and plans for people.

use std::process::ExitCode;

use clap::Subcommand;

use super::args::Jobs;
use super::error::explain;
use super::output::{Colour, line, stdout_paint};
use super::run::{jobs, say};
use crate::ops::{self, Env, Result};
use crate::process::Programs;
use crate::realize::{Action, Plan};

/// What to do with the machines.
#[derive(Debug, Subcommand)]
pub(super) enum Realize {
    /// Say what would be made, changed or removed on the host, and why; changes nothing
    #[command(after_help = "Examples:
  tinderbox realize plan
  tinderbox realize plan --json

The host is the one of `libvirt.uri` in cluster.yaml: `qemu:///system` (the default), `qemu:///session`, or another
machine with `qemu+ssh://user@host/system`. Only what this cluster made is ever changed: it knows its network, pool and
machines by their UUIDs, which come out of the seed.
Exit codes: 0 nothing stands in the way, 1 something does.")]
    Plan {
        #[command(flatten)]
        jobs: Jobs,
    },
}

/// What a program of the host may see: where programs are, who we are, and how to get to another host.
const PASSED: [&str; 10] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TERM",
    "SSH_AUTH_SOCK",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "LIBVIRT_AUTH_FILE",
];

/// Programs of the host, with as much of our environment as they need; they speak English, because we read what they say.
#[expect(clippy::disallowed_methods, reason = "the environment is read here and nowhere below")]
pub(super) fn programs() -> Programs {
    let passed = PASSED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?)));
    let english = [("LC_ALL".to_owned(), "C".into())];
    Programs { environment: passed.chain(english).collect() }
}

/// Does what was asked.
pub(super) fn run(env: Env<'_>, json: bool, verb: &Realize) -> Result<ExitCode> {
    match verb {
        Realize::Plan { jobs: asked } => {
            let plan = ops::realize::plan(env, jobs(asked))?;
            say(env, json, &plan, || show(&plan));
            for obstacle in &plan.obstacles {
                explain(obstacle, Some(obstacle.hint.clone()));
            }
            Ok(if plan.obstacles.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

fn show(plan: &Plan) {
    let colour = |action: Action| match action {
        Action::Create => Colour::Green,
        Action::Change => Colour::Yellow,
        Action::Keep => Colour::Dim,
        Action::Remove => Colour::Red,
    };
    for step in &plan.steps {
        let word = stdout_paint(&format!("{:<6}", step.action.as_str()), colour(step.action));
        line(format!("{word}  {:<7}  {}", step.thing.as_str(), step.name));
        for why in &step.why {
            line(format!("                   {why}"));
        }
        if step.destroys {
            line(format!("                   {}", stdout_paint("what is on it is lost", Colour::Red)));
        }
    }
    if plan.is_done() {
        line("everything is as it should be");
    }
    if !plan.privileged.is_empty() {
        line("\nWith root:");
        for one in &plan.privileged {
            line(format!("  {}\n      {}", one.command, one.why));
        }
    }
}
