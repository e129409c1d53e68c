//! `realize destroy`: removes what `apply` created.

use std::process::ExitCode;

use super::realizer::with_realizer;
use super::{confirm, show_root_commands};
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, line};
use crate::cli::{Error, Printer, Result};
use crate::openshift::config::Machines;
use crate::openshift::workspace::{ClusterDir, Env, read_cluster};
use crate::realize::Destroyed;

/// Remove what `apply` made, disks included, and nothing else
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tinderbox realize destroy --yes

Machines of your own (`machines: external`) stay as they are; only what `realize` keeps about them is removed.")]
pub(crate) struct Args {
    /// Agree to lose everything on the machines' disks
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Destroyed>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let lost = "everything on the machines' disks would be lost";
        // Machines of the user's own stay as they are: there is nothing to agree to.
        let is_ours = read_cluster(&ClusterDir::open(env.directory)?)?.machines == Machines::Libvirt;
        if is_ours && !self.yes && !confirm(env, lost) {
            let advice = Some("`--yes` agrees to that".into());
            return Err(Error::Usage { message: lost.into(), advice });
        }
        let done = with_realizer(env, self.jobs.count(), |realizer| Ok(crate::realize::destroy(&realizer)?))?;
        Ok(printer.answer(&done, || {
            line(format!("{} removed", count(done.removed.len(), "resource")));
            done.left.iter().for_each(|left| line(format!("left: {left}")));
            show_root_commands(&done.privileged);
        }))
    }
}
