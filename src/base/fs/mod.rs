//! The only module that touches the file system. Every error names the operation and the path.
//!
//! Clippy bans `std::fs` elsewhere, so that no `No such file or directory` reaches a user without its path.

#![expect(clippy::disallowed_methods, reason = "this is the one module that wraps std::fs")]

mod dir;
pub(crate) mod fault;
pub(crate) mod looks;
mod remove;

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;

pub(crate) use dir::{DEPTH, Dir, Stop, Visit, kind};
pub use remove::remove_all;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps};

use crate::base::cancel::{self, Cancel};
use crate::base::hint::Hint;
use looks::Question;

/// A failed operation and its path.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`", path.display())]
pub struct Error {
    /// The operation: `read`, `create`, …
    pub action: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl Error {
    /// An error that we detected ourselves.
    pub fn new(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self { action, path: path.into(), source }
    }

    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// Whether this place cannot be written at all, as opposed to a write that failed.
    pub fn is_read_only(&self) -> bool {
        matches!(self.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(
                "the disk is full: free some space (`tinderbox store gc`), or use `--store DIR` on another file system"
                    .into(),
            ),
            io::ErrorKind::ReadOnlyFilesystem => Some("the file system is mounted read-only".into()),
            io::ErrorKind::PermissionDenied => {
                Some(format!("check the owner and mode of `{}` and the directory that holds it", self.path.display()))
            }
            _ => None,
        }
    }
}

/// Result of this module.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Adds action and path to a system error.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T, E: Into<io::Error>> At<T> for std::result::Result<T, E> {
    fn at(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::new(action, path, source.into()))
    }
}

/// Turns "not found" into `None`.
pub(crate) fn optional<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The most bytes that are read at once: everything larger is read piece by piece. A file with a hole takes no space on the
/// disk, and all of it in memory.
pub(crate) const WHOLE: u64 = 256 << 20;

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    read_up_to(path, WHOLE)
}

/// Reads a whole file that has at most so many bytes. Skips the length query, which saves two system calls: most of our files
/// are small.
pub(crate) fn read_up_to(path: &Path, most: u64) -> Result<Vec<u8>> {
    looks::noted(Question::Content, path, read_at_most(path, most), say_bytes)
}

#[expect(clippy::ptr_arg, reason = "the type that the readers return")]
fn say_bytes(bytes: &Vec<u8>, hasher: &mut blake3::Hasher) {
    hasher.update(bytes);
}

fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4096);
    let file = open_as("read", path)?;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).at("read", path)?;
    if bytes.len() as u64 > most {
        let problem = format!("there are more than {most} bytes to read");
        return Err(Error::new("read", path, io::Error::new(io::ErrorKind::FileTooLarge, problem)));
    }
    bytes.shrink_to_fit();
    Ok(bytes)
}

/// Reads a whole text file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    read_text_up_to(path, WHOLE)
}

/// Reads a whole text file that has at most so many bytes.
pub(crate) fn read_text_up_to(path: &Path, most: u64) -> Result<String> {
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(read_up_to(path, most)?).map_err(wrong).at("read", path)
}

/// Opens a regular file or a directory. Anything else is refused: opening a named pipe waits for a writer, and reading
/// a device may never end.
pub(crate) fn open(path: &Path) -> Result<File> {
    looks::spoil();
    open_as("open", path)
}

fn open_as(action: &'static str, path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path).at(action, path)?;
    only_regular(&file, path)?;
    Ok(file)
}

/// Opens whatever can be read, and may wait for it: for files that a user names, such as `/dev/stdin`.
pub(crate) fn open_stream(path: &Path) -> Result<File> {
    looks::spoil();
    File::open(path).at("open", path)
}

/// Reads a whole [`open_stream`].
pub(crate) fn read_stream(path: &Path) -> Result<Vec<u8>> {
    let read = std::fs::read(path).at("read", path);
    match std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        true => looks::noted(Question::Content, path, read, say_bytes),
        false => {
            looks::spoil();
            read
        }
    }
}

/// Refuses an open file that is neither regular nor a directory.
fn only_regular(file: &File, path: &Path) -> Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = file.metadata().at("access", path)?.file_type();
    let problem = match () {
        () if kind.is_file() || kind.is_dir() => return Ok(()),
        () if kind.is_fifo() => "it is a named pipe, not a file",
        () if kind.is_socket() => "it is a socket, not a file",
        () => "it is a device, not a file",
    };
    Err(Error::new("open", path, io::Error::new(io::ErrorKind::InvalidInput, problem)))
}

