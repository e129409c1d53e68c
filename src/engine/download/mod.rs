//! Downloads a large file into the store, once for all clusters that share it: resumed where it broke off, verified by
//! sha256, unpacked if it is packed.
//!
//! | bad day | what happens |
//! |---|---|
//! | the connection breaks | the rest is asked for (Range), as often as there is progress |
//! | `kill -9` | the next attempt hashes what is there, and asks for the rest |
//! | the server ignores Range | the file starts over |
//! | what was there before is not the beginning of the file | the digest does not match: it starts over, once |
//! | another digest, or more bytes than announced | an error; nothing is kept |
//! | no room | an error before the first byte where the server says the size; what was written is kept |
//! | a server that drips | an error; what came is kept |
//! | two processes | the second waits, and finds the file |
//!
//! | file | what it does |
//! |---|---|
//! | `transfer` | appends what is missing, over as many connections as it takes |
//! | `source` | one connection, or a file of this machine |
//! | `part` | what is on disk, and its digest |
//! | `unpack` | gzip and xz |
//! | `error` | why a file is not there, and what to do |
//!
//! The sha256 decides, so the way there need not be trusted: `http` and `file` URLs are as good as `https`.

mod error;
mod part;
mod source;
mod transfer;
mod unpack;

pub use error::DownloadError;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sha2::Digest as _;

use crate::base::event::{Event, Events};
use crate::base::fs;
use crate::engine::registry::{Remote, Sha256};
use crate::engine::store::{DownloadLock, Store};

/// Larger than any image of an operating system.
const LIMIT: u64 = 16 << 30;
/// The same, unpacked.
const UNPACKED_LIMIT: u64 = 64 << 30;
/// Fewer bytes between two broken connections are no progress.
const PROGRESS: u64 = 64 << 10;
/// How often progress is told.
const TOLD: Duration = Duration::from_millis(500);
/// How often a process that waits for another looks again.
const WAIT: Duration = Duration::from_millis(100);

/// A file to download.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// For people: the file's name. `.gz` and `.xz` are unpacked.
    pub name: String,
    /// `https`, `http` or `file`.
    pub url: String,
    pub sha256: Sha256,
    /// Of what is packed in it, if somebody said so.
    pub unpacked: Option<Sha256>,
}

/// A file that is there and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub path: PathBuf,
    /// Of this file: if it was packed, of what was in it.
    pub sha256: Sha256,
    pub bytes: u64,
    /// Whether it was there already.
    pub cached: bool,
}

type Result<T> = std::result::Result<T, DownloadError>;

/// Downloads into a store.
#[derive(Clone, Copy)]
pub struct Downloader<'a> {
    pub store: &'a Store,
    pub remote: &'a Remote,
    pub events: &'a dyn Events,
    pub cancel: &'a AtomicBool,
}

impl Downloader<'_> {
    /// The file: from the store, else downloaded. A damaged file is downloaded again.
    pub fn fetch(&self, wanted: &Wanted) -> Result<Fetched> {
        let known = match unpack::Packing::of(&wanted.name) {
            None => Some(wanted.sha256),
            Some(_) => wanted.unpacked,
        };
        if let Some(found) = self.existing(known)? {
            return Ok(found);
        }
        fs::create_dirs(&self.store.downloads_dir())?;
        let _working = self.lock(wanted)?;
        if let Some(found) = self.existing(known)? {
            return Ok(found); // another process was faster
        }
        let started = Instant::now();
        let complete = self.store.download_path(&wanted.sha256);
        let part = complete.with_extension("part");
        let bytes = self.download(wanted, &part)?;
        let fetched = match unpack::Packing::of(&wanted.name) {
            None => {
                publish(&part, &complete)?;
                Fetched { path: complete, sha256: wanted.sha256, bytes, cached: false }
            }
            Some(packing) => self.unpack(wanted, packing, &part)?,
        };
        let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.events.emit(Event::Fetched { name: wanted.name.clone(), bytes: fetched.bytes, milliseconds });
        Ok(fetched)
    }

    /// A complete download. One that is damaged is removed.
    fn existing(&self, sha256: Option<Sha256>) -> Result<Option<Fetched>> {
        let Some(sha256) = sha256 else { return Ok(None) };
        let Some(path) = self.store.download(&sha256)? else { return Ok(None) };
        let Some(hasher) = fs::optional(fs::hash_until(&path, self.cancel))? else { return Ok(None) };
        if Sha256::from_bytes(hasher.finalize().into()) == sha256 {
            let bytes = fs::metadata(&path)?.len();
            return Ok(Some(Fetched { path, sha256, bytes, cached: true }));
        }
        let text = format!("`{}` is damaged, and is downloaded again", path.display());
        self.events.emit(Event::Warning { text });
        fs::optional(fs::remove_file(&path))?;
        Ok(None)
    }

    /// Waits until nobody else works on this download.
    fn lock(&self, wanted: &Wanted) -> Result<DownloadLock> {
        let mut told = false;
        loop {
            if let Some(lock) = self.store.try_lock_download(&wanted.sha256)? {
                return Ok(lock);
            }
            if !std::mem::replace(&mut told, true) {
                let text = format!("another process downloads {}; waiting for it", wanted.name);
                self.events.emit(Event::Notice { text });
            }
            self.pause(WAIT)?;
        }
    }

    fn tell(&self, wanted: &Wanted, stage: &'static str, bytes: u64, total: Option<u64>) {
        self.events.emit(Event::Fetching { name: wanted.name.clone(), stage, bytes, total });
    }

    /// Sleeps, unless the user cancels.
    fn pause(&self, delay: Duration) -> Result<()> {
        let end = Instant::now() + delay;
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(DownloadError::Cancelled);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(WAIT));
        }
    }

    /// Unpacks a complete download, verifies what was in it, and removes it.
    fn unpack(&self, wanted: &Wanted, packing: unpack::Packing, part: &Path) -> Result<Fetched> {
        let temporary = part.with_extension("unpacking");
        fs::optional(fs::remove_file(&temporary))?;
        let done = unpack::unpack(self, wanted, packing, part, &temporary);
        let done = done.and_then(|(sha256, bytes)| {
            if let Some(expected) = wanted.unpacked.filter(|expected| *expected != sha256) {
                let (expected, found) = (expected.hex(), sha256.hex());
                return Err(DownloadError::UnpackedMismatch { name: wanted.name.clone(), expected, found });
            }
            let path = self.store.download_path(&sha256);
            publish(&temporary, &path)?;
            Ok(Fetched { path, sha256, bytes, cached: false })
        });
        if done.is_err() {
            let _ = fs::remove_file(&temporary); // the error is reported
        }
        let done = done?;
        fs::remove_file(part)?;
        Ok(done)
    }
}

/// The size of a file, if its server says so within a few seconds.
pub(crate) fn size_of(remote: &Remote, url: &str) -> Option<u64> {
    const SOON: Duration = Duration::from_secs(5);
    match source::local(url) {
        Some(path) => fs::metadata(Path::new(path)).ok().map(|found| found.len()),
        None => remote.file_size(url, SOON),
    }
}

/// Gives a complete file its name.
fn publish(temporary: &Path, path: &Path) -> Result<()> {
    fs::set_mode(temporary, 0o444)?;
    fs::rename(temporary, path)?;
    Ok(fs::sync_dir(path.parent().unwrap_or(path))?)
}
