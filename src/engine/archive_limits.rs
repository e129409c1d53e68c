//! How far the reader of a tar archive from outside may read. The `tar` crate reads long names and pax records into memory,
//! whatever size they say they have.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

/// Bytes of the headers of one entry: far more than any real one has.
const HEADERS: u64 = 2 << 20;

/// A reader that fails beyond the limit of its archive, and beyond the headers of the next entry.
pub(crate) struct Limited<R> {
    inner: R,
    at: u64,
    limit: u64,
    /// What is wrong with an archive that is larger.
    over: &'static str,
    next: Rc<Cell<u64>>,
}

/// Says how far the reader of an archive may read.
pub(crate) struct HeaderLimit(Rc<Cell<u64>>);

impl HeaderLimit {
    /// The content of an entry starts here and has this many bytes; then come the headers of the next one.
    pub(crate) fn entry(&self, start: u64, size: u64) {
        self.0.set(start.saturating_add(size).saturating_add(HEADERS));
    }

    /// There are no more entries.
    pub(crate) fn lift(&self) {
        self.0.set(u64::MAX);
    }
}

impl<R> Limited<R> {
    pub(crate) fn new(inner: R, limit: u64, over: &'static str) -> (Self, HeaderLimit) {
        let next = Rc::new(Cell::new(HEADERS));
        (Self { inner, at: 0, limit, over, next: next.clone() }, HeaderLimit(next))
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.at += read as u64;
        if self.at > self.limit {
            return Err(io::Error::other(self.over));
        }
        if self.at > self.next.get() {
            return Err(io::Error::other("a name or an extended header has more than 2 MiB"));
        }
        Ok(read)
    }
}

/// A file of which only headers are read: contents are passed over, and cost nothing.
pub(crate) struct HeadersOnly<R> {
    inner: R,
    left: u64,
}

impl<R> HeadersOnly<R> {
    /// With this many bytes of headers in all.
    pub(crate) fn new(inner: R, left: u64) -> Self {
        Self { inner, left }
    }
}

impl<R: Read> Read for HeadersOnly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.left.checked_sub(read as u64);
        self.left = left.ok_or_else(|| io::Error::other("its headers are too long"))?;
        Ok(read)
    }
}

impl<R: Seek> Seek for HeadersOnly<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_ends_at_its_limits() {
        let read = |mut reader: &mut dyn Read| io::copy(&mut reader, &mut io::sink());
        let (mut reader, _) = Limited::new(io::repeat(0).take(100), 50, "too much");
        assert_eq!(read(&mut reader).unwrap_err().to_string(), "too much");
        let (mut reader, headers) = Limited::new(io::repeat(0).take(HEADERS + 2), u64::MAX, "");
        assert!(read(&mut reader).unwrap_err().to_string().contains("2 MiB"));
        headers.entry(1, 1);
        assert!(reader.read(&mut [0; 1]).is_err() || headers.0.get() == HEADERS + 2);
        headers.lift();
        assert!(read(&mut reader).is_ok());
        let mut reader = HeadersOnly::new(io::repeat(0).take(100), 50);
        assert!(read(&mut reader).unwrap_err().to_string().contains("too long"));
    }
}
