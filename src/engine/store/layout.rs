//! The shape of the store directory: which names, kinds and modes belong where, as `store/README.md` draws it.
//!
//! `verify` names what has another kind or mode, what is missing, and what is not ours. `repair` first restores the shape, so
//! that everything else can be read: it sets modes, creates directories, and sets aside what does not belong, by renaming it
//! to `.tinderbox/foreign/`. It never deletes what tinderbox did not write, and follows no link.
//!
//! Not damage, because it cannot be told from what gc and users do, and nothing is lost that a build does not bring back:
//! the absence of a realisation, a link, a log, a blob, a download, a lock, a memo, `state`, an old generation, or a whole root.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::verify::{Finding, FindingKind};
use super::{FORMAT, FORMAT_TEXT, ObjectName, PARTS, README, Result, Store, StoreError};
use crate::base::digest::{Digest, DrvId, KeyId, ObjectId};
use crate::base::fs;
use crate::engine::registry::Sha256;

/// What belongs under a name.
#[derive(Clone, Copy)]
enum Node {
    Dir(fn(&str) -> Option<Node>),
    /// A directory for its owner only.
    PrivateDir(fn(&str) -> Option<Node>),
    /// A file that others may read, but not write.
    File,
    /// A file for its owner only.
    PrivateFile,
    /// An empty file for its owner only.
    Lock,
    /// Verified elsewhere, or not at all.
    Other,
}

/// A defect of the shape, and how to mend it.
enum Mend {
    Mode(u32),
    Create { private: bool },
    SetAside,
    Write(&'static str),
    Empty,
}

fn anything(_: &str) -> Option<Node> {
    Some(Node::Other)
}

fn top(name: &str) -> Option<Node> {
    match name {
        "README.md" => Some(Node::File),
        ".tinderbox" => Some(Node::Dir(inner)),
        "lost+found" => Some(Node::Other), // of a file system of its own
        name => name.parse::<ObjectName>().ok().map(|_| Node::Other),
    }
}

fn inner(name: &str) -> Option<Node> {
    Some(match name {
        "format" => Node::File,
        "realisations" => Node::Dir(|name| name.parse::<DrvId>().ok().map(|_| Node::File)),
        "manifests" => Node::Dir(|name| name.parse::<ObjectId>().ok().map(|_| Node::File)),
        "links" => Node::Dir(|name| {
            let digest = name.strip_suffix(".x").unwrap_or(name);
            digest.parse::<Digest>().ok().map(|_| Node::Other)
        }),
        "keys" => Node::PrivateDir(|name| name.parse::<KeyId>().ok().map(|_| Node::PrivateFile)),
        "locks" => Node::Dir(lock),
        "tmp" => Node::PrivateDir(anything),
        "roots" => Node::Dir(root),
        "logs" => Node::Dir(|name| name.parse::<DrvId>().ok().map(|_| Node::PrivateFile)),
        "blobs" => Node::Dir(|name| match name {
            "sha256" => Some(Node::Dir(|name| sha256(name).map(|_| Node::File))),
            "tmp" => Some(Node::Dir(anything)),
            _ => None,
        }),
        "downloads" => Node::Dir(|name| {
            let (digest, suffix) = name.split_once('.').unwrap_or((name, ""));
            sha256(digest).filter(|_| ["", "part", "unpacking"].contains(&suffix)).map(|_| Node::File)
        }),
        "foreign" => Node::PrivateDir(anything),
        _ => return None,
    })
}

fn sha256(digits: &str) -> Option<Sha256> {
    format!("sha256:{digits}").parse().ok()
}

fn lock(name: &str) -> Option<Node> {
    let ours = ["gc", "sessions"].contains(&name)
        || name.parse::<DrvId>().is_ok()
        || name.strip_prefix("download-").and_then(sha256).is_some();
    ours.then_some(Node::Lock)
}

fn root(name: &str) -> Option<Node> {
    let (_, place) = name.rsplit_once('-')?;
    let ours = place.len() == 8 && crate::base::digest::is_prefix(place);
    ours.then_some(Node::Dir(|name| match name {
        "directory" | "current" | "last.json" | "state" | "downloads" | "missing" => Some(Node::File),
        "memo" => Some(Node::PrivateFile),
        "generations" => Some(Node::Dir(|name| {
            let number: u64 = name.strip_suffix(".json")?.parse().ok()?;
            (name == format!("{number}.json")).then_some(Node::File)
        })),
        _ => None,
    }))
}

/// Whether this is what a killed process left of a file that it was about to replace: `.<name>.<random>`.
fn is_leftover(name: &str, rule: fn(&str) -> Option<Node>) -> bool {
    let inside = name.strip_prefix('.').and_then(|name| name.rsplit_once('.'));
    inside.is_some_and(|(name, random)| {
        random.len() == 16 && random.bytes().all(|c| c.is_ascii_hexdigit()) && rule(name).is_some()
    })
}

impl Store {
    /// Opens a store whose own files may be damaged, in order to verify or repair it. Refuses what may be no store, or a store
    /// of another format: its README says which format it has, and so does the layout.
    pub fn open_damaged(root: &Path) -> Result<Self> {
        let error = match Self::open(root) {
            Err(
                error @ (StoreError::Fs(_)
                | StoreError::NotAStore { .. }
                | StoreError::Linked { .. }
                | StoreError::Format { .. }),
            ) => error,
            done => return done,
        };
        let store = Self::at(&fs::canonical(root).map_err(|_| error)?);
        match store.is_ours() {
            true => Ok(store),
            false => Self::open(root),
        }
    }

