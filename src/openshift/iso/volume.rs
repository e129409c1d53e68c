//! ISO 9660, as far as necessary to find a file: the primary volume's directories. Needs no extension, because boot
//! loaders need none.

use std::io::{Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};

use super::{IsoError, Result};

/// The only sector size in use.
const SECTOR: u64 = 2048;
/// The first sector of the descriptors, after the system area.
const DESCRIPTORS: u64 = 16;
/// More than any image has, so that reading a corrupt image ends.
const MOST_DESCRIPTORS: u64 = 32;
/// Maximum size of a directory: far more than in a live ISO.
const LARGEST_DIRECTORY: u64 = 1 << 20;
/// The flag of a directory in its record.
const IS_DIRECTORY: u8 = 2;

/// A byte range of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl Extent {
    /// Whether they share a byte.
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.offset < other.offset + other.size && other.offset < self.offset + self.size
    }
}

/// An opened image.
pub(super) struct Volume<'a, R> {
    image: &'a mut R,
    /// In bytes.
    pub(super) size: u64,
    root: Extent,
}

/// One entry of a directory.
struct Record<'a> {
    name: &'a [u8],
    directory: bool,
    extent: Extent,
}

impl<'a, R: Read + Seek> Volume<'a, R> {
    /// Finds the primary volume, and checks that it is complete.
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

    /// The content of a file; none if it does not exist.
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

    /// The bytes of an extent, which must lie within the image and be at most `limit` long.
    pub(super) fn read(&mut self, extent: Extent, limit: u64, what: &str) -> Result<Vec<u8>> {
        let Extent { offset, size } = extent;
        if offset.checked_add(size).is_none_or(|end| end > self.size) {
            return Err(malformed(what, "it is beyond the end of the image"));
        }
        if size > limit {
            return Err(malformed(what, &format!("it has {size} bytes, but at most {limit} are expected")));
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        self.image
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.image.read_exact(&mut bytes))
            .map_err(|source| read(&format!("its {what}"), source))?;
        Ok(bytes)
    }
}

/// Entries of a directory. Records do not cross sectors: zeros fill the rest of a sector.
fn records(directory: &[u8]) -> impl Iterator<Item = Record<'_>> {
    directory.chunks(SECTOR as usize).flat_map(|mut sector| {
        std::iter::from_fn(move || {
            let found = record(sector)?;
            sector = sector.get(usize::from(sector[0])..).unwrap_or_default();
            Some(found)
        })
    })
}

/// The record at the start of these bytes, if it is complete.
fn record(bytes: &[u8]) -> Option<Record<'_>> {
    let bytes = bytes.get(..usize::from(*bytes.first()?))?;
    let name = bytes.get(33..33 + usize::from(*bytes.get(32)?))?;
    let extent = Extent { offset: u64::from(number(bytes, 2)) * SECTOR, size: u64::from(number(bytes, 10)) };
    Some(Record { name, directory: bytes[25] & IS_DIRECTORY != 0, extent })
}

/// Whether a record has this name, ignoring case and version, in full or shortened to 8.3.
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

/// A four-byte number; of the two encodings, the little-endian one.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn read(what: &str, source: std::io::Error) -> IsoError {
    IsoError::Read { what: what.to_owned(), source }
}

pub(super) fn malformed(what: &str, problem: &str) -> IsoError {
    IsoError::Malformed { what: what.to_owned(), problem: problem.to_owned() }
}
