//! ISO 9660, as much of it as it takes to find a file: the primary volume's directories. No extension is needed, because
//! boot loaders need none.

use std::io::{Read, Seek, SeekFrom};

use super::{IsoError, Result};

/// The only size of a sector that there is.
const SECTOR: u64 = 2048;
/// Where descriptors begin, in sectors: behind the system area.
const DESCRIPTORS: u64 = 16;
/// More than any image has, so that a broken one comes to an end.
const MOST_DESCRIPTORS: u64 = 32;
/// The largest directory that is read: far more than a live ISO's.
const LARGEST_DIRECTORY: u64 = 1 << 20;
/// The flag of a directory in its record.
const IS_DIRECTORY: u8 = 2;

/// A run of bytes of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl Extent {
    /// Whether some byte is in both.
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.offset < other.offset + other.size && other.offset < self.offset + self.size
    }
}

/// An image that can be looked into.
pub(super) struct Volume<'a, R> {
    image: &'a mut R,
    size: u64,
    root: Extent,
}

/// One entry of a directory.
struct Record<'a> {
    name: &'a [u8],
    directory: bool,
    extent: Extent,
}

impl<'a, R: Read + Seek> Volume<'a, R> {
    /// Finds the primary volume, and makes sure that all of it is there.
    pub(super) fn open(image: &'a mut R) -> Result<Self> {
        let size = image.seek(SeekFrom::End(0)).map_err(|source| read("its end", source))?;
        let mut volume = Self { image, size, root: Extent { offset: 0, size: 0 } };
        for number in 0..MOST_DESCRIPTORS {
            let place = Extent { offset: (DESCRIPTORS + number) * SECTOR, size: SECTOR };
            if number == 0 && place.offset + SECTOR > size {
                return Err(IsoError::NotIso);
            }
            let descriptor = volume.read(place, SECTOR, "volume descriptors")?;
            if descriptor.get(1..7) != Some(b"CD001\x01") {
                return Err(IsoError::NotIso);
            }
            match descriptor[0] {
                1 => return volume.primary(&descriptor),
                255 => break,
                _ => {}
            }
        }
        Err(IsoError::NotIso)
    }

    fn primary(mut self, descriptor: &[u8]) -> Result<Self> {
        let expected = u64::from(number(descriptor, 80)) * SECTOR;
        if expected > self.size {
            return Err(IsoError::Incomplete { expected, found: self.size });
        }
        let root = record(&descriptor[156..]).filter(|root| root.directory);
        self.root = root.ok_or_else(|| malformed("volume descriptor", "it has no root"))?.extent;
        Ok(self)
    }

    /// Where the content of a file is; none if there is no such file.
    pub(super) fn find(&mut self, path: &str) -> Result<Option<Extent>> {
        let mut at = self.root;
        let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let directory = self.read(at, LARGEST_DIRECTORY, "directories")?;
            let wanted = parts.peek().is_some();
            let mut found = records(&directory).filter(|record| record.directory == wanted);
            match found.find(|record| is_named(record.name, part)) {
                Some(record) => at = record.extent,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The bytes of an extent, which must lie within the image and have no more than `limit`.
    pub(super) fn read(&mut self, extent: Extent, limit: u64, what: &str) -> Result<Vec<u8>> {
        let Extent { offset, size } = extent;
        if offset.checked_add(size).is_none_or(|end| end > self.size) {
            return Err(malformed(what, "it lies behind the end of the image"));
        }
        if size > limit {
            return Err(malformed(what, &format!("it has {size} bytes, and {limit} at most are expected")));
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        self.image
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.image.read_exact(&mut bytes))
            .map_err(|source| read(&format!("its {what}"), source))?;
        Ok(bytes)
    }
}

/// Entries of a directory. A record does not cross sectors: zeros fill the rest of one.
fn records(directory: &[u8]) -> impl Iterator<Item = Record<'_>> {
    directory.chunks(SECTOR as usize).flat_map(|mut sector| {
        std::iter::from_fn(move || {
            let found = record(sector)?;
            sector = sector.get(usize::from(sector[0])..).unwrap_or_default();
            Some(found)
        })
    })
}

/// The record at the beginning of these bytes, if there is a whole one.
fn record(bytes: &[u8]) -> Option<Record<'_>> {
    let bytes = bytes.get(..usize::from(*bytes.first()?))?;
    let name = bytes.get(33..33 + usize::from(*bytes.get(32)?))?;
    let extent = Extent { offset: u64::from(number(bytes, 2)) * SECTOR, size: u64::from(number(bytes, 10)) };
    Some(Record { name, directory: bytes[25] & IS_DIRECTORY != 0, extent })
}

/// Whether a record's name stands for this one: case and version aside, whole or cut down to eight letters and three.
fn is_named(name: &[u8], wanted: &str) -> bool {
    let name = name.strip_suffix(b";1").unwrap_or(name);
    let name = name.strip_suffix(b".").unwrap_or(name);
    let (stem, extension) = wanted.rsplit_once('.').unwrap_or((wanted, ""));
    let short = |text: &str, length: usize| text.get(..length).unwrap_or(text).to_owned();
    let shortened = match (short(stem, 8), short(extension, 3)) {
        (stem, extension) if extension.is_empty() => stem,
        (stem, extension) => format!("{stem}.{extension}"),
    };
    name.eq_ignore_ascii_case(wanted.as_bytes()) || name.eq_ignore_ascii_case(shortened.as_bytes())
}

/// A number of four bytes, the little-endian one of the two that are there.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn read(what: &str, source: std::io::Error) -> IsoError {
    IsoError::Read { what: what.to_owned(), source }
}

pub(super) fn malformed(what: &str, problem: &str) -> IsoError {
    IsoError::Malformed { what: what.to_owned(), problem: problem.to_owned() }
}
