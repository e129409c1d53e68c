//! Reads one layer in one pass: verifies and decompresses it, and keeps the requested files.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use flate2::bufread::MultiGzDecoder;
use tar::EntryType;

use super::super::BuildError;
use super::budget::{self, Counted, ImageBudget, OVER};
use super::sparse::PaxSparse;
use crate::engine::archive_limits::{HeaderLimit, Limited};
use crate::engine::registry::{Descriptor, ImageName, Images, RegistryError};
use crate::engine::tree::{FillError, Scratch, TreeEntry, TreeWriter};

/// The requested paths, without the leading `/`.
#[derive(Debug)]
pub(super) struct Wanted(Vec<String>);

impl Wanted {
    pub(super) fn new(paths: &[&str]) -> Self {
        Self(paths.iter().map(|path| path.trim_matches('/').to_owned()).collect())
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether a path was requested itself or lies below a requested path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.0.iter().any(|wanted| is_at_or_below(path, wanted))
    }

    /// Whether a requested path may lie below this path.
    fn leads_to(&self, path: &str) -> bool {
        self.0.iter().any(|wanted| is_at_or_below(wanted, path))
    }
}

pub(super) fn is_at_or_below(path: &str, above: &str) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A layer's entry for one path.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// A file, and where its bytes are.
    File(PathBuf, TreeEntry),
    Dir,
    /// A symbolic link, as written.
    Link(String),
    /// A hard link.
    Same(String),
}

/// A layer's entries for the requested paths and their parents.
#[derive(Debug)]
pub(super) struct Layer<'a> {
    scratch: Scratch<'a>,
    pub(super) items: BTreeMap<String, Item>,
    /// Paths of lower layers that it removes (whiteouts).
    pub(super) removed: Vec<String>,
    /// Directories of lower layers whose content it hides.
    pub(super) opaque: Vec<String>,
}

impl<'a> Layer<'a> {
    /// Reads a whole layer. `out` provides scratch space for the files of layer number `at`.
    pub(super) fn read(
        images: &dyn Images,
        name: &ImageName,
        descriptor: &Descriptor,
        wanted: &Wanted,
        budget: &ImageBudget,
        out: &'a TreeWriter<'_>,
        at: usize,
    ) -> Result<Self, BuildError> {
        let scratch = out.scratch(&format!("layer-{at}"))?;
        let mut blob = BufReader::with_capacity(256 * 1024, images.blob(name, descriptor)?);
        let limit = budget::layer(descriptor.size);
        let (items, removed, opaque) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut layer = Self { scratch, items, removed, opaque };
        let read = match compression(&descriptor.media_type) {
            Compression::Gzip => {
                layer.unpack(Limited::new(MultiGzDecoder::new(&mut blob), limit, OVER), wanted, budget)
            }
            Compression::Zstd => match ruzstd::decoding::StreamingDecoder::new(&mut blob) {
                Ok(decoder) => layer.unpack(Limited::new(decoder, limit, OVER), wanted, budget),
                Err(error) => Err(io::Error::other(error.to_string()).into()),
            },
            Compression::None => layer.unpack(Limited::new(&mut blob, limit, OVER), wanted, budget),
        };
        // Bytes after the archive belong to the blob too, and only its end is verified.
        let read = read.and_then(|()| io::copy(&mut blob, &mut io::sink()).map(drop).map_err(Problem::from));
        read.map(|()| layer).map_err(|problem| problem.explain(name, descriptor))
    }

    fn unpack<R: Read>(
        &mut self,
        (reader, headers): (Limited<R>, HeaderLimit),
        wanted: &Wanted,
        budget: &ImageBudget,
    ) -> Result<(), Problem> {
        let mut archive = tar::Archive::new(reader);
        for entry in archive.entries()? {
            let mut entry = entry?;
            budget.entry()?;
            let sparse = entry.header().entry_type() == EntryType::GNUSparse;
            let size = if sparse { entry.header().entry_size()? } else { entry.size() };
            headers.entry(entry.raw_file_position(), size);
            let sparse = PaxSparse::of(&mut entry)?;
            let named = sparse.as_ref().and_then(|sparse| sparse.name.clone());
            let path = clean(&named.unwrap_or_else(|| entry.path_bytes().into_owned()))?;
            let (parent, leaf) = path.rsplit_once('/').unwrap_or(("", &path));
            if leaf == ".wh..wh..opq" {
                self.opaque.push(parent.to_owned());
            } else if let Some(hidden) = leaf.strip_prefix(".wh.") {
                let hidden = if parent.is_empty() { hidden.to_owned() } else { format!("{parent}/{hidden}") };
                self.removed.push(hidden);
            } else if wanted.has(&path) || (wanted.leads_to(&path) && !path.is_empty()) {
                self.keep(&mut entry, path, sparse, wanted, budget)?;
            }
        }
        headers.lift();
        // Reads the decoder to its end, which detects a truncated archive.
        io::copy(&mut archive.into_inner(), &mut io::sink())?;
        Ok(())
    }

