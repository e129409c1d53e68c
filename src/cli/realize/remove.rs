//! `realize remove`: takes a node out of the running cluster, and removes its machine.

use std::process::ExitCode;
use std::time::Duration;

use super::confirm;
use super::realizer::with_realizer;
use crate::base::hint::did_you_mean;
use crate::cli::arguments::{Jobs, parse_age};
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, line};
use crate::cli::{Error, Printer, Result};
use crate::openshift::workspace::Env;
use crate::realize::{self, RealizeError, Realizer, Removed};

/// Take a node out of the running cluster: its pods leave, its machine is removed, and so is its Node
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox realize remove worker-1
  tinderbox realize remove worker-1 --yes && tinderbox realize apply      a new machine in its place
  tinderbox realize remove worker-1 --yes --timeout 1h

First no new pods are let onto the node, and those that can run elsewhere are evicted, as disruption budgets permit. Then the machine, its \
disk and its boot medium are removed, and last its Node with its requests for certificates. A node that is not ready is not drained. \
A master can leave once etcd has removed its member. Afterwards remove the node from cluster.yaml and lower `replicas` in \
install-config.yaml; otherwise `realize apply` makes a new machine for it, which is how you replace a node.")]
pub(crate) struct Args {
    /// The node
    #[arg(add = crate::cli::complete::node())]
    node: String,
    /// Agree to lose what is on its disk, and pods that nothing recreates
    #[arg(long)]
    yes: bool,
    /// How long its pods may take to leave: 90s, 30m, 2h [default: 20m]
    #[arg(long, value_name = "TIME", value_parser = parse_age)]
    timeout: Option<Duration>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Removed>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let mut removed = self.remove(env, self.yes);
        if let Err(Error::Realize(error @ RealizeError::ConfirmRemoval { .. })) = &removed
            && confirm(env, &error.to_string())
        {
            removed = self.remove(env, true);
        }
        let removed = removed?;
        Ok(printer.answer(&removed, || {
            line(format!(
                "{} removed: {} evicted, {} removed from the host",
                removed.node,
                count(removed.evicted.len(), "pod"),
                count(removed.steps.len(), "resource")
            ));
            line("take it off cluster.yaml and install-config.yaml now; with it, `tinderbox realize apply` makes a new machine in its place");
        }))
    }

    fn remove(&self, env: Env<'_>, yes: bool) -> Result<Removed> {
        with_realizer(env, self.jobs.count(), |realizer| {
            let machines = &realizer.desired.machines;
            let Some(machine) = machines.iter().find(|machine| machine.node == self.node) else {
                let advice = did_you_mean(&self.node, machines.iter().map(|machine| machine.node.as_str()));
                return Err(Error::Usage { message: format!("there is no node `{}`", self.node), advice });
            };
            env.events.settle();
            let realizer = Realizer { limit: self.timeout, ..realizer };
            Ok(realize::remove(&realizer, machine, yes)?)
        })
    }
}
