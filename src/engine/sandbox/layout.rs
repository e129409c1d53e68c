//! What is mounted where, as data: computed before the fork, so that the child only executes it.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{OUTPUT, Program, SandboxError, user};
use crate::base::fs;

/// Devices that a program may open.
const DEVICES: [&str; 5] = ["full", "null", "random", "urandom", "zero"];

/// Links in `/dev`.
const LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Files up to this size are copied to list them in another order, larger ones are mounted.
const SMALL: u64 = 64 << 10;

/// The steps that build the new root.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) steps: Vec<Step>,
    /// Bytes that the steps copy.
    pub(super) copied: u64,
    /// Whether programs run as a user who cannot read what is for its owner only: that is copied.
    foreign: bool,
    /// How many more entries may be listed in another order than their file system's; none if no order changes.
    reordered: Option<u64>,
}

/// One step. Paths are below the new root, without a leading slash.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Dir {
        at: CString,
    },
    /// An empty file, as a mount point.
    File {
        at: CString,
    },
    Link {
        at: CString,
        target: CString,
    },
    /// A file or directory of the host.
    Bind {
        at: CString,
        source: CString,
        access: Access,
    },
    /// A copy of a file, in memory that nobody else sees: one that only its owner can read, or one in a directory whose
    /// order changes.
    Copy {
        at: CString,
        source: CString,
        mode: u32,
    },
    /// The end of a directory whose order changes: its mode, and the time that every entry in the store has.
    Finish {
        at: CString,
        mode: u32,
    },
    /// A tmpfs.
    Memory {
        at: CString,
        options: CString,
    },
    /// A procfs.
    Proc {
        at: CString,
    },
}

/// Access to a bind mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Device,
}

/// What to mount at a path, in addition to the image's content.
#[derive(Debug, Default)]
struct Place {
    content: Option<Content>,
    below: BTreeMap<String, Place>,
}

#[derive(Debug)]
enum Content {
    Bound(PathBuf, Access),
    Link(&'static str),
    Memory(String),
    Proc,
}

impl Layout {
    /// With `foreign`, programs run as another user than tinderbox. With `reordered`, directories of the image and of
    /// inputs list their entries in the opposite order, as long as there are no more than so many.
    pub(super) fn of(
        program: &Program<'_>,
        foreign: bool,
        reordered: Option<u64>,
    ) -> Result<Self, SandboxError> {
        let mut root = Place::default();
        for mount in program.inputs {
            root.put(&mount.target, Content::Bound(mount.source.clone(), Access::Read))?;
        }
        root.put(OUTPUT, Content::Bound(program.output.to_owned(), Access::Write))?;
        root.put("/tmp", Content::Memory(format!("mode=1777,size={}", program.limits.output)))?;
        root.put("/proc", Content::Proc)?;
        for device in DEVICES {
            let path = format!("/dev/{device}");
            root.put(&path, Content::Bound(PathBuf::from(&path), Access::Device))?;
        }
        root.put("/dev/shm", Content::Memory("mode=1777,size=64m".into()))?;
        for (name, target) in LINKS {
            root.put(&format!("/dev/{name}"), Content::Link(target))?;
        }
        let mut layout = Self { steps: Vec::new(), copied: 0, foreign, reordered };
        layout.open(&root, Some(program.root), "")?;
        Ok(layout)
    }

    /// Recreates a directory with replaced entries: its own entries one by one, then the replacements.
    fn open(&mut self, place: &Place, image: Option<&Path>, at: &str) -> Result<(), SandboxError> {
        if !at.is_empty() {
            self.steps.push(Step::Dir { at: text(at)? });
        }
        // The image's /dev is ignored: the sandbox defines it.
        let image = image.filter(|dir| at != "dev" && fs::metadata(dir).is_ok_and(|found| found.is_dir()));
        let mut names = image.map(fs::list).transpose()?.unwrap_or_default();
        if self.reordered.is_some() {
            names.reverse();
        }
        for name in names.iter().filter_map(|name| name.to_str()) {
            if let (false, Some(image)) = (place.below.contains_key(name), image) {
                self.bind(&image.join(name), &below(at, name), Access::Read)?;
            }
        }
        for (name, inner) in &place.below {
            let (at, image) = (below(at, name), image.map(|image| image.join(name)));
            match &inner.content {
                Some(content) => self.put(content, &at)?,
                None => self.open(inner, image.as_deref(), &at)?,
            }
        }
        Ok(())
    }

    fn put(&mut self, content: &Content, at: &str) -> Result<(), SandboxError> {
        match content {
            Content::Bound(source, access) => self.bind(source, at, *access),
            Content::Link(target) => self.push(Step::Link { at: text(at)?, target: text(target)? }),
            Content::Memory(options) => {
                self.steps.push(Step::Dir { at: text(at)? });
                self.push(Step::Memory { at: text(at)?, options: text(options)? })
            }
            Content::Proc => {
                self.steps.push(Step::Dir { at: text(at)? });
                self.push(Step::Proc { at: text(at)? })
            }
        }
    }