/// Creates a file, or truncates an existing file.
pub(crate) fn create_or_truncate(path: &Path) -> Result<File> {
    looks::spoil();
    File::create(path).at("create", path)
}

/// Creates a file that must not exist yet, with exactly this mode regardless of the umask. The handle can also read.
pub(crate) fn create_new(path: &Path, mode: u32) -> Result<File> {
    let mut options = OpenOptions::new();
    fault::point().at("create", path)?;
    let file =
        options.read(true).write(true).create_new(true).mode(mode & 0o700).open(path).at("create", path)?;
    file.set_permissions(Permissions::from_mode(mode)).at("set the mode of", path)?;
    Ok(file)
}

/// Opens (or creates) a file to lock or to append to, for its owner only. Nothing else than a file: no link is followed, and
/// no pipe or device opened.
pub(crate) fn open_lock(path: &Path) -> Result<File> {
    fault::point().at("open", path)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let file = options.read(true).append(true).create(true).mode(0o600).custom_flags(flags.bits() as i32);
    let file = file.open(path).at("open", path)?;
    only_regular(&file, path)?;
    Ok(file)
}

fn interrupted(action: &'static str, path: &Path) -> Error {
    Error::new(action, path, io::Error::new(io::ErrorKind::Interrupted, "interrupted"))
}

/// Whether a lock keeps others from sharing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    Shared,
    Exclusive,
}

/// Locks a file, waiting for whoever holds it, until the user cancels.
pub(crate) fn lock(file: &File, path: &Path, sharing: Sharing, cancel: &Cancel) -> Result<()> {
    let attempt = match sharing {
        Sharing::Shared => file.try_lock_shared(),
        Sharing::Exclusive => file.try_lock(),
    };
    match attempt {
        Ok(()) => return Ok(()),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(Error::new("lock", path, error)),
    }
    // Nothing can wait for a lock and for a flag, so a thread waits for the lock. If the user cancels, it ends with the process.
    let same = file.try_clone().at("lock", path)?;
    let (locked, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = locked.send(match sharing {
            Sharing::Shared => same.lock_shared(),
            Sharing::Exclusive => same.lock(),
        });
    });
    loop {
        match done.recv_timeout(cancel::GLANCE) {
            Ok(locked) => return locked.at("lock", path),
            Err(RecvTimeoutError::Timeout) if cancel.is_set() => {
                return Err(interrupted("lock", path));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new("lock", path, io::ErrorKind::Other.into()));
            }
        }
    }
}

/// Writes a new file; fails if it exists.
pub(crate) fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let mut file = create_new(path, mode)?;
    write_bytes(&mut file, bytes).at("write", path)
}

/// Writes everything; a test's fault leaves half of it.
fn write_bytes(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    if let Err(error) = fault::point() {
        file.write_all(&bytes[..bytes.len() / 2])?;
        return Err(error);
    }
    file.write_all(bytes)
}

/// Writes a new file atomically: readers see the whole file or none. Fails if it exists.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    write_whole_with(path, mode, |file| write_bytes(file, bytes).at("write", path))
}

/// [`write_whole`] for content that is written in pieces.
pub(crate) fn write_whole_with(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut File) -> Result<()>,
) -> Result<()> {
    unnamed_until_complete(path, mode, |file| {
        write(file)?;
        file.sync_all().at("sync", path)
    })
}

fn unnamed_until_complete(path: &Path, mode: u32, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    // Without a name until it is complete: nothing is left of it, whenever the process is killed.
    if let Some(mut file) = create_unnamed(path, mode)? {
        write(&mut file)?;
        let this = format!("/proc/self/fd/{}", file.as_raw_fd());
        return rustix::fs::linkat(CWD, this, CWD, path, AtFlags::SYMLINK_FOLLOW).at("create", path);
    }
    with_sibling(path, |sibling| {
        let mut file = create_new(sibling, mode)?;
        write(&mut file)?;
        hard_link(sibling, path)?;
        remove_file(sibling)
    })
}

/// A file without a name, on the file system of `path`; none where that is not supported.
fn create_unnamed(path: &Path, mode: u32) -> Result<Option<File>> {
    looks::spoil();
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(parent, flags, Mode::from_raw_mode(mode & 0o700)) {
        Ok(fd) => {
            let file = File::from(fd);
            file.set_permissions(Permissions::from_mode(mode)).at("set the mode of", path)?;
            Ok(Some(file))
        }
        // Each file system has its own way to say that it cannot. Other errors come again with a name.
        Err(_) => Ok(None),
    }
}

