//! `store du`: the size of the store, with and without sharing.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::open;
use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, line, size};
use crate::cli::{Printer, Result};
use crate::openshift::workspace::Env;

/// Show how much space the store takes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Usage>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let usage = du(env)?;
        Ok(printer.answer(&usage, || {
            let Usage { store, objects, apparent, stored, downloads, downloaded } = &usage;
            line(format!("{}  {}", size(*stored), store.display()));
            line(format!(
                "{}; {} if equal files were stored every time",
                count(*objects, "object"),
                size(*apparent)
            ));
            if *downloads > 0 {
                line(format!("{}: {} more", count(*downloads, "download"), size(*downloaded)));
            }
        }))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Usage {
    store: PathBuf,
    objects: usize,
    /// Bytes, counting equal files every time.
    apparent: u64,
    /// Bytes of the objects on disk.
    stored: u64,
    /// Downloaded files, complete or not.
    downloads: usize,
    /// Their bytes.
    downloaded: u64,
}

fn du(env: Env<'_>) -> Result<Usage> {
    let store = open(env)?;
    let mut inodes = BTreeMap::new();
    let mut apparent = 0;
    let names = store.objects()?;
    for name in &names {
        let object = store.object(name.id)?;
        for (path, entry) in object.listing.leaves("") {
            apparent += entry.size();
            if let Some(found) = fs::optional(fs::metadata(&object.path.join(path)))? {
                inodes.insert(found.ino(), found.size());
            }
        }
    }
    let downloads = store.downloads()?;
    Ok(Usage {
        store: store.root().to_owned(),
        objects: names.len(),
        apparent,
        stored: inodes.values().sum(),
        downloads: downloads.len(),
        downloaded: downloads.iter().map(|file| file.bytes).sum(),
    })
}
