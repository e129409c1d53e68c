//! `run`: programs of an image at work in the sandbox. Whatever a program renders is a recipe of this builder.
//!
//! ```toml
//! [inputs]
//! image = "tools/image"                       # the root file system
//! crs = "demo/objects"
//!
//! [params.mounts]                           # input → where the programs find it, read-only
//! crs = "/in/crs"
//!
//! [[params.steps]]                          # one after the other; `/out` is theirs to write to
//! run = ["/usr/bin/program", "--version=${version}", "--dest=/out/made"]
//!
//! [[params.steps]]                          # files that one leaves for the next; of two with one name the later wins
//! gather = "/out/all"
//! from = ["/out/made", "/in/crs"]         # with `numbered = true`: `1-a.yaml`, `2-a.yaml`
//!
//! [params.outputs]                          # what is kept: path in the output ← where the programs left it
//! "rendered" = "/out/made"
//! ```
//!
//! | parameter | |
//! |---|---|
//! | `environment`, `directory`, `addresses` | what the programs find; by default nothing, `/out`, none |
//! | `expect` | outputs that must be there, each a path or with one `*`: programs end with 0 and make nothing |
//! | `require` | input → files that must be there and not be empty: programs accept what is missing |
//! | `sort` | output file (may have a `*`) → list in it and the key to sort it by, for programs known to vary |
//! | `advice` | words of a program → what the user should do about them |
//! | `secret` | true where a program makes keys of its own: then the output is secret, whatever went in |
//! | `seconds` | the time that each step has; 300 |
//!
//! `${name}` in a text is a config value, or the text of an input that is one file. Times and owners of what programs
//! write are dropped, and of modes all but the executable bit stays behind. Whoever sets up the builder may look at every file that a program made, and refuse it.

mod sound;
mod spec;
mod step;

use std::collections::BTreeMap;
use std::path::Path;

use self::spec::{Spec, Step};
use self::step::Runner;
use super::{BuildError, Builder, Grants, Job, Note};
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;

pub(crate) struct Run {
    /// What is wrong with a file that a program made, by its path in the output.
    pub inspect: fn(&str, &Path) -> Result<Option<String>, BuildError>,
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
        sound::inputs(job, &spec)?;
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
        let kept: BTreeMap<String, std::path::PathBuf> = runner.outputs(self.inspect)?;
        for (path, place) in &kept {
            out.copy_from(place, path)?;
        }
        Ok(())
    }
}