/// Copies a file's bytes to a new file of this mode. Whenever the process is killed, the file is whole or not there.
pub(crate) fn copy_new(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let mut source = open(from)?;
    unnamed_until_complete(to, mode, |target| io::copy(&mut source, target).map(drop).at("copy", to))
}

/// Makes an empty file share all blocks of another if the file system supports it (Btrfs, XFS).
pub(crate) fn reflink(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

/// Replaces a file atomically: readers see the old or the new content, and a full disk keeps the old content.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    with_sibling(path, |sibling| {
        let mut file = create_new(sibling, mode)?;
        write_bytes(&mut file, bytes).at("write", path)?;
        fault::point().and_then(|()| file.sync_all()).at("sync", path)?;
        rename(sibling, path)
    })
}

/// Writes what a user asked for: a file is replaced, also behind a link, and a pipe or device is written to.
pub(crate) fn write_out(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let Some(real) = optional(canonical(path))? else { return replace(path, bytes, mode) };
    if metadata(&real)?.is_file() {
        return replace(&real, bytes, mode);
    }
    looks::spoil();
    let mut file = OpenOptions::new().write(true).open(&real).at("open", path)?;
    file.write_all(bytes).at("write", path)
}

/// [`replace`] for content that is written in pieces; if `write` fails, the old content stays.
pub(crate) fn replace_with(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut File) -> Result<()>,
) -> Result<()> {
    with_sibling(path, |sibling| {
        let mut file = create_new(sibling, mode)?;
        write(&mut file)?;
        file.sync_all().at("sync", path)?;
        rename(sibling, path)
    })
}

/// Creates or replaces a symbolic link atomically.
pub(crate) fn replace_link(target: &Path, path: &Path) -> Result<()> {
    with_sibling(path, |sibling| {
        symlink(target, sibling)?;
        rename(sibling, path)
    })
}

/// Runs `work` on a hidden file in the same directory, which is removed afterwards in any case.
fn with_sibling(path: &Path, work: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let sibling = path.with_file_name(format!(".{name}.{}", random_name()));
    // Errors name the file that the user knows.
    let done = work(&sibling).map_err(|error| {
        if error.path == sibling { Error { path: path.to_owned(), ..error } } else { error }
    });
    if done.is_err() {
        let _ = remove_file(&sibling); // the first error is reported
    }
    done
}

/// Sixteen random characters for a unique name.
pub(crate) fn random_name() -> String {
    let mut bytes = [0u8; 8];
    // Without randomness, the process id still keeps two processes apart.
    if getrandom::fill(&mut bytes).is_err() {
        bytes = u64::from(std::process::id()).to_le_bytes();
    }
    data_encoding::HEXLOWER.encode(&bytes)
}

/// Creates one directory with exactly this mode; fails if it exists.
pub(crate) fn create_dir(path: &Path, mode: u32) -> Result<()> {
    fault::point().and_then(|()| std::fs::DirBuilder::new().mode(mode).create(path)).at("create", path)
}

/// Creates a directory and its parents; an existing directory is fine.
pub fn create_dirs(path: &Path) -> Result<()> {
    fault::point().and_then(|()| std::fs::create_dir_all(path)).at("create", path)
}

/// Renames, replacing an existing file.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    fault::point().and_then(|()| std::fs::rename(from, to)).at("rename", from)
}

pub(crate) fn hard_link(from: &Path, to: &Path) -> Result<()> {
    fault::point().and_then(|()| std::fs::hard_link(from, to)).at("link", to)
}

/// Creates a symbolic link at `path` to `target`.
pub(crate) fn symlink(target: &Path, path: &Path) -> Result<()> {
    fault::point().and_then(|()| std::os::unix::fs::symlink(target, path)).at("create", path)
}

/// The target of a symbolic link.
pub(crate) fn read_link(path: &Path) -> Result<PathBuf> {
    looks::noted(Question::Target, path, std::fs::read_link(path).at("read", path), |target, hasher| {
        looks::say_path(target, hasher);
    })
}

/// Metadata without following links.
pub(crate) fn metadata(path: &Path) -> Result<std::fs::Metadata> {
    let found = std::fs::symlink_metadata(path).at("access", path);
    looks::noted(Question::Metadata, path, found, looks::say_metadata)
}

