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

use std::fs::File;

use self::spec::{Spec, Step};
use self::step::Runner;
use super::{BuildError, Builder, Grants, Job, Note};
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
        let spec = Spec::read(job)?;
        workarounds::inputs(job, &spec)?;
        let scratch = out.scratch("run")?;
        let mut runner = Runner::new(job, &spec, scratch.path())?;
        let done = spec.steps.iter().try_for_each(|step| match step {
            Step::Run(argv) => runner.run(argv),
            Step::Gather { into, from, numbered } => runner.gather(into, from, *numbered),
        });
        if let Some(isolation) = runner.isolation {
            job.notes.say(Note { isolation, log: runner.log.clone() });
        }
        done?;
        for (path, (parent, name)) in &runner.outputs(self.inspect)? {
            out.copy_entry(parent, name, path)?;
        }
        Ok(())
    }
}
