//! Directories by descriptor: everything below them is opened name by name, and no link is ever followed.
//!
//! For trees that somebody else wrote. A program in the sandbox may replace any name with a link to any place of the
//! host; paths that are joined and opened as a whole would follow it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{At, Error, Result, optional};

/// Trees that are nested deeper are not walked: each level holds a descriptor.
pub(crate) const DEPTH: usize = 128;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    /// For errors only.
    path: PathBuf,
}

/// One entry during a walk.
pub(crate) struct Visit<'a> {
    pub(crate) parent: &'a Dir,
    pub(crate) name: &'a OsStr,
    pub(crate) stat: &'a Stat,
}

/// Why a walk ended early.
#[derive(Debug)]
pub(crate) enum Stop<T> {
    /// The visitor said so.
    Asked(T),
    /// It is nested deeper than [`DEPTH`].
    TooDeep,
    Failed(Error),
}

impl Dir {
    /// Opens a directory. Links are followed: this path is ours.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        super::looks::spoil();
        let fd = rustix::fs::openat(CWD, path, LIST.difference(OFlags::NOFOLLOW), Mode::empty());
        Ok(Self { fd: fd.at("open", path)?, path: path.to_owned() })
    }

    /// Opens a directory that is not a link.
    pub(super) fn open_itself(path: &Path) -> Result<Self> {
        super::looks::spoil();
        let fd = rustix::fs::openat(CWD, path, LIST, Mode::empty()).at("open", path)?;
        Ok(Self { fd, path: path.to_owned() })
    }

    fn of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Names in the directory, sorted.
    pub(crate) fn names(&self) -> Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd).at("list", &self.path)? {
            let entry = entry.at("list", &self.path)?;
            match entry.file_name().to_bytes() {
                b"." | b".." => {}
                name => names.push(OsStr::from_bytes(name).to_owned()),
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// What a name stands for; of a link, the link itself.
    pub(crate) fn stat(&self, name: &OsStr) -> Result<Stat> {
        rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).at("access", &self.of(name))
    }

    /// What the directory itself is.
    pub(crate) fn own_stat(&self) -> Result<Stat> {
        rustix::fs::fstat(&self.fd).at("access", &self.path)
    }

    pub(crate) fn dir(&self, name: &OsStr) -> Result<Self> {
        let path = self.of(name);
        match rustix::fs::openat(&self.fd, name, LIST, Mode::empty()) {
            Ok(fd) => Ok(Self { fd, path }),
            Err(errno) => Err(Error::new("open", path, self.explain(name, errno))),
        }
    }

    /// Opens a regular file for reading. A pipe or device is refused before anything waits for it.
    pub(crate) fn file(&self, name: &OsStr) -> Result<File> {
        let path = self.of(name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(errno) => return Err(Error::new("open", path, self.explain(name, errno))),
        };
        super::only_regular(&file, &path)?;
        Ok(file)
    }

    /// The target of a link.
    pub(crate) fn read_link(&self, name: &OsStr) -> Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.fd, name, Vec::new()).at("read", &self.of(name))?;
        Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }

    /// Says that a name is a link, where the system says "not a directory" or "too many levels".
    fn explain(&self, name: &OsStr, errno: Errno) -> io::Error {
        let link = [Errno::NOTDIR, Errno::LOOP].contains(&errno)
            && self.stat(name).is_ok_and(|found| kind(&found) == FileType::Symlink);
        match link {
            true => io::Error::new(io::ErrorKind::InvalidInput, "it is a link, which is not followed"),
            false => errno.into(),
        }
    }

    /// The directory that holds the last part of a relative path, and that part. None if a directory on the way does
    /// not exist.
    pub(crate) fn parent_of(&self, path: &str) -> Result<Option<(Self, OsString)>> {
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let Some(leaf) = parts.pop() else {
            let missing = io::Error::new(io::ErrorKind::InvalidInput, "it names the directory itself");
            return Err(Error::new("open", self.path.clone(), missing));
        };
        let mut at = self.again()?;
        for part in parts {
            match optional(at.dir(OsStr::new(part)))? {
                Some(below) => at = below,
                None => return Ok(None),
            }
        }
        Ok(Some((at, leaf.into())))
    }

    /// Opens a directory below, creating what is missing.
    pub(crate) fn create_dirs(&self, path: &str) -> Result<Self> {
        let mut at = self.again()?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let made = rustix::fs::mkdirat(&at.fd, part, Mode::from_raw_mode(0o700));
            if !matches!(made, Ok(()) | Err(Errno::EXIST)) {
                made.at("create", &at.of(OsStr::new(part)))?;
            }
            at = at.dir(OsStr::new(part))?;
        }
        Ok(at)
    }

    fn again(&self) -> Result<Self> {
        let fd = self.fd.try_clone().at("open", &self.path)?;
        Ok(Self { fd, path: self.path.clone() })
    }

    /// Writes a file, in place of what has this name.
    pub(crate) fn write(&self, name: &OsStr, bytes: &[u8], mode: u32) -> Result<()> {
        let path = self.of(name);
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(Error::new("replace", path, errno.into())),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file =
            rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode)).at("create", &path)?;
        File::from(file).write_all(bytes).at("write", &path)
    }

    /// Sets the mode of an entry, whatever its mode is now; never that of a link's target.
    pub(crate) fn set_mode(&self, name: &OsStr, mode: u32) -> Result<()> {
        let path = self.of(name);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).at("open", &path)?;
        set_mode_of(&fd, &path, mode)
    }

    /// Sets the owner of an entry, a link included.
    pub(crate) fn set_owner(&self, name: &OsStr, user: u32) -> Result<()> {
        let (uid, gid) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(user));
        rustix::fs::chownat(&self.fd, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
            .at("set the owner of", &self.of(name))
    }

    /// Sets the owner of the directory itself.
    pub(crate) fn set_own_owner(&self, user: u32) -> Result<()> {
        let (uid, gid) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(user));
        rustix::fs::fchown(&self.fd, Some(uid), Some(gid)).at("set the owner of", &self.path)
    }

    /// Visits everything below, parents before their content. Directories that cannot be opened are left out: they come
    /// and go while a program writes.
    pub(crate) fn walk<T>(
        &self,
        visit: &mut dyn FnMut(Visit<'_>) -> ControlFlow<Stop<T>>,
    ) -> std::result::Result<(), Stop<T>> {
        let mut open = vec![(self.again().map_err(Stop::Failed)?, self.names().unwrap_or_default())];
        while let Some((dir, names)) = open.last_mut() {
            let Some(name) = names.pop() else {
                open.pop();
                continue;
            };
            let Ok(stat) = dir.stat(&name) else { continue };
            if let ControlFlow::Break(stop) = visit(Visit { parent: dir, name: &name, stat: &stat }) {
                return Err(stop);
            }
            if kind(&stat) != FileType::Directory {
                continue;
            }
            let Ok(below) = dir.dir(&name) else { continue };
            if open.len() >= DEPTH {
                return Err(Stop::TooDeep);
            }
            let names = below.names().unwrap_or_default();
            open.push((below, names));
        }
        Ok(())
    }

    /// Removes an entry that is not a directory; false if it is one.
    pub(super) fn unlink(&self, name: &OsStr) -> Result<bool> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(errno) => match optional(self.stat(name))? {
                None => Ok(true),
                Some(found) if kind(&found) == FileType::Directory => Ok(false),
                Some(_) => Err(Error::new("remove", self.of(name), errno.into())),
            },
        }
    }

    /// Removes an empty directory.
    pub(super) fn remove_dir(&self, name: &OsStr) -> Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(Error::new("remove", self.of(name), errno.into())),
        }
    }

    /// Opens a directory in order to remove its content, whatever its mode is.
    pub(super) fn dir_to_empty(&self, name: &OsStr) -> Result<Option<Self>> {
        let Some(found) = optional(self.stat(name))? else { return Ok(None) };
        if found.st_mode & 0o700 != 0o700 {
            optional(self.set_mode(name, 0o700))?;
        }
        optional(self.dir(name))
    }

    /// Moves an entry to another directory.
    pub(super) fn rename(&self, name: &OsStr, to: &Self, new: &str) -> Result<()> {
        rustix::fs::renameat(&self.fd, name, &to.fd, new).at("rename", &self.of(name))
    }
}

