//! Where files are collected before they are archived: masked on their way in, so that nothing unmasked reaches our disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flate2::Compression;
use flate2::write::GzEncoder;
use schemars::JsonSchema;
use serde::Serialize;

use crate::base::fs::{self, At as _};
use crate::base::redact::{RedactingWriter, Redactor};

/// The time of every file in an archive, so that two archives differ only where two clusters do.
const TIME: u64 = 1;

/// Something that could not be gathered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct Missed {
    /// A file of the archive, or several.
    pub what: String,
    pub why: String,
}

/// Files for an archive.
pub(super) struct Spool<'a> {
    dir: PathBuf,
    redactor: &'a Redactor,
    files: Mutex<BTreeMap<String, PathBuf>>,
    missed: Mutex<BTreeSet<Missed>>,
}

/// A file that is being written.
pub(super) type Writer<'a> = RedactingWriter<'a, BufWriter<File>>;

impl<'a> Spool<'a> {
    /// Creates the directory, which is removed when the spool is dropped.
    pub(super) fn make(dir: PathBuf, redactor: &'a Redactor) -> fs::Result<Self> {
        fs::create_dir(&dir, 0o700)?;
        Ok(Self { dir, redactor, files: Mutex::default(), missed: Mutex::default() })
    }

    /// A new file, which is complete once its writer has finished.
    pub(super) fn create(&self, name: &str) -> fs::Result<Writer<'a>> {
        let mut files = lock(&self.files);
        let path = self.dir.join(files.len().to_string());
        let file = fs::create_new(&path, 0o600)?;
        let name = free(name, &files);
        files.insert(name, path);
        Ok(self.redactor.writer(BufWriter::new(file)))
    }

    pub(super) fn put(&self, name: &str, content: &[u8]) -> fs::Result<()> {
        let mut writer = self.create(name)?;
        self.write(&mut writer, content)?;
        self.finish(writer)
    }

    pub(super) fn write(&self, writer: &mut Writer<'a>, content: &[u8]) -> fs::Result<()> {
        writer.write_all(content).at("write", &self.dir)
    }

    pub(super) fn finish(&self, writer: Writer<'a>) -> fs::Result<()> {
        writer.finish().and_then(|mut file| file.flush()).at("write", &self.dir)
    }

    /// Records something that could not be gathered.
    pub(super) fn miss(&self, what: &str, why: &str) {
        let why = why.lines().collect::<Vec<_>>().join("; ");
        lock(&self.missed).insert(Missed { what: self.redactor.text(what), why: self.redactor.text(&why) });
    }

    pub(super) fn missed(&self) -> Vec<Missed> {
        lock(&self.missed).iter().cloned().collect()
    }

    /// Writes the archive: one top directory, files sorted by name. Returns how many there are.
    pub(super) fn archive(&self, root: &str, to: &Path) -> fs::Result<usize> {
        let files = lock(&self.files);
        fs::write_whole_with(to, 0o600, |file| {
            let mut tar = tar::Builder::new(GzEncoder::new(BufWriter::new(file), Compression::default()));
            for (name, path) in files.iter() {
                let content = fs::open(path)?;
                let mut header = tar::Header::new_gnu();
                header.set_size(content.metadata().at("read", path)?.len());
                header.set_mode(0o600);
                header.set_mtime(TIME);
                header.set_uid(0);
                header.set_gid(0);
                header.set_entry_type(tar::EntryType::Regular);
                tar.append_data(&mut header, format!("{root}/{name}"), content).at("write", to)?;
            }
            let packed = tar.into_inner().and_then(GzEncoder::finish);
            packed.and_then(|mut file| file.flush()).at("write", to)
        })?;
        Ok(files.len())
    }
}

impl Drop for Spool<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_all(&self.dir); // masked, for its owner only, and `destroy` takes it
    }
}

/// A name that no other file has: a node may send one twice.
fn free(name: &str, files: &BTreeMap<String, PathBuf>) -> String {
    let numbered = (2..).map(|number| format!("{name}.{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|one| !files.contains_key(one)).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
