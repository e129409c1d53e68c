//! `release …`: what a release is, and copies of it.

mod info;
mod mirror;

use std::process::ExitCode;

use clap::Subcommand;

use super::{Error, Printer, Result};
use crate::engine::registry::{NameError, Sha256};
use crate::openshift::lock::LockedRelease;
use crate::openshift::workspace::Env;

/// Look into a release, or copy it
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    Info(info::Args),
    Mirror(mirror::Args),
}

impl Verb {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        match self {
            Self::Info(verb) => verb.run(env, printer),
            Self::Mirror(verb) => verb.run(env, printer),
        }
    }
}

fn digest_of(release: &LockedRelease) -> Result<Sha256> {
    let digest = release.image.split_once('@').map_or("", |(_, digest)| digest);
    digest.parse().map_err(|error: NameError| {
        Error::usage(format!("cluster.lock: {error}"), "`tinderbox lock --update release` pins it again")
    })
}