/// Whether a path is a link to a file that not everybody may read: because of its mode, or because of a directory above it that
/// is not above the link, too.
pub(crate) fn is_link_to_private(path: &Path) -> Result<bool> {
    if !metadata(path)?.is_symlink() {
        return Ok(false);
    }
    let (target, own) = (canonical(path)?, canonical(path.parent().unwrap_or(Path::new(".")))?);
    if metadata(&target)?.mode() & 0o004 == 0 {
        return Ok(true);
    }
    for above in target.ancestors().skip(1).filter(|above| !own.starts_with(above)) {
        if metadata(above)?.mode() & 0o001 == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Metadata of what a link leads to, even if it has no name any more (`/proc/PID/fd`).
pub(crate) fn followed(path: &Path) -> Option<std::fs::Metadata> {
    let found = std::fs::metadata(path).at("access", path);
    looks::noted(Question::Followed, path, found, looks::say_metadata).ok()
}

/// Whether others than the owner may read or write the file; follows links.
pub(crate) fn others_may(path: &Path) -> Result<bool> {
    Ok(metadata(&canonical(path)?)?.mode() & 0o077 != 0)
}

/// Whether the path exists, even as a dangling link.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    match metadata(path) {
        // Something above it is a file.
        Err(error) if error.source.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        found => Ok(optional(found)?.is_some()),
    }
}

/// The absolute path with all links resolved.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf> {
    let found = std::fs::canonicalize(path).at("find", path);
    looks::noted(Question::Canonical, path, found, |path, hasher| looks::say_path(path, hasher))
}

/// Names in a directory, sorted.
pub(crate) fn list(path: &Path) -> Result<Vec<std::ffi::OsString>> {
    let names = names_of(path).map(|mut names| {
        names.sort_unstable();
        names
    });
    looks::noted(Question::Names, path, names, |names, hasher| {
        names.iter().for_each(|name| looks::say_path(Path::new(name), hasher));
    })
}

/// Names in a directory, sorted, and whether each is a directory (not a link to one).
pub(crate) fn list_kinds(path: &Path) -> Result<Vec<(std::ffi::OsString, bool)>> {
    looks::noted(Question::Kinds, path, kinds_of(path), |names, hasher| {
        for (name, is_dir) in names {
            looks::say_path(Path::new(name), hasher);
            hasher.update(&[u8::from(*is_dir)]);
        }
    })
}

fn kinds_of(path: &Path) -> Result<Vec<(std::ffi::OsString, bool)>> {
    let mut names = std::fs::read_dir(path)
        .at("list", path)?
        .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?.is_dir()))))
        .collect::<io::Result<Vec<_>>>()
        .at("list", path)?;
    names.sort_unstable();
    Ok(names)
}

/// Which file it is, and when it was last touched. No program can set that time: it changes with every write and every mode.
pub(crate) fn stamp(found: &rustix::fs::Stat) -> [u8; 64] {
    let numbers = [
        found.st_dev,
        found.st_ino,
        u64::from(found.st_mode),
        found.st_size as u64,
        found.st_mtime as u64,
        found.st_mtime_nsec,
        found.st_ctime as u64,
        found.st_ctime_nsec,
    ];
    let mut bytes = [0; 64];
    for (at, number) in bytes.chunks_mut(8).zip(numbers) {
        at.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// The stamp of the running program, even if its file was replaced meanwhile; none if the system does not say.
pub(crate) fn own_stamp() -> Option<[u8; 64]> {
    rustix::fs::stat("/proc/self/exe").ok().map(|found| stamp(&found))
}

/// Sets the mode of a file or directory; of a link, it fails.
pub(crate) fn set_mode(path: &Path, mode: u32) -> Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fault::point().at("set the mode of", path)?;
    let fd = rustix::fs::openat(CWD, path, flags, Mode::empty()).at("open", path)?;
    dir::set_mode_of(&fd, path, mode)
}

/// Sets both times to one second after the epoch, as in store objects. Does not follow links.
pub(crate) fn set_canonical_time(path: &Path) -> Result<()> {
    rustix::fs::utimensat(CWD, path, &CANONICAL, AtFlags::SYMLINK_NOFOLLOW).at("set the time of", path)
}

/// [`set_canonical_time`] for an open file.
pub(crate) fn set_canonical_time_of(file: &File, path: &Path) -> Result<()> {
    rustix::fs::futimens(file, &CANONICAL).at("set the time of", path)
}

const CANONICAL: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 1, tv_nsec: 0 },
    last_modification: Timespec { tv_sec: 1, tv_nsec: 0 },
};

/// Names in a directory, in the order in which the file system lists them.
pub(crate) fn list_unsorted(path: &Path) -> Result<Vec<std::ffi::OsString>> {
    looks::spoil();
    names_of(path)
}