/// The kind of a node.
pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Sets a mode through an open descriptor, which need not be readable.
pub(super) fn set_mode_of(fd: &OwnedFd, path: &Path, mode: u32) -> Result<()> {
    let found = rustix::fs::fstat(fd).at("access", path)?;
    if kind(&found) == FileType::Symlink {
        let link = io::Error::new(io::ErrorKind::InvalidInput, "it is a link");
        return Err(Error::new("set the mode of", path, link));
    }
    // `fchmod` refuses such a descriptor, and `fchmodat` may not refuse links before Linux 6.6.
    let this = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    rustix::fs::chmod(this, Mode::from_raw_mode(mode)).at("set the mode of", path)
}

const LIST: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        super::super::create_dirs(&at("out/real")).unwrap();
        super::super::create_dirs(&at("host")).unwrap();
        super::super::write_new(&at("host/secret"), b"secret", 0o600).unwrap();
        for (link, target) in [("out/dir", "../host"), ("out/file", "../host/secret"), ("out/real/up", "..")]
        {
            super::super::symlink(Path::new(target), &at(link)).unwrap();
        }
        let out = Dir::open(&at("out")).unwrap();
        let text = |error: Error| format!("{error}: {}", error.source);
        assert!(
            text(out.dir(OsStr::new("dir")).unwrap_err()).ends_with("it is a link, which is not followed")
        );
        assert!(
            text(out.file(OsStr::new("file")).unwrap_err()).ends_with("it is a link, which is not followed")
        );
        assert!(out.parent_of("dir/secret").is_err() && out.create_dirs("dir/new").is_err());
        assert!(out.parent_of("real/up/x").is_err());
        assert!(out.parent_of("missing/x").unwrap().is_none());
        // A file takes the place of a link, and what the link named stays.
        out.write(OsStr::new("file"), b"mine", 0o600).unwrap();
        assert_eq!(super::super::read(&at("host/secret")).unwrap(), b"secret");
        assert_eq!(super::super::read(&at("out/file")).unwrap(), b"mine");
        assert!(out.set_mode(OsStr::new("dir"), 0o777).is_err());
        assert_eq!(super::super::metadata(&at("host/secret")).unwrap().mode() & 0o777, 0o600);
        assert_eq!(super::super::list(&at("host")).unwrap(), ["secret"]);
    }

    /// A program may leave a pipe in the place of a file, also after somebody looked: opening it waits for nobody.
    #[test]
    fn no_pipe_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = (FileType::Fifo, Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(CWD, dir.path().join("pipe"), fifo.0, fifo.1, 0).unwrap();
        let open = Dir::open(dir.path()).unwrap();
        let (done, refused) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let error = open.file(OsStr::new("pipe")).unwrap_err();
            done.send(error.source.to_string()).unwrap();
        });
        let said = refused.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        assert_eq!(said, "it is a named pipe, not a file");
    }

    #[test]
    fn a_walk_sees_everything_once_and_ends_at_its_depth() {
        let dir = tempfile::tempdir().unwrap();
        super::super::create_dirs(&dir.path().join("a/b")).unwrap();
        super::super::write_new(&dir.path().join("a/b/c"), b"", 0o600).unwrap();
        super::super::symlink(Path::new("/"), &dir.path().join("a/root")).unwrap();
        let seen = |dir: &Dir| {
            let mut seen = Vec::new();
            let done = dir.walk::<()>(&mut |visit| {
                seen.push(visit.name.to_str().unwrap().to_owned());
                ControlFlow::Continue(())
            });
            seen.sort();
            (seen, done)
        };
        let open = Dir::open(dir.path()).unwrap();
        assert_eq!(seen(&open).0, ["a", "b", "c", "root"]);
        open.create_dirs(&"d/".repeat(2 * DEPTH)).unwrap();
        assert!(matches!(seen(&open).1, Err(Stop::TooDeep)));
    }
}
