//! An image's root on disk as an image of one layer.
//!
//! Its digest is that of a canonical archive: sorted, without owners and times, and with modes reduced to the exec bit,
//! as objects of the store have them. The archive is never written: a blob streams from the files, so files that change
//! in between fail with a wrong digest.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::Digest as _;

use super::image::MANIFEST_TYPES;
use super::media_types::{IMAGE_CONFIG_MEDIA_TYPE as CONFIG_TYPE, IMAGE_LAYER_MEDIA_TYPE as LAYER_TYPE};
use super::{Descriptor, ImageName, Images, Located, MediaType, RegistryError, Result, Sha256, Verified};
use crate::base::fs;
use crate::base::json::canonical;

/// The size of a record of an archive.
const RECORD: u64 = 512;

/// Trees that are nested deeper are refused.
const DEPTH: usize = 128;

/// An image's root on disk.
pub(crate) struct RootDir {
    root: PathBuf,
    entries: Vec<Entry>,
    manifest: (Sha256, Vec<u8>),
    config: (Descriptor, Vec<u8>),
    layer: Descriptor,
    /// Paths that the image goes without, because they cannot be read.
    pub unreadable: Vec<String>,
}

#[derive(Debug)]
struct Entry {
    /// Relative to the root.
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Directory,
    File { size: u64, executable: bool },
    Link { target: PathBuf },
}

impl RootDir {
    /// Reads a whole directory.
    pub(crate) fn open(root: &Path, architecture: &str) -> Result<Self> {
        Self::with_config(root, architecture, None)
    }

    /// The same, with execution parameters: the `config` of an image's configuration.
    pub(crate) fn with_config(root: &Path, architecture: &str, parameters: Option<Value>) -> Result<Self> {
        let root = fs::canonical(root)?;
        let mut walk = Walk { root: &root, entries: Vec::new(), unreadable: Vec::new() };
        walk.directory(Path::new(""), 0)?;
        let Walk { mut entries, unreadable, .. } = walk;
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        let (mut hasher, mut stream) = (sha2::Sha256::new(), Archive::new(&root, &entries));
        let mut buffer = vec![0; 256 * 1024];
        let mut size = 0;
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    size += count as u64;
                    hasher.update(&buffer[..count]);
                }
                Err(error) => return Err(broken(&root, error)),
            }
        }
        drop(stream);
        let digest = Sha256::from_bytes(hasher.finalize().into());
        let layer = Descriptor { media_type: LAYER_TYPE.to_owned(), digest, size };
        let mut config = serde_json::json!({
            "architecture": architecture,
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [digest.to_string()]},
        });
        if let Some(parameters) = parameters {
            config["config"] = parameters;
        }
        let config = described(CONFIG_TYPE, canonical(&config).into_bytes());
        let [.., manifest_type, _] = MANIFEST_TYPES;
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": manifest_type,
            "config": shown(&config.0),
            "layers": [shown(&layer)],
        });
        let manifest = canonical(&manifest).into_bytes();
        Ok(Self { root, entries, manifest: (Sha256::of(&manifest), manifest), config, layer, unreadable })
    }

    pub(crate) fn digest(&self) -> Sha256 {
        self.manifest.0
    }

    /// Executable files of a directory of it, on disk.
    pub(crate) fn programs<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        self.entries.iter().filter_map(move |entry| match entry.kind {
            Kind::File { executable: true, .. } if entry.path.parent() == Some(Path::new(directory)) => {
                Some(self.root.join(&entry.path))
            }
            _ => None,
        })
    }

    fn missing(&self, image: &ImageName, what: String) -> RegistryError {
        RegistryError::NotFound { image: image.to_string(), what, place: self.root.display().to_string() }
    }
}

fn described(media_type: &str, bytes: Vec<u8>) -> (Descriptor, Vec<u8>) {
    let (digest, size) = (Sha256::of(&bytes), bytes.len() as u64);
    (Descriptor { media_type: media_type.to_owned(), digest, size }, bytes)
}