    fn bind(&mut self, source: &Path, at: &str, access: Access) -> Result<(), SandboxError> {
        let found = fs::metadata(source)?;
        let kind = found.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(source)?;
            return self.push(Step::Link { at: text(at)?, target: bytes(&target)? });
        }
        if self.foreign && access == Access::Read && !user::is_open(found.mode(), kind.is_dir()) {
            return self.copy(source, &found, at);
        }
        if access == Access::Read && kind.is_dir() && self.may_reorder(source)? {
            return self.reorder(source, at);
        }
        if access == Access::Read && kind.is_file() && self.reordered.is_some() && found.len() <= SMALL {
            return self.copy(source, &found, at);
        }
        let at = text(at)?;
        self.steps.push(if kind.is_dir() {
            Step::Dir { at: at.clone() }
        } else {
            Step::File { at: at.clone() }
        });
        self.push(Step::Bind { at, source: bytes(source)?, access })
    }

    /// Whether a directory, with everything below it, can be made anew.
    fn may_reorder(&mut self, source: &Path) -> Result<bool, SandboxError> {
        let Some(left) = self.reordered else { return Ok(false) };
        let mut entries = 0;
        let mut open = vec![source.to_owned()];
        while let Some(dir) = open.pop() {
            for (name, directory) in fs::list_kinds(&dir)? {
                entries += 1;
                if directory {
                    open.push(dir.join(name));
                }
            }
            if entries > left {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes a directory in memory, which lists the last entry that was made first.
    fn reorder(&mut self, source: &Path, at: &str) -> Result<(), SandboxError> {
        self.steps.push(Step::Dir { at: text(at)? });
        for name in fs::list_unsorted(source)? {
            self.reordered = self.reordered.map(|left| left.saturating_sub(1));
            let Some(name) = name.to_str() else { continue };
            let (source, at) = (source.join(name), below(at, name));
            match fs::metadata(&source)?.is_dir() {
                true => self.reorder(&source, &at)?,
                false => self.bind(&source, &at, Access::Read)?,
            }
        }
        let mode = fs::metadata(source)?.mode() & 0o777;
        self.push(Step::Finish { at: text(at)?, mode })
    }

    /// Copies what is for its owner only. In such a directory, the directories that everybody may read are mounted.
    fn copy(&mut self, source: &Path, found: &std::fs::Metadata, at: &str) -> Result<(), SandboxError> {
        if found.is_dir() {
            self.steps.push(Step::Dir { at: text(at)? });
            for name in fs::list(source)?.iter().filter_map(|name| name.to_str()) {
                let (source, at) = (source.join(name), below(at, name));
                let found = fs::metadata(&source)?;
                match found.is_file() {
                    true => self.copy(&source, &found, &at)?,
                    false => self.bind(&source, &at, Access::Read)?,
                }
            }
            return Ok(());
        }
        self.copied += found.len().next_multiple_of(4096); // in pages
        let mode = if found.mode() & 0o100 != 0 { 0o555 } else { 0o444 };
        self.push(Step::Copy { at: text(at)?, source: bytes(source)?, mode })
    }

    fn push(&mut self, step: Step) -> Result<(), SandboxError> {
        self.steps.push(step);
        Ok(())
    }
}

impl Place {
    fn put(&mut self, target: &str, content: Content) -> Result<(), SandboxError> {
        let wrong =
            |problem: &str| SandboxError::Layout { target: target.to_owned(), problem: problem.to_owned() };
        let parts: Vec<&str> = match target.strip_prefix('/') {
            Some(rest) => rest.split('/').collect(),
            None => return Err(wrong("it is not an absolute path")),
        };
        let mut place = self;
        for part in parts {
            if part.is_empty() || part == "." || part == ".." {
                return Err(wrong("it is not a plain path"));
            }
            if place.content.is_some() {
                return Err(wrong("it is inside another mount"));
            }
            place = place.below.entry(part.to_owned()).or_default();
        }
        if place.content.is_some() || !place.below.is_empty() {
            return Err(wrong("something else is mounted there"));
        }
        place.content = Some(content);
        Ok(())
    }
}

fn below(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") }
}

fn text(text: &str) -> Result<CString, SandboxError> {
    CString::new(text).map_err(|_| SandboxError::Layout {
        target: text.escape_debug().to_string(),
        problem: "it has a zero byte".into(),
    })
}

pub(super) fn bytes(path: &Path) -> Result<CString, SandboxError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| SandboxError::Layout {
        target: path.display().to_string(),
        problem: "it has a zero byte".into(),
    })
}

impl Step {
    /// The name of the step in errors.
    pub(super) fn describe(&self) -> String {
        let show = |path: &CString| format!("`/{}`", path.to_string_lossy());
        match self {
            Self::Dir { at } | Self::File { at } | Self::Link { at, .. } => format!("make {}", show(at)),
            Self::Bind { at, source, .. } => format!("mount `{}` at {}", source.to_string_lossy(), show(at)),
            Self::Copy { at, source, .. } => {
                format!("copy `{}` to {}", source.to_string_lossy(), show(at))
            }
            Self::Memory { at, .. } | Self::Proc { at } => format!("mount {}", show(at)),
            Self::Finish { at, .. } => format!("set the mode and time of {}", show(at)),
        }
    }
}
