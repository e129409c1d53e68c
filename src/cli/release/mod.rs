//! `release …`: what a release is, and copies of it.

mod info;
mod mirror;

use super::{Error, Result, verbs};
use crate::engine::registry::{NameError, Sha256};
use crate::openshift::lock::LockedRelease;

verbs! {
    "Look into a release, or copy it";
    Info(info::Args),
    Mirror(mirror::Args),
}

fn digest_of(release: &LockedRelease) -> Result<Sha256> {
    let digest = release.image.split_once('@').map_or("", |(_, digest)| digest);
    digest.parse().map_err(|error: NameError| {
        Error::usage(format!("cluster.lock: {error}"), "`tinderbox lock --update release` pins it again")
    })
}