    /// Whether there is a store at a path, sound or damaged.
    pub fn is_at(root: &Path) -> bool {
        fs::exists(&root.join(".tinderbox/format")).unwrap_or(false) || Self::at(root).is_ours()
    }

    /// Whether a directory with a damaged or missing `format` is unmistakably a store of this format.
    pub(super) fn is_ours(&self) -> bool {
        let readme = fs::read_head(&self.root.join("README.md"), README.len() + 1).unwrap_or_default();
        let first = |text: &[u8]| text.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
        let format = fs::read_head(&self.part("format"), 64).unwrap_or_default();
        let number = std::str::from_utf8(&format).ok().and_then(|text| text.trim().parse::<u32>().ok());
        let parts = PARTS.iter().filter(|part| is_dir(&self.part(part))).count();
        if number.is_some_and(|number| number != FORMAT) {
            // A tinderbox of another format writes another README.
            return readme == README.as_bytes() && parts > 0;
        }
        match first(&readme) == first(README.as_bytes()) {
            true => parts > 0 || self.objects().is_ok_and(|objects| !objects.is_empty()),
            false => parts + 1 >= PARTS.len(),
        }
    }

    /// The names in a directory of ours; none if it cannot be listed, which the layout's findings say.
    pub(super) fn names_in(&self, part: &str) -> Vec<std::ffi::OsString> {
        let path = self.part(part);
        if is_dir(&path) { fs::list(&path).unwrap_or_default() } else { Vec::new() }
    }

    /// What does not have the kind, mode or name that belongs there.
    pub(super) fn bad_layout(&self) -> Vec<Finding> {
        self.bad_shape().into_iter().map(|(finding, _)| finding).collect()
    }

    fn bad_shape(&self) -> Vec<(Finding, Mend)> {
        let mut shape = Shape { found: Vec::new() };
        shape.dir(&self.root, top);
        let inner_path = self.root.join(".tinderbox");
        let wanted = std::iter::once(inner_path.clone()).chain(PARTS.map(|part| inner_path.join(part)));
        let generations = self.names_in("roots").into_iter().map(|name| self.part("roots").join(name));
        let generations = generations
            .filter(|root| fs::exists(&root.join("directory")).unwrap_or(false))
            .map(|root| root.join("generations"));
        for path in wanted.chain(generations) {
            if matches!(fs::optional(fs::metadata(&path)), Ok(None)) {
                let private = path.ends_with("keys") || path.ends_with("tmp");
                shape.add(&path, FindingKind::Missing, "it is missing", Mend::Create { private });
            }
        }
        shape.exactly(&self.root.join("README.md"), README);
        if is_dir(&inner_path) {
            shape.exactly(&self.part("format"), FORMAT_TEXT);
        }
        shape.found
    }

    /// Restores the shape of the store directory. Returns what is lost, and what was set aside.
    pub fn mend_layout(&self) -> Result<Vec<String>> {
        let mut said = Vec::new();
        // What is below a directory shows only when that is one; no path is deeper than this.
        for _ in 0..8 {
            let bad = self.bad_shape();
            if bad.is_empty() {
                break;
            }
            for (Finding { path, .. }, mend) in bad {
                match mend {
                    Mend::Mode(mode) => drop(fs::optional(fs::set_mode(&path, mode))?),
                    Mend::Create { private } => {
                        fs::create_dirs(&path)?;
                        fs::set_mode(&path, if private { 0o700 } else { 0o755 })?;
                        say_once(&mut said, lost_with(&path));
                    }
                    Mend::Write(text) => fs::replace(&path, text.as_bytes(), 0o644)?,
                    Mend::Empty => fs::remove_all(&path)?,
                    Mend::SetAside => {
                        let Some(aside) = self.set_aside(&path)? else { continue };
                        said.push(format!("{}: set aside as {}", path.display(), aside.display()));
                        say_once(&mut said, lost_with(&path));
                    }
                }
            }
        }
        Ok(said)
    }

