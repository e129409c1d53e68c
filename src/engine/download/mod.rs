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
//! The sha256 decides, so the way there need not be trusted: `http` and `file` URLs are as good as `https`.

mod unpack;

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sha2::Digest as _;

use crate::base::event::{Event, Events};
use crate::base::fs::{self, At};
use crate::base::hint::Hint;
use crate::engine::registry::remote::file::{FileFailure, RemoteFile, shown};
use crate::engine::registry::{RegistryError, Remote, Sha256};
use crate::engine::store::{DownloadLock, Store, StoreError};

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

#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("interrupted; what was downloaded is kept, and the next attempt continues from there")]
    Cancelled,
    #[error("`{url}` is not an http, https or file URL")]
    Scheme { url: String },
    #[error("`{url}` has sha256 `{found}`, not `{expected}`")]
    Mismatch { url: String, expected: String, found: String },
    #[error("`{name}` contains a file with sha256 `{found}`, not `{expected}`")]
    UnpackedMismatch { name: String, expected: String, found: String },
    #[error("`{name}` cannot be unpacked: {problem}")]
    Unpack { name: String, problem: String },
    #[error("`{what}` has more than {limit} bytes")]
    TooLarge { what: String, limit: u64 },
    #[error("`{url}` has {} left to download{}, and `{}` has room for {}", shown_size(*needed), if *packed { " and to unpack" } else { "" }, path.display(), shown_size(*available))]
    NoRoom { url: String, needed: u64, available: u64, packed: bool, path: PathBuf },
    #[error("`{url}` broke off after {at} bytes")]
    Broken { url: String, at: u64, source: Box<RegistryError> },
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Fs(#[from] fs::Error),
}

impl Hint for DownloadError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Cancelled => None,
            Self::Scheme { .. } => Some("a mirror is a URL such as https://mirror.example.com/images/".into()),
            Self::Mismatch { .. } => Some(
                "what is at this address is not the file that is pinned, and was not kept: use a mirror that has it"
                    .into(),
            ),
            Self::UnpackedMismatch { .. } | Self::Unpack { .. } => Some(
                "the file is the pinned one, but it is not what its publisher says; use your own copy instead"
                    .into(),
            ),
            Self::TooLarge { .. } => Some("this cannot be what is pinned; nothing was kept".into()),
            Self::NoRoom { .. } => Some(
                "free some space (`tinderbox store gc`), or use `--store DIR` on another file system".into(),
            ),
            Self::Broken { source, .. } => {
                let again = "run the same command again: it continues from there";
                Some(source.hint().map_or_else(|| again.to_owned(), |hint| format!("{again}; {hint}")))
            }
            Self::Registry(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Fs(error) => error.hint(),
        }
    }
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

    /// Downloads what is missing of a file; returns its size.
    fn download(&self, wanted: &Wanted, part: &Path) -> Result<u64> {
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
    match local(url) {
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

/// A file on disk, with the digest of what is in it.
struct Written {
    path: PathBuf,
    file: File,
    hasher: sha2::Sha256,
    at: u64,
}

impl Written {
    fn open(path: &Path) -> Result<Self> {
        let file = fs::open_lock(path)?; // appends
        let at = file.metadata().at("access", path)?.len();
        let hasher = if at == 0 { sha2::Sha256::new() } else { fs::hash(path)? };
        Ok(Self { path: path.to_owned(), file, hasher, at })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).at("write", &self.path)?;
        self.hasher.update(bytes);
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.file.set_len(0).at("truncate", &self.path)?;
        (self.hasher, self.at) = (sha2::Sha256::new(), 0);
        Ok(())
    }

    fn sha256(&self) -> Sha256 {
        Sha256::from_bytes(self.hasher.clone().finalize().into())
    }
}

/// Why a connection ended early.
enum Interrupted {
    Connection { error: RegistryError, retry: bool },
    Final(DownloadError),
}

impl<E: Into<DownloadError>> From<E> for Interrupted {
    fn from(error: E) -> Self {
        Self::Final(error.into())
    }
}

fn too_short(url: &str) -> Interrupted {
    let url = shown(url);
    let problem = "it ended before its announced end".to_owned();
    Interrupted::Connection { error: RegistryError::Malformed { image: url, problem }, retry: true }
}

/// Where bytes come from.
enum Source<'a> {
    Remote(Box<RemoteFile<'a>>),
    Local { file: File, start: u64, total: u64, cancel: &'a AtomicBool, path: &'a Path },
}

impl<'a> Source<'a> {
    /// None if the file ends before `offset`.
    fn open(
        downloader: &'a Downloader<'_>,
        url: &'a str,
        offset: u64,
    ) -> std::result::Result<Option<Self>, Interrupted> {
        if let Some(path) = local(url) {
            let path = Path::new(path);
            let mut file = fs::open(path)?;
            let total = file.metadata().at("access", path)?.len();
            let start = file.seek(SeekFrom::Start(offset)).at("read", path)?;
            let cancel = downloader.cancel;
            return Ok((offset <= total).then_some(Self::Local { file, start, total, cancel, path }));
        }
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(DownloadError::Scheme { url: shown(url) }.into());
        }
        match downloader.remote.file(url, offset, downloader.cancel) {
            Ok(file) => Ok(Some(Self::Remote(Box::new(file)))),
            Err(FileFailure::Beyond) => Ok(None),
            Err(failure) => Err(interrupted(failure)),
        }
    }

    fn start(&self) -> u64 {
        match self {
            Self::Remote(file) => file.start,
            Self::Local { start, .. } => *start,
        }
    }

    fn total(&self) -> Option<u64> {
        match self {
            Self::Remote(file) => file.total,
            Self::Local { total, .. } => Some(*total),
        }
    }

    fn next(&mut self) -> std::result::Result<Option<Bytes>, Interrupted> {
        match self {
            Self::Remote(file) => file.chunk().map_err(interrupted),
            Self::Local { cancel, .. } if cancel.load(Ordering::Relaxed) => {
                Err(DownloadError::Cancelled.into())
            }
            Self::Local { file, path, .. } => {
                let mut chunk = vec![0; 1 << 20];
                let read = file.read(&mut chunk).at("read", path)?;
                chunk.truncate(read);
                Ok((read > 0).then(|| chunk.into()))
            }
        }
    }
}

fn interrupted(failure: FileFailure) -> Interrupted {
    match failure {
        FileFailure::Cancelled => DownloadError::Cancelled.into(),
        FileFailure::Beyond => too_short(""),
        FileFailure::Failed { error, retry } => Interrupted::Connection { error, retry },
    }
}

/// The path of a file URL.
fn local(url: &str) -> Option<&str> {
    url.strip_prefix("file://").filter(|path| path.starts_with('/'))
}

fn shown_size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
