//! An object as blobs, and back. Files up to 1 MiB, empty directories and links are one zstd tar: a registry takes a round trip
//! for each blob. Larger files are blobs of their own.

use std::io::{self, Read, Write};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{Builder, EntryType, Header};

use crate::base::fs;
use crate::engine::archive_limits::Limited;
use crate::engine::tree::{EntryKind, Listing, TreeError, TreeWriter};

/// Larger files are blobs of their own.
pub(super) const LARGE: u64 = 1 << 20;

/// The bytes of a pack, which is read into memory, of an object of this size: compression makes nothing larger, and names need
/// room too.
pub(super) fn limit(size: u64) -> u64 {
    size.saturating_add(16 << 20).min(1 << 30)
}

/// What a tar adds for each entry at most: header, padding, and a header of its own for a long name.
const PER_ENTRY: u64 = 4096 + 2048;

/// Maximum number of entries, as of an image.
pub(super) const ENTRIES: u64 = 1_000_000;

const OVER: &str = "it has more than was signed";

/// The pack of an object. The same object gives the same bytes.
pub(super) fn pack(root: &Path, listing: &Listing) -> io::Result<Vec<u8>> {
    let plain = write_tar(Vec::new(), root, listing, LARGE)?;
    Ok(compress_to_vec(&plain[..], CompressionLevel::Fastest))
}

/// Everything of an object, large files included; modes say what is secret.
pub(in crate::engine) fn write_all<W: Write>(to: W, root: &Path, listing: &Listing) -> io::Result<W> {
    write_tar(to, root, listing, u64::MAX)
}

fn write_tar<W: Write>(to: W, root: &Path, listing: &Listing, largest: u64) -> io::Result<W> {
    let mut tar = Builder::new(to);
    for (path, entry) in listing.entries().filter(|(path, _)| !path.is_empty()) {
        let mut header = Header::new_gnu();
        header.set_mtime(0);
        let own = if entry.secret { 0o700 } else { 0o777 };
        match &entry.kind {
            EntryKind::File { size, .. } if *size > largest => {}
            EntryKind::File { exec, size } => {
                header.set_entry_type(EntryType::Regular);
                header.set_mode(if *exec { 0o755 } else { 0o644 } & own);
                header.set_size(*size);
                let file = fs::open(&root.join(path)).map_err(io::Error::other)?;
                tar.append_data(&mut header, path, file.take(*size))?;
            }
            EntryKind::Link { target } => {
                header.set_entry_type(EntryType::Symlink);
                header.set_mode(own);
                header.set_size(0);
                tar.append_link(&mut header, path, target)?;
            }
            EntryKind::Dir => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(0o755);
                header.set_size(0);
                tar.append_data(&mut header, path, io::empty())?;
            }
        }
    }
    tar.into_inner()
}

/// Why a pack could not be unpacked.
#[derive(Debug)]
pub(in crate::engine) enum UnpackError {
    /// It is not what its signer packed.
    Wrong(String),
    Tree(TreeError),
}

impl From<TreeError> for UnpackError {
    fn from(error: TreeError) -> Self {
        Self::Tree(error)
    }
}

/// Writes what is packed into a tree. `size` bounds the bytes of all files together. A key that we trust has signed the pack:
/// with these limits it can waste some time, and neither memory nor disk.
pub(super) fn unpack(packed: &[u8], size: u64, tree: &TreeWriter<'_>) -> Result<(), UnpackError> {
    let wrong =
        |error: &dyn std::fmt::Display| UnpackError::Wrong(format!("its pack cannot be read: {error}"));
    let decoder = StreamingDecoder::new(packed).map_err(|error| wrong(&error))?;
    // Every entry takes a byte of the compressed pack at least, far less than it may take here.
    let entries = ENTRIES.min(packed.len() as u64 + 1);
    fill(decoder, (size, entries), tree, false).map(drop)
}

/// Writes what a tar has into a tree, with so many bytes of files and so many entries at most; with `modes`, what only its owner may read
/// is secret. Says how many entries are.
pub(in crate::engine) fn fill(
    from: impl Read,
    (size, entries): (u64, u64),
    tree: &TreeWriter<'_>,
    modes: bool,
) -> Result<usize, UnpackError> {
    let wrong =
        |error: &dyn std::fmt::Display| UnpackError::Wrong(format!("its pack cannot be read: {error}"));
    let mut secrets = 0;
    let (reader, headers) = Limited::new(from, size.saturating_add(PER_ENTRY * entries), OVER);
    let mut archive = tar::Archive::new(reader);
    let mut left = size;
    for (at, entry) in archive.entries().map_err(|error| wrong(&error))?.enumerate() {
        let mut entry = entry.map_err(|error| wrong(&error))?;
        headers.entry(entry.raw_file_position(), entry.size());
        left =
            left.checked_sub(entry.size()).filter(|_| (at as u64) < entries).ok_or_else(|| wrong(&OVER))?;
        let path = String::from_utf8(entry.path_bytes().into_owned())
            .map_err(|_| UnpackError::Wrong("its pack has a name that is not text".into()))?;
        let path = path.trim_end_matches('/');
        let mode = entry.header().mode().map_err(|error| wrong(&error))?;
        let secret = modes && mode & 0o077 == 0;
        secrets += usize::from(secret);
        match entry.header().entry_type() {
            EntryType::Directory => tree.dir(path)?,
            EntryType::Symlink => {
                let target =
                    entry.link_name_bytes().and_then(|name| String::from_utf8(name.into_owned()).ok());
                let target =
                    target.ok_or_else(|| UnpackError::Wrong("its pack has a link to nowhere".into()))?;
                tree.link_as(path, &target, secret)?;
            }
            EntryType::Regular => {
                let mut file = tree.file_as(path, mode & 0o100 != 0, secret)?;
                io::copy(&mut entry, &mut file).map_err(|error| wrong(&error))?;
                file.finish()?;
            }
            _ => return Err(UnpackError::Wrong("its pack has an entry of another kind".into())),
        }
    }
    Ok(secrets)
}