    fn keep(
        &mut self,
        entry: &mut tar::Entry<'_, impl Read>,
        path: String,
        sparse: Option<PaxSparse>,
        wanted: &Wanted,
        budget: &ImageBudget,
    ) -> Result<(), Problem> {
        let header = entry.header();
        let item = match header.entry_type() {
            EntryType::Directory => Item::Dir,
            EntryType::Symlink => Item::Link(target(entry)?),
            EntryType::Link => Item::Same(clean(target(entry)?.as_bytes())?),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse if wanted.has(&path) => {
                let exec = header.mode()? & 0o100 != 0;
                let (place, entry) = match sparse {
                    None => self.scratch.fill(&mut Counted { inner: entry, budget }, exec)?,
                    Some(sparse) => {
                        self.scratch.fill(&mut Counted { inner: sparse.expand(entry)?, budget }, exec)?
                    }
                };
                Item::File(place, entry)
            }
            // Devices and pipes do not belong in an output; files on the way to a requested path are not requested.
            _ => return Ok(()),
        };
        self.items.insert(path, item);
        Ok(())
    }
}

enum Compression {
    Gzip,
    Zstd,
    None,
}

fn compression(media_type: &str) -> Compression {
    match media_type {
        zstd if zstd.ends_with("zstd") => Compression::Zstd,
        plain if plain.ends_with(".tar") => Compression::None,
        _ => Compression::Gzip,
    }
}

/// An archive path in our form. Rejects paths that climb: valid layers have none.
fn clean(bytes: &[u8]) -> Result<String, Problem> {
    if bytes.len() > budget::PATH {
        return Err(io::Error::other("a path in it has more than 4,096 bytes").into());
    }
    let text =
        std::str::from_utf8(bytes).map_err(|_| Problem::Path(String::from_utf8_lossy(bytes).into_owned()))?;
    let mut parts = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(Problem::Path(text.to_owned())),
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

fn target(entry: &tar::Entry<'_, impl Read>) -> Result<String, Problem> {
    let bytes = entry.link_name_bytes().unwrap_or_default();
    if bytes.len() > budget::PATH {
        return Err(io::Error::other("a link in it has more than 4,096 bytes").into());
    }
    String::from_utf8(bytes.to_vec()).map_err(|_| Problem::Path(String::from_utf8_lossy(&bytes).into_owned()))
}

enum Problem {
    Io(io::Error),
    /// A path that leaves the root, or is not UTF-8.
    Path(String),
    Tree(Box<crate::engine::tree::TreeError>),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<FillError> for Problem {
    fn from(error: FillError) -> Self {
        match error {
            FillError::Read(error) => Self::Io(error),
            FillError::Write(error) => Self::Tree(Box::new(error)),
        }
    }
}

impl Problem {
    fn explain(self, name: &ImageName, layer: &Descriptor) -> BuildError {
        let malformed = |problem: String| {
            let problem = format!("layer {} {problem}", layer.digest);
            BuildError::Registry(RegistryError::Malformed { image: name.to_string(), problem })
        };
        match self {
            Self::Tree(error) => BuildError::Tree(*error),
            Self::Path(path) => {
                malformed(format!("has the path `{}`, which leads out of the root", path.escape_debug()))
            }
            Self::Io(error) => match RegistryError::from_io(error) {
                Ok(registry) => BuildError::Registry(registry),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    malformed("ends too early".into())
                }
                Err(error) => malformed(format!("cannot be unpacked: {error}")),
            },
        }
    }
}