fn shown(descriptor: &Descriptor) -> serde_json::Value {
    let Descriptor { media_type, digest, size } = descriptor;
    serde_json::json!({"mediaType": media_type, "digest": digest.to_string(), "size": size})
}

fn broken(root: &Path, error: io::Error) -> RegistryError {
    let plain = |error| RegistryError::Fs(fs::Error::new("read", root, error));
    RegistryError::from_io(error).unwrap_or_else(plain)
}

impl Images for RootDir {
    fn locate(&self, image: &ImageName, _: &Sha256) -> Result<Located> {
        Ok(Located::by_its_name(image))
    }

    fn resolve(&self, _: &ImageName) -> Result<Sha256> {
        Ok(self.digest())
    }

    fn manifest(&self, image: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)> {
        let [.., manifest_type, _] = MANIFEST_TYPES;
        match &self.manifest {
            (own, bytes) if own == digest => Ok((manifest_type.to_owned(), bytes.clone())),
            _ => Err(self.missing(image, format!("manifest {digest}"))),
        }
    }

    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        if blob.digest == self.config.0.digest {
            return Ok(Box::new(self.config.1.as_slice()));
        }
        if blob.digest == self.layer.digest {
            return Ok(Box::new(Verified::new(Archive::new(&self.root, &self.entries), image, blob)));
        }
        Err(self.missing(image, format!("blob {}", blob.digest)))
    }
}

struct Walk<'a> {
    root: &'a Path,
    entries: Vec<Entry>,
    unreadable: Vec<String>,
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path, depth: usize) -> Result<()> {
        let full = self.root.join(path);
        if depth > DEPTH {
            let problem = format!("it is nested deeper than {DEPTH} directories");
            return Err(RegistryError::Malformed { image: full.display().to_string(), problem });
        }
        let names = match fs::list(&full) {
            // The root itself must be readable.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && depth > 0 => {
                self.unreadable.push(format!("/{}", path.display()));
                return Ok(());
            }
            names => names?,
        };
        for name in names {
            let path = path.join(name);
            let full = self.root.join(&path);
            let found = fs::metadata(&full)?;
            let kind = if found.is_symlink() {
                Kind::Link { target: fs::read_link(&full)? }
            } else if found.is_dir() {
                self.directory(&path, depth + 1)?;
                Kind::Directory
            } else if found.is_file() {
                match fs::open(&full) {
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        self.unreadable.push(format!("/{}", path.display()));
                        continue;
                    }
                    file => drop(file?),
                }
                let mode = std::os::unix::fs::MetadataExt::mode(&found);
                Kind::File { size: found.len(), executable: mode & 0o111 != 0 }
            } else {
                continue; // devices and sockets: an image's are dropped too
            };
            self.entries.push(Entry { path, kind });
        }
        Ok(())
    }
}

/// The archive of a tree, as a stream.
struct Archive<'a> {
    root: &'a Path,
    entries: std::slice::Iter<'a, Entry>,
    current: Box<dyn Read + Send>,
    is_ended: bool,
}

impl<'a> Archive<'a> {
    fn new(root: &'a Path, entries: &'a [Entry]) -> Self {
        Self { root, entries: entries.iter(), current: Box::new(io::empty()), is_ended: false }
    }
}

impl Read for Archive<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.current.read(buffer)?;
            if count > 0 || buffer.is_empty() || self.is_ended {
                return Ok(count);
            }
            self.current = match self.entries.next() {
                Some(entry) => record(self.root, entry)?,
                None => {
                    self.is_ended = true;
                    Box::new(io::repeat(0).take(2 * RECORD))
                }
            };
        }
    }
}

