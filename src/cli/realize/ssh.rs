//! `realize ssh`: logs in to a node of the cluster.

use std::net::IpAddr;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::realizer::with_workspace;
use crate::base::hint::{Hint as _, did_you_mean};
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::error::explain;
use crate::cli::output::text;
use crate::cli::{Error, Printer, Result};
use crate::openshift::workspace::{Env, Workspace};
use crate::realize;
use crate::realize::desired::DesiredMachine;
use crate::realize::ssh::SshMode;
use crate::realize::{Realizer, SshRoute};

/// Open a shell on a node over SSH, as the user `core`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox realize ssh bootstrap
  tinderbox realize ssh master-0 -- sudo crictl ps -a
  tinderbox realize ssh master-0 --print               only the command

Host keys are kept in `.realize/known_hosts` of the cluster directory; a recreated machine is a new host. If libvirt is \
on another machine (`qemu+ssh://`), that one is the jump host. The exit status is that of `ssh`.")]
pub(crate) struct Args {
    /// The node
    #[arg(add = crate::cli::complete::node())]
    node: String,
    /// Only print the command, for a shell; `--json` prints it as a document
    #[arg(long)]
    print: bool,
    /// The command to run in place of a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    jobs: Jobs,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SshCommand<'a> {
    node: &'a str,
    /// The program and its arguments.
    command: &'a [String],
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<SshCommand<'static>>()];
}

impl Args {
    /// Returns the exit status of `ssh`.
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let Self { node, print, command, jobs } = &self;
        if *print || printer.json {
            let words = with_node(env, jobs.count(), node, |_, way| {
                Ok([vec!["ssh".to_owned()], way()?.arguments(SshMode::Interactive, command)].concat())
            })?;
            return Ok(printer.answer(&SshCommand { node, command: &words }, || {
                let words: Vec<String> = words.iter().map(|word| for_shell(word)).collect();
                text(&format!("{}\n", words.join(" ")));
            }));
        }
        let visit = with_node(env, jobs.count(), node, |(realizer, _), way| {
            Ok(realize::ssh::session(&realizer, &way()?, command)?)
        })?;
        if let Some(trouble) = &visit.trouble {
            explain(trouble, trouble.hint());
        }
        Ok(ExitCode::from(visit.status))
    }
}

/// Quotes a word for a shell.
fn for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,/:@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Works with a node from the cluster's files, and with a route to it if requested.
pub(super) fn with_node<T>(
    env: Env<'_>,
    jobs: usize,
    node: &str,
    work: impl FnOnce((Realizer<'_>, &DesiredMachine), &dyn Fn() -> Result<SshRoute>) -> Result<T>,
) -> Result<T> {
    with_workspace(env, jobs, |realizer, workspace| {
        let machines = &realizer.desired.machines;
        let machine = machines.iter().find(|machine| machine.node == node);
        let address = addresses(workspace).into_iter().find(|(name, _)| name == node);
        let (Some(machine), Some((_, address))) = (machine, address) else {
            let advice = did_you_mean(node, machines.iter().map(|machine| machine.node.as_str()));
            return Err(Error::Usage { message: format!("there is no node `{node}`"), advice });
        };
        env.events.settle();
        work((realizer, machine), &|| Ok(realize::ssh::route(&realizer, machine, address)?))
    })
}

/// The nodes with their first addresses.
pub(super) fn addresses(workspace: &Workspace) -> Vec<(String, IpAddr)> {
    let nodes = workspace.cluster.nodes.iter();
    nodes.filter_map(|node| Some((node.name.clone(), *node.ips.first()?))).collect()
}
