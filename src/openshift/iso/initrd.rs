//! The initrd that a live ISO accepts: a cpio archive (newc) with one file, compressed with xz. Deterministic: without
//! time, owner or inode.
//!
//! xz and not gzip, like coreos-installer: the area has 256 KiB, and a bootstrap node's config has megabytes. The
//! kernel can read it if its checksum is CRC32.

use std::io::{self, Write};

use lzma_rust2::{CheckType, XzOptions, XzWriter};

use super::{IsoError, Result};

/// The file in which the live system looks for its Ignition config.
const CONFIG: &str = "config.ign";
/// A regular file, readable by its owner only.
const MODE: u32 = 0o100_600;
/// Ends an archive.
const TRAILER: &str = "TRAILER!!!";
/// Compression level. Its window of 8 MiB exceeds any config.
const PRESET: u32 = 6;

/// The initrd with this Ignition config for the live system.
pub(crate) fn initrd(config: &str) -> Result<Vec<u8>> {
    let mut archive = Vec::with_capacity(config.len() + 512);
    entry(&mut archive, CONFIG, MODE, 1, config.as_bytes());
    entry(&mut archive, TRAILER, 0, 1, &[]);
    compress(&archive, None).map_err(|source| IsoError::Read { what: "the compressed initrd".into(), source })
}

/// One entry: a header of hexadecimal numbers, the name, the content; each padded to four bytes.
fn entry(archive: &mut Vec<u8>, name: &str, mode: u32, links: u32, content: &[u8]) {
    let (inode, user, group, time, device) = (0, 0, 0, 0, 0);
    let size = content.len() as u32; // no area has four gigabytes
    let name_size = name.len() as u32 + 1;
    archive.extend_from_slice(b"070701");
    for number in [
        inode, mode, user, group, links, time, size, device, device, device, device, name_size,
        /* checksum */ 0,
    ] {
        archive.extend_from_slice(format!("{number:08x}").as_bytes());
    }
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    pad(archive);
    archive.extend_from_slice(content);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

/// Compresses with xz. The window, in bytes, is how far back repetitions are found.
pub(super) fn compress(archive: &[u8], window: Option<u32>) -> io::Result<Vec<u8>> {
    let mut options = XzOptions::with_preset(PRESET);
    if let Some(window) = window {
        options.lzma_options.dict_size = window;
    }
    options.set_check_sum_type(CheckType::Crc32);
    let mut writer = XzWriter::new(Vec::new(), options)?;
    writer.write_all(archive)?;
    writer.finish()
}