/// One entry of an archive: its header, and the content of a file with its padding.
fn record(root: &Path, entry: &Entry) -> io::Result<Box<dyn Read + Send>> {
    let mut header = tar::Header::new_gnu();
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    // The header alone, with the entries before it that long names need.
    let mut builder = tar::Builder::new(Vec::new());
    match &entry.kind {
        Kind::Link { target } => {
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_mode(0o777);
            builder.append_link(&mut header, &entry.path, target)?;
        }
        Kind::Directory => {
            header.set_entry_type(tar::EntryType::Directory);
            header.set_mode(0o755);
            builder.append_data(&mut header, &entry.path, io::empty())?;
        }
        Kind::File { size, executable } => {
            header.set_entry_type(tar::EntryType::Regular);
            header.set_mode(if *executable { 0o755 } else { 0o644 });
            header.set_size(*size);
            builder.append_data(&mut header, &entry.path, io::empty())?;
        }
    }
    let head = headers(builder);
    let Kind::File { size, .. } = entry.kind else { return Ok(Box::new(Cursor::new(head))) };
    let file = fs::open(&root.join(&entry.path)).map_err(|error| io::Error::new(error.kind(), error))?;
    let padding = size.next_multiple_of(RECORD) - size;
    Ok(Box::new(Cursor::new(head).chain(file.take(size)).chain(io::repeat(0).take(padding))))
}

/// What a builder wrote, without the end of the archive.
fn headers(builder: tar::Builder<Vec<u8>>) -> Vec<u8> {
    let mut written = builder.into_inner().unwrap_or_default();
    written.truncate(written.len().saturating_sub(2 * RECORD as usize));
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(images: &RootDir, blob: &Descriptor) -> io::Result<Vec<u8>> {
        let name: ImageName = "registry.invalid/root:1".parse().unwrap();
        let mut bytes = Vec::new();
        images.blob(&name, blob).map_err(io::Error::other)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn a_tree_is_one_layer_whatever_its_times_and_modes() {
        let dir = tempfile::tempdir().unwrap();
        let long = "d/".repeat(60) + "file";
        for (root, mode) in [("one", 0o600), ("other", 0o640)] {
            let root = dir.path().join(root);
            fs::create_dirs(&root.join(&long).with_file_name("")).unwrap();
            fs::create_dirs(&root.join("usr/bin")).unwrap();
            fs::write_new(&root.join(&long), &[7; 700], mode).unwrap();
            fs::write_new(&root.join("usr/bin/program"), b"#!/bin/sh\n", mode | 0o100).unwrap();
            fs::symlink(Path::new("/usr/bin"), &root.join("bin")).unwrap();
        }
        let one = RootDir::open(&dir.path().join("one"), "amd64").unwrap();
        let other = RootDir::open(&dir.path().join("other"), "amd64").unwrap();
        assert_eq!(one.digest(), other.digest());
        assert_ne!(one.digest(), RootDir::open(&dir.path().join("one"), "arm64").unwrap().digest());
        assert_eq!(one.programs("usr/bin").count(), 1);

        let bytes = read(&one, &one.layer).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let found: Vec<(String, u32, u64)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry.path().unwrap().display().to_string();
                (path, entry.header().mode().unwrap(), entry.size())
            })
            .filter(|(path, ..)| !path.ends_with('d'))
            .collect();
        let file = |path: &str, mode: u32, size: u64| (path.to_owned(), mode, size);
        assert_eq!(
            found,
            [
                file("bin", 0o777, 0),
                file(&long, 0o644, 700),
                file("usr", 0o755, 0),
                file("usr/bin", 0o755, 0),
                file("usr/bin/program", 0o755, 10)
            ]
        );
    }

    #[test]
    fn a_file_that_changes_meanwhile_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write_new(&dir.path().join("a"), b"one", 0o644).unwrap();
        let images = RootDir::open(dir.path(), "amd64").unwrap();
        for now in [&b"two"[..], b"o", b"longer"] {
            fs::replace(&dir.path().join("a"), now, 0o644).unwrap();
            assert!(read(&images, &images.layer).is_err(), "{now:?}");
        }
    }
}
