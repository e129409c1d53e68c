//! `release …`: what a release is, whether a cluster can go to it, and copies of it.

mod info;
mod mirror;
mod try_release;

use super::{Error, Result, verbs};
use crate::engine::registry::{NameError, Sha256};
use crate::openshift::lock::LockedRelease;

verbs! {
    "Inspect a release, try it, or copy it";
    Info(info::Args),
    Mirror(mirror::Args),
    Try(try_release::Args),
}

fn digest_of(release: &LockedRelease) -> Result<Sha256> {
    let digest = release.image.split_once('@').map_or("", |(_, digest)| digest);
    digest.parse().map_err(|error: NameError| {
        Error::usage(format!("cluster.lock: {error}"), "`tinderbox lock --update release` pins it again")
    })
}
