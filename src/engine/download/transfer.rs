//! Brings the bytes: appends to what is there, over as many connections as it takes, and judges the digest.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::part::Written;
use super::source::{Interrupted, Source, too_short};
use super::{DownloadError, Downloader, LIMIT, PROGRESS, Result, TOLD, Wanted, unpack};
use crate::base::fs::{self, At};
use crate::engine::registry::remote::file::shown;

impl Downloader<'_> {
    /// Downloads what is missing of a file; returns its size.
    pub(super) fn download(&self, wanted: &Wanted, part: &Path) -> Result<u64> {
        let mut written = Written::open(part)?;
        if written.sha256() == wanted.sha256 {
            return Ok(written.at); // killed between the last byte and the next step
        }
        let mut resumed = written.at > 0;
        loop {
            self.append_all(wanted, &mut written)?;
            let found = written.sha256();
            if found == wanted.sha256 {
                written.file.sync_data().at("sync", part)?;
                return Ok(written.at);
            }
            written.clear()?;
            if !std::mem::replace(&mut resumed, false) {
                fs::remove_file(part)?;
                let (expected, found) = (wanted.sha256.hex(), found.hex());
                return Err(DownloadError::Mismatch { url: shown(&wanted.url), expected, found });
            }
        }
    }

    /// Appends until the end of the file, over as many connections as it takes.
    fn append_all(&self, wanted: &Wanted, written: &mut Written) -> Result<()> {
        let (mut tries, mut counted) = (0, written.at);
        loop {
            let (error, retry) = match self.append(wanted, written) {
                Ok(()) => return Ok(()),
                Err(Interrupted::Final(error)) => return Err(error),
                Err(Interrupted::Connection { error, retry }) => (error, retry),
            };
            if written.at >= counted + PROGRESS {
                (tries, counted) = (0, written.at);
            }
            let delay = self.remote.delays().get(tries).filter(|_| retry);
            let Some(delay) = delay.copied() else {
                return Err(match written.at {
                    0 => error.into(),
                    at => DownloadError::Broken { url: shown(&wanted.url), at, source: Box::new(error) },
                });
            };
            tries += 1;
            self.pause(delay)?;
        }
    }

    /// One connection: appends what it brings.
    fn append(&self, wanted: &Wanted, written: &mut Written) -> std::result::Result<(), Interrupted> {
        let mut source = match Source::open(self, &wanted.url, written.at) {
            Err(Interrupted::Connection { .. }) if self.cancel.load(Ordering::Relaxed) => {
                return Err(DownloadError::Cancelled.into());
            }
            opened => match opened? {
                Some(source) => source,
                None => {
                    // It is shorter than what is there, which therefore is something else.
                    written.clear()?;
                    return self.append(wanted, written);
                }
            },
        };
        if source.start() != written.at {
            written.clear()?;
            if source.start() != 0 {
                source = Source::open(self, &wanted.url, 0)?.ok_or_else(|| too_short(&wanted.url))?;
            }
        }
        let total = source.total();
        self.check_room(wanted, total, written)?;
        let limit = total.unwrap_or(LIMIT).min(LIMIT);
        let mut told: Option<Instant> = None;
        loop {
            if told.is_none_or(|told| told.elapsed() >= TOLD) {
                told = Some(Instant::now());
                self.tell(wanted, "downloading", written.at, total);
            }
            let Some(chunk) = source.next()? else { break };
            if written.at + chunk.len() as u64 > limit {
                written.clear()?;
                let _ = fs::remove_file(&written.path); // the error below is reported
                return Err(DownloadError::TooLarge { what: shown(&wanted.url), limit }.into());
            }
            written.append(&chunk)?;
        }
        match total {
            Some(total) if written.at < total => Err(too_short(&wanted.url)),
            _ => Ok(()),
        }
    }

    /// Fails before the first byte if the rest does not fit.
    fn check_room(&self, wanted: &Wanted, total: Option<u64>, written: &Written) -> Result<()> {
        let Some(total) = total else { return Ok(()) };
        if total > LIMIT {
            return Err(DownloadError::TooLarge { what: shown(&wanted.url), limit: LIMIT });
        }
        let packed = unpack::Packing::of(&wanted.name).is_some();
        // What is unpacked is at least as large.
        let needed = total.saturating_sub(written.at) + if packed { total } else { 0 };
        let path = self.store.downloads_dir();
        let available = fs::available(&path)?;
        if available < needed {
            let url = shown(&wanted.url);
            return Err(DownloadError::NoRoom { url, needed, available, packed, path });
        }
        Ok(())
    }
}
