//! `seed new`: a new identity for a cluster directory whose seed is lost.

use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::digest::KeyId;
use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::line;
use crate::cli::{Error, Printer, Result};
use crate::openshift::lock::Lock;
use crate::openshift::workspace::seed::Form;
use crate::openshift::workspace::seed::{form, make};
use crate::openshift::workspace::{ClusterDir, Env, LOCK, SEALED, SEED, parse_lock};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Do it although cluster.lock belongs to another seed
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Made {
    file: PathBuf,
    fingerprint: KeyId,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Made>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let made = new(env, self.yes)?;
        Ok(printer.answer(&made, || {
            line(format!("{}: a new identity; back it up, and never commit it", made.file.display()));
        }))
    }
}

fn new(env: Env<'_>, yes: bool) -> Result<Made> {
    let directory = ClusterDir::open(env.directory)?;
    if let Some(form) = form(directory.path())? {
        let name = if form == Form::Sealed { SEALED } else { SEED };
        let advice = "a cluster may still live by it: move it away yourself, then try again";
        return Err(Error::Exists { path: directory.file(name), advice });
    }
    let lock = parse_lock(&directory)?;
    if lock.is_some() && !yes {
        return Err(Error::usage(
            "a new seed makes a new cluster: every key, certificate and generated name changes",
            "`tinderbox seed new --yes`, if the old seed is lost for good",
        ));
    }
    // The seed first: a lock that names a seed which nobody has would be an error for ever.
    let seed = make(directory.path())?;
    let fingerprint = seed.fingerprint();
    if let Some(lock) = lock {
        let lock = Lock { seed: Some(fingerprint), ..lock };
        fs::replace(&directory.file(LOCK), lock.encode().as_bytes(), 0o644)?;
    }
    Ok(Made { file: directory.file(SEED), fingerprint })
}
