//! `realize`: its arguments, what programs of the host see of our environment, and plans for people.

use std::process::ExitCode;

use clap::Subcommand;

use super::apply::{self, Apply};
use super::approve::{self, Approve};
use super::args::Jobs;
use super::error::explain;
use super::output::{Colour, line, stdout_paint};
use super::run::{jobs, say};
use super::status;
use crate::base::process::Programs;
use crate::cli::ops::{self, Env, OpsError, Result};
use crate::realize::{Obstacle, Privileged, RealizePlan, StepAction};

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
    Plan(Jobs),
    /// Make the machines and bring the cluster up: phase by phase, from wherever an earlier run ended
    #[command(after_help = "Examples:
  tinderbox realize apply                       all phases, until the cluster is up and tried
  tinderbox realize apply --until media         nothing is started yet
  tinderbox realize apply --phase verify        this one again
  tinderbox realize apply --no-wait             only make and start the machines

It goes on from wherever an earlier run ended, also after `kill -9`: before every phase it looks at what is there.
Phases, in order:
  host           network with DNS and the VIPs, pool, firewall, load balancer
  media          what the machines boot with, and their disks
  bootstrap      the bootstrap machine, until the API answers
  control-plane  the masters, until they have joined (their requests for certificates are approved)
  pivot          the control plane moves to the masters; the bootstrap machine is removed
  workers        the workers, until they are ready
  convergence    every operator is available, at rest and well
  verify         nodes, operators, etcd; a workload and its route; the console
A disk is lost only with `--yes`. Every wait ends: after its time it says what was seen last, and how to look further.")]
    Apply(Apply),
    /// Say how the machines stand
    #[command(after_help = "Example:
  tinderbox realize status --json")]
    Status(Jobs),
    /// Approve the nodes' requests for certificates, and nobody else's
    #[command(after_help = "Examples:
  tinderbox realize approve                       one look
  tinderbox realize approve --watch               until every master and worker has joined
  tinderbox realize approve --watch --timeout 2h --json
  tinderbox realize approve --server localhost:6443

A node asks twice: for a client certificate, as the user of the bootstrap kubeconfig in its Ignition, and once it has joined
for a serving certificate, as itself. Only that is approved, with exactly the subject, names, addresses and usages that
such a node has. Everything else is reported and left alone: neither approved nor denied. libvirt is not needed.
Exit codes: 0 done, 1 the API cannot be used, or with `--watch`: nodes are missing after the time.")]
    Approve(Approve),
    /// Print what a node wrote to its serial console, or over SSH a log of it
    #[command(after_help = "Examples:
  tinderbox realize logs bootstrap                     its serial console
  tinderbox realize logs bootstrap bootkube --follow
  tinderbox realize logs master-0 etcd --lines 100     every container of a static pod, with headings
  tinderbox realize logs worker-0 NetworkManager.service

Logs over SSH: bootkube, kubelet, crio; etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
cluster-version-operator, kube-proxy; ignition; all; and units of any name.")]
    Logs(super::node::Logs),
    /// Go to a node with SSH, as the user `core`
    #[command(after_help = "Examples:
  tinderbox realize ssh bootstrap
  tinderbox realize ssh master-0 -- sudo crictl ps -a
  tinderbox realize ssh master-0 --print               only the command

Host keys are kept in `.realize/known_hosts` of the cluster directory; a machine that was made again is another host. If
libvirt is on another machine (`qemu+ssh://`), that one is jumped over. The exit status is that of `ssh`.")]
    Ssh(super::node::Ssh),
    /// Put everything that helps after a failed boot into one archive, secrets masked
    #[command(after_help = "Examples:
  tinderbox realize gather
  tinderbox realize gather --output /tmp/failed.tar.gz --json

Consoles, journals, containers and static pods' logs of every node, what libvirt and the load balancer say, the plan and the
status. Whatever does not answer is in its `errors.txt`, and stops nothing else. Secrets of the closure, and what looks like a
key, a token or a password, are masked. The archive is for its owner only.")]
    Gather(super::node::Gather),
    /// Remove what `apply` made, disks included, and nothing else
    #[command(after_help = "Example:
  tinderbox realize destroy --yes")]
    Destroy {
        /// Agree that everything on the machines' disks is lost
        #[arg(long)]
        yes: bool,
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
        Realize::Plan(asked) => {
            let plan = ops::realize::plan(env, jobs(asked))?;
            say(env, json, &plan, || show(&plan));
            tell(&plan.obstacles);
            Ok(if plan.obstacles.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Realize::Apply(asked) => apply::run(env, json, asked),
        Realize::Status(asked) => {
            let status = ops::realize::status(env, jobs(asked))?;
            say(env, json, &status, || status::show(&status));
            Ok(ExitCode::SUCCESS)
        }
        Realize::Approve(asked) => approve::run(env, json, asked),
        Realize::Logs(asked) => super::node::logs(env, json, asked),
        Realize::Ssh(asked) => super::node::ssh(env, json, asked),
        Realize::Gather(asked) => super::node::gather(env, json, asked),
        Realize::Destroy { yes, jobs: asked } => {
            let lost = "everything on the machines' disks would be lost";
            if !yes && !apply::agrees(env, lost) {
                let advice = Some("`--yes` agrees to that".into());
                return Err(OpsError::Usage { message: lost.into(), advice });
            }
            let done = ops::realize::destroy(env, jobs(asked))?;
            say(env, json, &done, || {
                line(format!("{} things removed", done.removed.len()));
                done.left.iter().for_each(|left| line(format!("left: {left}")));
                with_root(&done.privileged);
            });
            Ok(ExitCode::SUCCESS)
        }
    }
}

pub(super) fn tell(obstacles: &[Obstacle]) {
    for obstacle in obstacles {
        explain(obstacle, Some(obstacle.hint.clone()));
    }
}

fn show(plan: &RealizePlan) {
    let colour = |action: StepAction| match action {
        StepAction::Create => Colour::Green,
        StepAction::Change => Colour::Yellow,
        StepAction::Keep => Colour::Dim,
        StepAction::Remove => Colour::Red,
    };
    for step in &plan.steps {
        let word = stdout_paint(&format!("{:<6}", step.action.as_str()), colour(step.action));
        line(format!("{word}  {:<8}  {}", step.resource.as_str(), step.name));
        for why in &step.why {
            line(format!("                    {why}"));
        }
        if step.destroys {
            line(format!("                    {}", stdout_paint("what is on it is lost", Colour::Red)));
        }
    }
    if plan.is_done() {
        line("everything is as it should be");
    }
    with_root(&plan.privileged);
}

/// Commands for root, each with its reason.
fn with_root(commands: &[Privileged]) {
    if !commands.is_empty() {
        line("\nWith root:");
    }
    for one in commands {
        line(format!("  {}\n      {}", one.command, one.why));
    }
}