fn names_of(path: &Path) -> Result<Vec<std::ffi::OsString>> {
    let entries = std::fs::read_dir(path).at("list", path)?;
    entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<_>>().at("list", path)
}

/// Writes to a file of the kernel, which must exist.
pub(crate) fn write_setting(path: &Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    looks::spoil();
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).at("write", path)
}

/// Removes a directory that is empty.
pub(crate) fn remove_empty_dir(path: &Path) -> Result<()> {
    looks::spoil();
    std::fs::remove_dir(path).at("remove", path)
}

/// Removes a file or link.
pub(crate) fn remove_file(path: &Path) -> Result<()> {
    fault::point().and_then(|()| std::fs::remove_file(path)).at("remove", path)
}

/// Makes the entries of a directory durable: files created, renamed or removed in it.
pub(crate) fn sync_dir(path: &Path) -> Result<()> {
    open(path)?.sync_all().at("sync", path)
}

/// Makes all writes to the file system of `path` durable, in one system call.
pub fn sync_file_system(path: &Path) -> Result<()> {
    fault::point().at("sync", path)?;
    rustix::fs::syncfs(open(path)?).at("sync", path)
}

/// The SHA-256 of a file of any size.
pub(crate) fn hash(path: &Path) -> Result<sha2::Sha256> {
    hash_until(path, &AtomicBool::new(false))
}

/// [`hash`], until the user cancels.
pub(crate) fn hash_until(path: &Path, cancel: &AtomicBool) -> Result<sha2::Sha256> {
    use sha2::Digest as _;
    let mut file = open(path)?;
    let mut hasher = sha2::Sha256::new();
    let mut chunk = vec![0; 1 << 20];
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(interrupted("read", path));
        }
        match file.read(&mut chunk).at("read", path)? {
            0 => return Ok(hasher),
            read => hasher.update(&chunk[..read]),
        }
    }
}

/// Bytes that an unprivileged user can still write to the file system of `path`.
pub(crate) fn available(path: &Path) -> Result<u64> {
    looks::spoil();
    let found = rustix::fs::statvfs(path).at("access", path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Reads at most `limit` bytes from the start of a file.
pub(crate) fn read_head(path: &Path, limit: usize) -> Result<Vec<u8>> {
    let read = || {
        let mut head = Vec::with_capacity(limit.min(8192));
        open_as("open", path)?.take(limit as u64).read_to_end(&mut head).at("read", path)?;
        Ok(head)
    };
    let head = read();
    if head.as_ref().is_ok_and(|head| head.len() >= limit) {
        looks::spoil(); // there may be more, which nobody looked at
        return head;
    }
    looks::noted(Question::Content, path, head, say_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_action_and_path() {
        let error = read(Path::new("/nowhere/file")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read `/nowhere/file`");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn replace_leaves_one_file_with_the_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        replace(&path, b"one", 0o644).unwrap();
        replace(&path, b"two", 0o600).unwrap();
        assert_eq!(read(&path).unwrap(), b"two");
        assert_eq!(metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(list(dir.path()).unwrap(), ["x"]);
    }

    /// A process that is killed while it writes leaves nothing, where the file system can do that.
    #[test]
    fn a_whole_file_has_no_name_before_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        if rustix::fs::open(dir.path(), flags, Mode::from_raw_mode(0o600)).is_err() {
            return; // this file system cannot
        }
        write_whole_with(&path, 0o640, |file| {
            file.write_all(b"half").unwrap();
            assert_eq!(list(dir.path()).unwrap(), [""; 0]);
            Ok(())
        })
        .unwrap();
        assert_eq!(metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(write_whole(&path, b"again", 0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read(&path).unwrap(), b"half");
    }

    #[test]
    fn pipes_and_devices_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(read(&pipe).unwrap_err().source.to_string().contains("named pipe"));
        assert!(read(Path::new("/dev/zero")).unwrap_err().source.to_string().contains("a device"));
        assert!(set_mode(&dir.path().join("none"), 0o600).is_err());
    }

    #[test]
    fn no_mode_is_set_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        write_new(&file, b"", 0o640).unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(set_mode(&link, 0o777).unwrap_err().source.to_string(), "it is a link");
        assert_eq!(metadata(&file).unwrap().mode() & 0o777, 0o640);
        set_mode(&file, 0o600).unwrap();
        assert_eq!(metadata(&file).unwrap().mode() & 0o777, 0o600);
    }
}
