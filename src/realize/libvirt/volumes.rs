//! Volumes of our storage pool. An upload is complete or does not count.
//!
//! libvirt cannot rename a volume, so a complete upload gets a small volume beside it that says so (`NAME.ok`). A volume
//! without one is left over from an interrupted run, and is uploaded again.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use sha2::Digest as _;

use super::LibvirtError;
use super::connection::Connection;
use super::definitions::{Disk, StorageVolume};
use crate::base::fs;
use crate::realize::Result;

/// How long a transfer may take: gigabytes over ssh.
const TRANSFER: Duration = Duration::from_secs(3600);

/// The name of the volume that says that another one is complete.
pub(super) fn completion_of(name: &str) -> String {
    format!("{name}.ok")
}

/// The volumes of a pool. Ours have no spaces in their names; others do not matter.
pub(super) fn list(connection: Connection<'_>, pool: &str) -> Result<BTreeSet<String>> {
    connection.query(&["pool-refresh", pool])?; // libvirt's list may be older than the directory
    let text = connection.query(&["vol-list", pool])?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect())
}

/// Uploads a file, and replaces whatever is there under its name.
pub(super) fn upload(connection: Connection<'_>, pool: &str, volume: &StorageVolume) -> Result<()> {
    let Some(source) = volume.source.as_deref().and_then(Path::to_str) else {
        return Err(LibvirtError::NoSource { name: volume.name.clone() }.into());
    };
    if let Some(expected) = &volume.sha256 {
        let digest = fs::hash(Path::new(source))?.finalize();
        let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        if found != *expected {
            let (path, expected) = (source.to_owned(), expected.clone());
            return Err(LibvirtError::ImageMismatch { path, expected, found }.into());
        }
    }
    remove(connection, pool, &completion_of(&volume.name))?;
    remove(connection, pool, &volume.name)?;
    let bytes = volume.bytes.to_string();
    connection.query(&["vol-create-as", pool, &volume.name, &bytes, "--format", "raw"])?;
    connection.query_within(TRANSFER, &["vol-upload", "--pool", pool, &volume.name, source])?;
    create_flag(connection, pool, &completion_of(&volume.name))
}

/// Creates a volume that says something by its name alone.
pub(super) fn create_flag(connection: Connection<'_>, pool: &str, name: &str) -> Result<()> {
    connection.query(&["vol-create-as", pool, name, "1", "--format", "raw"]).map(drop)
}

/// Creates a disk: empty, or backed by the image.
pub(super) fn create_disk(
    connection: Connection<'_>,
    pool: &str,
    disk: &Disk,
    base: Option<&StorageVolume>,
) -> Result<()> {
    let bytes = disk.bytes.to_string();
    let mut args = vec!["vol-create-as", pool, &disk.name, &bytes, "--format", "qcow2"];
    if let Some(base) = base {
        args.extend(["--backing-vol", &base.name, "--backing-vol-format", "qcow2"]);
    }
    connection.query(&args).map(drop)
}

/// Removes a volume. Returns whether it existed.
pub(super) fn remove(connection: Connection<'_>, pool: &str, name: &str) -> Result<bool> {
    let output = connection.run(&["vol-delete", "--pool", pool, name])?;
    match output.is_success() {
        true => Ok(true),
        false if output.stderr.contains("Storage volume not found") => Ok(false),
        false => Err(connection.failed(&["vol-delete", name], &output)),
    }
}

/// Bytes that a volume takes on the host's disk.
pub(super) fn allocation(connection: Connection<'_>, pool: &str, name: &str) -> Result<Option<u64>> {
    info(connection, pool, name, "Allocation:")
}

/// Bytes that a volume holds.
pub(super) fn capacity(connection: Connection<'_>, pool: &str, name: &str) -> Result<Option<u64>> {
    info(connection, pool, name, "Capacity:")
}

fn info(connection: Connection<'_>, pool: &str, name: &str, field: &str) -> Result<Option<u64>> {
    let output = connection.run(&["vol-info", "--bytes", "--pool", pool, name])?;
    Ok(if output.is_success() { bytes_after(&output.text(), field) } else { None })
}

/// The number after a word at the beginning of a line.
pub(super) fn bytes_after(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(word)?.split_whitespace().next()?.parse().ok())
}
