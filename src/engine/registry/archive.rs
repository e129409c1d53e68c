//! oci-archive: a layout in one tar file. Indexed once; after that every file is one seek away.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::layout::Files;
use super::{RegistryError, Result};
use crate::base::fs::{self, At};
use crate::engine::archive_limits::HeadersOnly;

/// A plain tar and the offsets of its files.
pub(super) struct Archive {
    path: PathBuf,
    entries: BTreeMap<String, (u64, u64)>,
}

/// The bytes of all headers: those of a hundred thousand files.
const HEADERS: u64 = 64 << 20;

/// Magic numbers of compressed files that are often mistaken for a tar.
const COMPRESSED: &[(&[u8], &str)] =
    &[(&[0x1f, 0x8b], "gzip"), (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"), (&[0xfd, b'7', b'z'], "xz")];

impl Archive {
    /// Reads all headers of the tar, but no contents.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let malformed =
            |problem| RegistryError::Malformed { image: format!("oci:{}", path.display()), problem };
        let head = fs::read_head(path, 4)?;
        if let Some((_, name)) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(malformed(format!("it is compressed with {name}; an oci-archive is a plain tar")));
        }
        let mut archive = tar::Archive::new(HeadersOnly::new(fs::open(path)?, HEADERS));
        let mut entries = BTreeMap::new();
        let broken = |error: std::io::Error| malformed(format!("it is not a tar: {error}"));
        for entry in archive.entries_with_seek().map_err(broken)? {
            let entry = entry.map_err(broken)?;
            if entry.header().entry_type().is_file() {
                let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
                entries.insert(name, (entry.raw_file_position(), entry.size()));
            }
        }
        Ok(Self { path: path.to_owned(), entries })
    }
}

impl Files for Archive {
    fn open(&self, name: &str) -> Result<Option<(Box<dyn Read + Send>, u64)>> {
        let Some(&(offset, size)) = self.entries.get(name) else { return Ok(None) };
        let mut file: File = fs::open(&self.path)?;
        file.seek(SeekFrom::Start(offset)).at("read", &self.path)?;
        Ok(Some((Box::new(file.take(size)), size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with a hole takes no space, and a name that is read into memory takes all of it.
    #[test]
    fn the_headers_of_an_archive_have_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("archive.tar");
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_path("././@LongLink").unwrap();
        header.set_size(HEADERS * 2);
        header.set_cksum();
        let mut file = fs::create_new(&path, 0o600).unwrap();
        std::io::Write::write_all(&mut file, header.as_bytes()).unwrap();
        file.set_len(HEADERS * 3).unwrap();
        let error = Archive::open(&path).err().unwrap().to_string();
        assert!(error.contains("headers are too long"), "{error}");
    }
}
