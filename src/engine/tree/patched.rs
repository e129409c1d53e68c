//! Writes a large file that is a copy of another with some ranges overwritten, and perhaps more at its end: in one pass, without holding it in
//! memory, sharing blocks with the original where the file system supports it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::TreeError;
use super::writer::TreeWriter;
use crate::base::fs::{self, At};

/// Bytes per read and write: enough to keep two hashes busy in parallel.
const PIECE: usize = 1 << 20;
/// Blocks of zeros need not be written.
static NOTHING: [u8; PIECE] = [0; PIECE];

impl TreeWriter<'_> {
    /// Writes a copy of the open file `from` (`name` in errors) with these bytes at these offsets, which lie within it or
    /// begin behind its end, and do not overlap. Zeros fill what is between. `seen` receives the complete original in pieces: exactly the bytes that were copied, even
    /// if the file changes meanwhile.
    pub fn patched(
        &self,
        path: &str,
        from: &File,
        name: &Path,
        patches: &BTreeMap<u64, Vec<u8>>,
        mut seen: impl FnMut(&[u8]) + Send,
    ) -> Result<(), TreeError> {
        let mut to = self.file(path, false)?;
        let shared = fs::reflink(from, &to.file);
        let mut buffer = vec![0; PIECE];
        loop {
            // A reflinked copy is ours alone: the original may change, the copy does not.
            let source = if shared { &to.file } else { from };
            let count = fill(source, &mut buffer, to.size).at("read", name)?;
            if count == 0 {
                break;
            }
            let original = &buffer[..count];
            let changed = changed(original, to.size, patches);
            let piece = changed.as_deref().unwrap_or(original);
            rayon::join(|| seen(original), || to.hasher.update(piece).count());
            if !shared && *piece != NOTHING[..count] {
                to.file.write_all_at(piece, to.size).at("write", &to.full)?;
            }
            to.size += count as u64;
        }
        for (at, bytes) in patches.range(to.size..) {
            io::copy(&mut io::repeat(0).take(at - to.size), &mut to.hasher).at("write", &to.full)?;
            to.hasher.update(bytes);
            to.file.write_all_at(bytes, *at).at("write", &to.full)?;
            to.size = at + bytes.len() as u64;
        }
        // Of shared blocks, only those with a patch are rewritten.
        for (at, bytes) in patches.iter().filter(|_| shared) {
            to.file.write_all_at(bytes, *at).at("write", &to.full)?;
        }
        to.file.set_len(to.size).at("write", &to.full)?;
        to.finish()
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The piece at this offset with its patches applied; none if there are none.
fn changed(piece: &[u8], offset: u64, patches: &BTreeMap<u64, Vec<u8>>) -> Option<Vec<u8>> {
    let mut changed = None;
    for (at, bytes) in patches.range(..offset + piece.len() as u64) {
        let behind = usize::try_from(offset.saturating_sub(*at)).unwrap_or(usize::MAX);
        let Some(bytes) = bytes.get(behind..).filter(|bytes| !bytes.is_empty()) else { continue };
        let start = usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX);
        let piece = changed.get_or_insert_with(|| piece.to_vec());
        for (to, from) in piece.iter_mut().skip(start).zip(bytes) {
            *to = *from;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::engine::tree::Hashing;

    /// Writes `bytes` with `patches`; returns the result, what was seen, and the number of blocks.
    fn patched(bytes: &[u8], patches: &[(usize, &[u8])]) -> (Vec<u8>, Vec<u8>, u64) {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("base");
        fs::write_new(&base, bytes, 0o600).unwrap();
        let tree = TreeWriter::create(dir.path().join("tree"), Hashing(None), false).unwrap();
        let patches = patches.iter().map(|(at, bytes)| (*at as u64, bytes.to_vec())).collect();
        let mut seen = Vec::new();
        let mut see = |piece: &[u8]| seen.extend_from_slice(piece);
        tree.patched("file", &fs::open(&base).unwrap(), &base, &patches, &mut see).unwrap();
        let file = tree.root().join("file");
        let entry = tree.finish().unwrap().listing.get("file").unwrap().clone();
        let out = fs::read(&file).unwrap();
        assert_eq!(entry.digest, blake3::hash(&out).into());
        assert_eq!(entry.size(), out.len() as u64);
        assert_eq!(fs::read(&base).unwrap(), bytes, "the original is left alone");
        (out, seen, fs::metadata(&file).unwrap().blocks())
    }

    #[test]
    fn patches_land_across_pieces_and_the_rest_is_the_same() {
        let bytes: Vec<u8> = (0..2 * PIECE + 777).map(|at| (at % 251) as u8).collect();
        let patches: [(usize, &[u8]); 4] =
            [(0, b"start"), (PIECE - 3, b"across"), (PIECE + 100, &[0; 50]), (2 * PIECE + 770, b"the end")];
        let mut expected = bytes.clone();
        patches.iter().for_each(|(at, bytes)| expected[*at..*at + bytes.len()].copy_from_slice(bytes));
        let (out, seen, _) = patched(&bytes, &patches);
        assert!(out == expected);
        assert!(seen == bytes);
    }

    #[test]
    fn a_patch_may_span_several_pieces() {
        let long = vec![7; 2 * PIECE + 10];
        let (out, ..) = patched(&vec![1; 4 * PIECE], &[(PIECE / 2, &long)]);
        assert!(out[PIECE / 2..][..long.len()] == long);
        assert!(out[..PIECE / 2].iter().chain(&out[PIECE / 2 + long.len()..]).all(|byte| *byte == 1));
    }

    #[test]
    fn more_may_follow_the_end() {
        let (out, seen, _) = patched(b"12345", &[(1, b"ab"), (5, b"next"), (16, b"far")]);
        assert_eq!(out, b"1ab45next\0\0\0\0\0\0\0far");
        assert_eq!(seen, b"12345");
    }

    #[test]
    fn zeros_take_no_room() {
        let mut bytes = vec![0; 8 * PIECE];
        bytes[5 * PIECE] = 1;
        let (out, seen, blocks) = patched(&bytes, &[(3 * PIECE, b"x")]);
        assert!(seen == bytes);
        bytes[3 * PIECE] = b'x';
        assert!(out == bytes);
        assert!(blocks * 512 < 4 * PIECE as u64, "{blocks} blocks");
        assert_eq!(patched(&[], &[]).0, b"");
    }
}
