//! Files in the pool: brought whole, or not at all.
//!
//! libvirt cannot rename a volume, so a file that was brought whole has a small one beside it that says so (`NAME.ok`). One
//! without it is what an interrupted run left, and is brought again.

use std::path::Path;
use std::time::Duration;

use sha2::Digest as _;

use super::wanted::{Disk, Volume};
use super::{RealizeError, Virsh};
use crate::base::fs;

/// How long a transfer may take: gigabytes over ssh.
const TRANSFER: Duration = Duration::from_secs(3600);

/// The name of the mark that a file is whole.
pub(super) fn whole(name: &str) -> String {
    format!("{name}.ok")
}

/// Brings a file into the pool. What is there of it is replaced.
pub(super) fn bring(virsh: Virsh<'_>, pool: &str, volume: &Volume) -> Result<(), RealizeError> {
    let Some(source) = volume.source.as_deref().and_then(Path::to_str) else {
        return Err(RealizeError::NoSource { name: volume.name.clone() });
    };
    if let Some(expected) = &volume.sha256 {
        let found = data_encoding::HEXLOWER.encode(&fs::hash(Path::new(source))?.finalize());
        if found != *expected {
            let (path, expected) = (source.to_owned(), expected.clone());
            return Err(RealizeError::OtherImage { path, expected, found });
        }
    }
    remove(virsh, pool, &whole(&volume.name))?;
    remove(virsh, pool, &volume.name)?;
    let bytes = volume.bytes.to_string();
    virsh.ask(&["vol-create-as", pool, &volume.name, &bytes, "--format", "raw"])?;
    virsh.ask_for(TRANSFER, &["vol-upload", "--pool", pool, &volume.name, source])?;
    mark(virsh, pool, &whole(&volume.name))
}

/// A name in the pool that says something by being there.
pub(super) fn mark(virsh: Virsh<'_>, pool: &str, name: &str) -> Result<(), RealizeError> {
    virsh.ask(&["vol-create-as", pool, name, "1", "--format", "raw"]).map(drop)
}

/// Makes a disk: empty, or beginning as the image.
pub(super) fn create(
    virsh: Virsh<'_>,
    pool: &str,
    disk: &Disk,
    base: Option<&Volume>,
) -> Result<(), RealizeError> {
    let bytes = disk.bytes.to_string();
    let mut args = vec!["vol-create-as", pool, &disk.name, &bytes, "--format", "qcow2"];
    if let Some(base) = base {
        args.extend(["--backing-vol", &base.name, "--backing-vol-format", "qcow2"]);
    }
    virsh.ask(&args).map(drop)
}

/// Removes a file, if it is there.
pub(super) fn remove(virsh: Virsh<'_>, pool: &str, name: &str) -> Result<bool, RealizeError> {
    let ended = virsh.run(&["vol-delete", "--pool", pool, name])?;
    if ended.is_success() {
        return Ok(true);
    }
    match ended.stderr.contains("Storage volume not found") {
        true => Ok(false),
        false => Err(virsh.failed(&["vol-delete", name], &ended)),
    }
}

/// Bytes that a file takes on the disk.
pub(super) fn allocated(virsh: Virsh<'_>, pool: &str, name: &str) -> Result<Option<u64>, RealizeError> {
    let ended = virsh.run(&["vol-info", "--bytes", "--pool", pool, name])?;
    Ok(if ended.is_success() { super::host::number(&ended.text(), "Allocation:") } else { None })
}
