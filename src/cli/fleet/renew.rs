//! `fleet renew`: new dates for the certificates of all sites, or of some, with the same keys. Changes fleet.lock alone, so that it
//! shows up in a diff and can be undone with git. Builds nothing.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::open::{Opened, Selection};
use crate::base::fs::{self, Sharing};
use crate::base::time::rfc3339;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, line};
use crate::cli::{Error, Printer, Result};
use crate::openshift::fleet::{FleetLock, SiteKind};
use crate::openshift::workspace::{Env, Missing, this_second};

/// Give the certificates of all sites, or of some, new dates from now on; every key stays, and the next build issues them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox -C fleet fleet renew               all sites
  tinderbox -C fleet fleet renew --only 'de-*' some; the others keep their dates
  tinderbox -C fleet fleet renew --group edge --dry-run
  tinderbox -C fleet fleet diff                what that changes

Sites that are cluster directories have a lock of their own: `tinderbox -C DIR renew`.")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Only say which sites would get new dates
    #[arg(long)]
    dry_run: bool,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<FleetRenewal>()];
}

#[derive(Debug, Serialize, JsonSchema)]
struct FleetRenewal {
    /// From when on the certificates are valid.
    epoch: String,
    sites: Vec<String>,
    /// Sites with a lock of their own.
    left: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = renew(env, &self)?;
        Ok(printer.answer(&done, || {
            let verb = if self.dry_run { "would be" } else { "are" };
            line(format!(
                "certificates of {} {verb} valid from {}",
                count(done.sites.len(), "site"),
                done.epoch
            ));
            if !done.left.is_empty() {
                line(format!("{} with a lock of their own left alone", count(done.left.len(), "site")));
            }
            if !self.dry_run {
                line("`tinderbox fleet build` issues them; commit fleet.lock");
            }
        }))
    }
}

fn renew(env: Env<'_>, args: &Args) -> Result<FleetRenewal> {
    let opened = Opened::open(env, Missing::Unneeded)?;
    let path = &opened.fleet.path;
    // Another process may be pinning a release.
    let guard = fs::open(path)?;
    fs::lock(&guard, path, Sharing::Exclusive, env.cancel)?;
    let Some(lock) = FleetLock::read(path)? else {
        return Err(Error::usage(
            "there is no fleet.lock yet, so there is nothing to renew",
            "`tinderbox fleet build` writes it",
        ));
    };
    let (layered, left): (Vec<_>, Vec<_>) = opened
        .select(&args.selection)?
        .into_iter()
        .partition(|site| matches!(site.kind, SiteKind::Layered(_)));
    let names: Vec<&str> = layered.iter().map(|site| site.name.as_str()).collect();
    let epoch = this_second();
    let some = (!args.selection.is_everything()).then_some(names.as_slice());
    if !args.dry_run && !names.is_empty() {
        lock.renewed_at(epoch, some).write(path)?;
    }
    Ok(FleetRenewal {
        epoch: rfc3339(epoch),
        sites: names.into_iter().map(str::to_owned).collect(),
        left: left.into_iter().map(|site| site.name.clone()).collect(),
    })
}
