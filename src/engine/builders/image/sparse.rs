//! Sparse files as pax archives have them: the entry begins with a map of its data, and holes cost nothing.
//!
//! | format | where the map is | here |
//! |---|---|---|
//! | old GNU | in the header, type `S` | the tar crate reads it |
//! | pax 0.0, 0.1 | in pax records | refused: nobody has written it since 2006 |
//! | pax 1.0 | in front of the data, padded to 512 bytes | [`Expanded`] |
//!
//! What is expanded counts as bytes of the image (`budget`), holes included.

use std::collections::VecDeque;
use std::io::{self, Read};

/// The map of one file has at most so many bytes.
const MAP: usize = 1 << 20;
const BLOCK: usize = 512;

/// A sparse file of a pax archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaxSparse {
    /// Its path; that of the entry has an extra directory.
    pub(super) name: Option<Vec<u8>>,
    size: u64,
}

impl PaxSparse {
    /// What the pax records of an entry say; none if it is not sparse.
    pub(super) fn of(entry: &mut tar::Entry<'_, impl Read>) -> io::Result<Option<Self>> {
        let (mut any, mut major, mut name, mut size) = (false, None, None, None);
        for record in entry.pax_extensions()?.into_iter().flatten() {
            let record = record?;
            let Some(key) = record.key_bytes().strip_prefix(b"GNU.sparse.") else { continue };
            any = true;
            let number = || std::str::from_utf8(record.value_bytes()).ok()?.parse::<u64>().ok();
            match key {
                b"major" => major = number(),
                b"name" => name = Some(record.value_bytes().to_vec()),
                b"realsize" => size = number(),
                _ => {}
            }
        }
        match (any, major, size) {
            (false, ..) => Ok(None),
            (true, Some(1), Some(size)) => Ok(Some(Self { name, size })),
            _ => Err(io::Error::other(
                "it has a sparse file of a pax format other than 1.0, which is not supported",
            )),
        }
    }

    /// The content with its holes.
    pub(super) fn expand<R: Read>(&self, mut inner: R) -> io::Result<Expanded<R>> {
        let mut map = Map::default();
        let count = map.number(&mut inner)?;
        let (mut segments, mut end) = (VecDeque::new(), 0);
        for _ in 0..count {
            let (offset, length) = (map.number(&mut inner)?, map.number(&mut inner)?);
            let next = offset.checked_add(length).filter(|next| offset >= end && *next <= self.size);
            end = next.ok_or_else(|| io::Error::other("the map of a sparse file in it is wrong"))?;
            if length > 0 {
                segments.push_back((offset, end));
            }
        }
        Ok(Expanded { inner, segments, at: 0, size: self.size })
    }
}

/// Decimal numbers, one a line, in blocks of 512 bytes. Reads no further than the block of the last one.
#[derive(Default)]
struct Map {
    bytes: Vec<u8>,
    at: usize,
}

impl Map {
    fn number(&mut self, from: &mut impl Read) -> io::Result<u64> {
        let wrong = || io::Error::other("the map of a sparse file in it is wrong");
        loop {
            let rest = &self.bytes[self.at..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let text = std::str::from_utf8(&rest[..end]).map_err(|_| wrong())?;
                let number = text.parse().map_err(|_| wrong())?;
                self.at += end + 1;
                return Ok(number);
            }
            if self.bytes.len() >= MAP || rest.len() > 20 {
                return Err(wrong());
            }
            let mut block = [0; BLOCK];
            from.read_exact(&mut block)?;
            self.bytes.extend_from_slice(&block);
        }
    }
}

/// A reader of data and holes.
pub(super) struct Expanded<R> {
    inner: R,
    /// Begin and end of data, in order.
    segments: VecDeque<(u64, u64)>,
    at: u64,
    size: u64,
}

impl<R: Read> Read for Expanded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (length, at) = (buffer.len(), self.at);
        let room = |until: u64| length.min(usize::try_from(until - at).unwrap_or(usize::MAX));
        let read = match self.segments.front().copied() {
            Some((begin, end)) if self.at >= begin => {
                let read = self.inner.read(&mut buffer[..room(end)])?;
                if read == 0 && !buffer.is_empty() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                if self.at + read as u64 == end {
                    self.segments.pop_front();
                }
                read
            }
            next => {
                let hole = room(next.map_or(self.size, |(begin, _)| begin));
                buffer[..hole].fill(0);
                hole
            }
        };
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(size: u64, map: &str, data: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = map.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes.extend_from_slice(data);
        let mut read = Vec::new();
        PaxSparse { name: None, size }.expand(&*bytes)?.read_to_end(&mut read)?;
        Ok(read)
    }

    #[test]
    fn holes_and_data() {
        assert_eq!(expand(10, "2\n2\n3\n8\n1\n", b"abcd").unwrap(), b"\0\0abc\0\0\0d\0");
        assert_eq!(expand(4, "0\n", b"").unwrap(), [0; 4]);
        assert_eq!(expand(3, "1\n0\n3\n", b"abc").unwrap(), b"abc");
        assert_eq!(expand(4, "2\n0\n2\n4\n0\n", b"ab").unwrap(), b"ab\0\0");
        // A map of several blocks.
        let many: String = (0..300).map(|at| format!("{}\n1\n", at * 2)).collect();
        assert_eq!(expand(600, &format!("300\n{many}"), &[7; 300]).unwrap(), [7, 0].repeat(300));
    }

    #[test]
    fn wrong_maps_are_refused() {
        for (size, map, data) in [
            (10, "1\n8\n3\n", &b"abc"[..]),   // beyond the end
            (10, "2\n4\n2\n2\n2\n", b"abcd"), // backwards
            (10, "1\n0\n4\n", b"ab"),         // less data
            (10, "x\n", b""),
            (10, "", b""),
            (10, "99999999999999999999999\n", b""),
            (u64::MAX, "1\n18446744073709551615\n1\n", b"a"),
        ] {
            assert!(expand(size, map, data).is_err(), "{map:?}");
        }
        let endless = "1".repeat(MAP * 2);
        assert!(expand(10, &endless, b"").is_err());
    }
}
