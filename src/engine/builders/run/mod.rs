//! `run`: runs programs of an image in the sandbox. Recipes use it for everything that a program renders.
//!
//! ```toml
//! [inputs]
//! image = "tools/image"                       # the root file system
//! crs = "demo/objects"
//!
//! [params.mounts]                           # input → mount point, read-only
//! crs = "/in/crs"
//!
//! [[params.steps]]                          # run in order; `/out` is writable
//! run = ["/usr/bin/program", "--version=${version}", "--dest=/out/made"]
//!
//! [[params.steps]]                          # collects files for the next step; the later of two equal names wins
//! gather = "/out/all"
//! from = ["/out/made", "/in/crs"]         # with `numbered = true`: `1-a.yaml`, `2-a.yaml`
//!
//! [params.outputs]                          # what to keep: path in the output ← path in the sandbox
//! "rendered" = "/out/made"
//! ```
//!
//! | parameter | |
//! |---|---|
//! | `environment`, `directory`, `addresses` | of the programs; by default none, `/out`, none |
//! | `registry` | a mounted input whose images a registry on loopback serves while a program runs: [`crate::engine::sandbox`] |
//! | `expect` | outputs that must exist, each a path or with one `*`: some programs exit with 0 and write nothing |
//! | `require` | input → files that must exist and not be empty: some programs accept missing files |
//! | `sort` | output file (may have a `*`) → list in it and the key to sort by, for programs with random order |
//! | `advice` | text in a program's output, or in our message about it (`did not make`) → what the user should do |
//! | `secret` | true if a program generates keys: the output is secret even if no input is |
//! | `seconds` | time limit of each step; 300 |
//!
//! `${name}` in a text is a config value, or the text of an input that is one file. Times, owners and all mode bits but
//! the executable bit are dropped. The caller may inspect every file that a program wrote, and reject it.

mod spec;
mod step;
#[cfg(test)]
mod tests;
mod workarounds;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::FileType;

use self::spec::{Spec, Step};
use self::step::Runner;
use super::{BuildError, Builder, Grants, Job, Note};
use crate::base::fs::{self, At as _};
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;

pub(crate) struct Run {
    /// Returns what is wrong with a file that a program wrote; takes its path in the output.
    pub inspect: fn(&str, &mut File) -> Result<Option<String>, BuildError>,
}

impl Builder for Run {
    fn id(&self) -> BuilderId {
        BuilderId::new("run", 1)
    }

    fn grants(&self) -> Grants {
        Grants { programs: true, ..Grants::default() }
    }

    fn conceals(&self, job: &Job<'_>) -> bool {
        Spec::read(job).is_ok_and(|spec| spec.secret)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        Ok(Spec::read(job)?.check(job)?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let scratch = out.scratch("run")?;
        self.perform(
            job,
            scratch.path(),
            &mut |_, path, parent, name| Ok(out.copy_entry(parent, name, path)?),
        )
    }
}

/// A file that a program wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MadeFile {
    pub bytes: Vec<u8>,
    pub exec: bool,
}

type Keep<'k> = dyn FnMut(&Runner<'_>, &str, &fs::Dir, &OsStr) -> Result<(), BuildError> + 'k;

impl Run {
    /// What the programs of a job write, by path in the output, for builders that make something else of it.
    pub(crate) fn files(
        &self,
        job: &Job<'_>,
        scratch: &Path,
    ) -> Result<BTreeMap<String, MadeFile>, BuildError> {
        let mut files = BTreeMap::new();
        self.perform(job, scratch, &mut |runner, path, parent, name| {
            collect(runner, path, parent, name, &mut files)
        })?;
        Ok(files)
    }

    /// Runs the steps below `scratch`, and calls `keep` for each output: its path in the output, and where it is.
    fn perform(&self, job: &Job<'_>, scratch: &Path, keep: &mut Keep<'_>) -> Result<(), BuildError> {
        let spec = Spec::read(job)?;
        workarounds::inputs(job, &spec)?;
        let mut runner = Runner::new(job, &spec, scratch)?;
        let done = spec.steps.iter().try_for_each(|step| match step {
            Step::Run(argv) => runner.run(argv),
            Step::Gather { into, from, numbered } => runner.gather(into, from, *numbered),
        });
        if let Some(isolation) = runner.isolation {
            job.notes.say(Note { isolation, log: runner.log.clone() });
        }
        done?;
        let outputs = runner.outputs(self.inspect)?;
        outputs.iter().try_for_each(|(path, (parent, name))| keep(&runner, path, parent, name))
    }
}

/// Reads an output, and all below it.
fn collect(
    runner: &Runner<'_>,
    path: &str,
    parent: &fs::Dir,
    name: &OsStr,
    files: &mut BTreeMap<String, MadeFile>,
) -> Result<(), BuildError> {
    let stat = parent.stat(name)?;
    match fs::kind(&stat) {
        FileType::RegularFile => {
            let mut bytes = Vec::new();
            parent.file(name)?.read_to_end(&mut bytes).at("read", Path::new(path))?;
            files.insert(path.to_owned(), MadeFile { bytes, exec: stat.st_mode & 0o100 != 0 });
            Ok(())
        }
        FileType::Directory => {
            let dir = parent.dir(name)?;
            dir.names()?.iter().try_for_each(|name| {
                let leaf = name.to_string_lossy();
                let below = if path.is_empty() { leaf.to_string() } else { format!("{path}/{leaf}") };
                collect(runner, &below, &dir, name, files)
            })
        }
        _ => Err(runner.failed(format!("wrote `{path}`, which is not a regular file"))),
    }
}
