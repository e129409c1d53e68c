//! `fleet init`: a commented fleet that builds as it is.

use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::line;
use crate::cli::{Error, Printer, Result};
use crate::openshift::fleet::{self, FLEET};
use crate::openshift::workspace::Env;

/// The example's files.
const FILES: [(&str, &str); 2] = [
    (FLEET, include_str!("../../../examples/fleet/fleet.yaml")),
    ("sites.csv", include_str!("../../../examples/fleet/sites.csv")),
];

/// Write a commented fleet that builds as it is; never overwrites a file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox fleet init edge && cd edge
  tinderbox fleet build")]
pub(in crate::cli) struct Args {
    /// The directory to write; default: the directory of `-C`
    dir: Option<PathBuf>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Initialised>()];
}

#[derive(Debug, Serialize, JsonSchema)]
struct Initialised {
    directory: PathBuf,
    written: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let directory = self.dir.as_deref().unwrap_or(env.directory);
        fs::create_dirs(directory)?;
        let directory = fs::canonical(directory)?;
        let mut written: Vec<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        for name in written.iter().map(String::as_str).chain([fleet::SEED, fleet::LOCK]) {
            let path = directory.join(name);
            if fs::exists(&path)? {
                return Err(Error::Exists { path, advice: "remove it first, or choose another directory" });
            }
        }
        for (name, text) in FILES {
            fs::write_whole(&directory.join(name), text.as_bytes(), 0o644)?;
        }
        fleet::make_seed(&directory)?;
        written.push(fleet::SEED.to_owned());
        let done = Initialised { directory, written };
        Ok(printer
            .answer(&done, || done.written.iter().for_each(|name| line(done.directory.join(name).display()))))
    }
}
