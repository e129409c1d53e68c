//! Unpacks a download: gzip or xz, by the end of its name. Bounded, whatever the file says of itself.

use std::io::{BufReader, Read, Write as _};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use sha2::Digest as _;

use super::{DownloadError, Downloader, Result, TOLD, UNPACKED_LIMIT, Wanted};
use crate::base::fs::{self, At};
use crate::engine::registry::Sha256;

/// Memory that xz may use for its dictionary, in KiB: `xz -9` uses 64 MiB.
const DICTIONARY: u32 = 256 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Xz,
}

impl Packing {
    /// None if the file is used as it is.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "gz" => Some(Self::Gzip),
            "xz" => Some(Self::Xz),
            _ => None,
        }
    }
}

/// Unpacks into a new file; returns its sha256 and size.
pub(super) fn unpack(
    downloader: &Downloader<'_>,
    wanted: &Wanted,
    packing: Packing,
    from: &Path,
    to: &Path,
) -> Result<(Sha256, u64)> {
    let packed = BufReader::with_capacity(1 << 20, fs::open(from)?);
    let mut reader: Box<dyn Read> = match packing {
        Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
        Packing::Xz => Box::new(XzReader::new_mem_limit(packed, true, DICTIONARY)),
    };
    let mut file = fs::create_new(to, 0o600)?;
    let (mut hasher, mut at, mut told) = (sha2::Sha256::new(), 0, None::<Instant>);
    let mut chunk = vec![0; 1 << 20];
    loop {
        if downloader.cancel.load(Ordering::Relaxed) {
            return Err(DownloadError::Cancelled);
        }
        if told.is_none_or(|told| told.elapsed() >= TOLD) {
            told = Some(Instant::now());
            downloader.tell(wanted, "unpacking", at, None);
        }
        let read = match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(DownloadError::Unpack { name: wanted.name.clone(), problem: error.to_string() });
            }
        };
        at += read as u64;
        if at > UNPACKED_LIMIT {
            return Err(DownloadError::TooLarge { what: wanted.name.clone(), limit: UNPACKED_LIMIT });
        }
        file.write_all(&chunk[..read]).at("write", to)?;
        hasher.update(&chunk[..read]);
    }
    file.sync_data().at("sync", to)?;
    Ok((Sha256::from_bytes(hasher.finalize().into()), at))
}