    /// Moves something to `.tinderbox/foreign/`. None if it is gone.
    fn set_aside(&self, path: &Path) -> Result<Option<PathBuf>> {
        let foreign = self.part("foreign");
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        let name: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        let aside = foreign.join(format!("{}.{}", name.join("-").trim_start_matches('.'), fs::random_name()));
        // If `.tinderbox` itself is in the way, what is there moves twice.
        let mut from = path.to_owned();
        if self.root.join(".tinderbox") == path || foreign == path {
            from = self.root.join(format!(".{}", fs::random_name()));
            fs::rename(path, &from)?;
        }
        fs::create_dirs(&foreign)?;
        fs::set_mode(&foreign, 0o700)?;
        if let Ok(found) = fs::metadata(&from)
            && found.is_dir()
            && found.mode() & 0o700 != 0o700
        {
            fs::set_mode(&from, 0o700)?; // moving a directory writes its `..`
        }
        Ok(fs::optional(fs::rename(&from, &aside))?.map(|()| aside))
    }
}

/// What only a part that is gone could say.
fn lost_with(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let cluster = || {
        let directory = fs::read_text(&path.parent()?.join("directory")).ok()?;
        Some(directory.trim_end().to_owned())
    };
    match name {
        ".tinderbox" | "roots" => Some("the generations of every cluster directory".to_owned()),
        "realisations" => {
            Some("all realisations: the next build of every cluster directory builds it again".to_owned())
        }
        "manifests" => Some("all manifests: every object is built again".to_owned()),
        "generations" => Some(format!("the generations of `{}`", cluster()?)),
        name if path.parent()?.ends_with(".tinderbox/roots") => Some(format!("the generations of `{name}`")),
        name => {
            let number: u64 = name.strip_suffix(".json")?.parse().ok()?;
            let root = fs::read_text(&path.parent()?.parent()?.join("directory")).ok()?;
            Some(format!("generation {number} of `{}`", root.trim_end()))
        }
    }
}

/// A part and the directory that it is in are often lost together, and with the same words.
fn say_once(said: &mut Vec<String>, lost: Option<String>) {
    said.extend(lost.filter(|lost| !said.contains(lost)));
}

fn is_dir(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir())
}

struct Shape {
    found: Vec<(Finding, Mend)>,
}

impl Shape {
    fn add(&mut self, path: &Path, kind: FindingKind, detail: &str, mend: Mend) {
        let finding = Finding { path: path.to_owned(), kind, detail: detail.to_owned(), object: None };
        self.found.push((finding, mend));
    }

    /// Checks everything in a directory, which is one.
    fn dir(&mut self, path: &Path, rule: fn(&str) -> Option<Node>) {
        // One that cannot be listed has a finding already: its mode.
        for name in fs::list(path).unwrap_or_default() {
            let below = path.join(&name);
            match name.to_str().and_then(rule) {
                Some(node) => self.node(&below, node),
                None if is_ours(&name, rule) => {}
                None => self.add(&below, FindingKind::Foreign, "it is not part of the store", Mend::SetAside),
            }
        }
    }

    fn node(&mut self, path: &Path, node: Node) {
        let Ok(found) = fs::metadata(path) else { return }; // just removed
        let (dir, private) = match node {
            Node::Other => return,
            Node::Dir(_) => (true, false),
            Node::PrivateDir(_) => (true, true),
            Node::File => (false, false),
            Node::PrivateFile | Node::Lock => (false, true),
        };
        if found.is_dir() != dir || !(found.is_dir() || found.is_file()) {
            let detail = if dir { "it is not a directory" } else { "it is not a regular file" };
            return self.add(path, FindingKind::Altered, detail, Mend::SetAside);
        }
        let mode = found.mode() & 0o7777;
        let (needs, forbids) = match (dir, private) {
            (true, false) => (0o700, 0o7002),
            (true, true) => (0o700, 0o7077),
            (false, false) => (0o400, 0o7022),
            (false, true) => (0o400, 0o7077),
        };
        if mode & needs != needs || mode & forbids != 0 {
            let right = match (dir, private) {
                (true, false) => 0o755,
                (true, true) => 0o700,
                (false, false) => 0o644,
                (false, true) => 0o600,
            };
            let detail = format!("its mode is {mode:04o}, not {right:04o}");
            self.add(path, FindingKind::Altered, &detail, Mend::Mode(right));
        }
        match node {
            Node::Dir(rule) | Node::PrivateDir(rule) => self.dir(path, rule),
            Node::Lock if found.len() > 0 => {
                self.add(path, FindingKind::Changed, "a lock is an empty file", Mend::Empty);
            }
            _ => {}
        }
    }

    /// A file of ours whose content is known.
    fn exactly(&mut self, path: &Path, text: &'static str) {
        match fs::optional(fs::metadata(path)) {
            Ok(Some(found)) if found.is_file() => {
                if !fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
                    let detail = "its content is not what this tinderbox writes";
                    self.add(path, FindingKind::Changed, detail, Mend::Write(text));
                }
            }
            Ok(Some(_)) => {} // of another kind: said already
            _ => self.add(path, FindingKind::Missing, "it is missing", Mend::Write(text)),
        }
    }
}

fn is_ours(name: &OsStr, rule: fn(&str) -> Option<Node>) -> bool {
    name.to_str().is_some_and(|name| is_leftover(name, rule))
}
