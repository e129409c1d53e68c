//! `mco-render`: runs the machine-config operator's programs as `run` does, with the same
//! parameters, but once for all clusters of a release where that is sound.
//!
//! Input `inputs` decides what it makes:
//!
//! | `inputs` has | output |
//! |---|---|
//! | `a/` and `b/`, from `placeholders` | the render of `a`, if the render of `b` is the same but for the placeholders; public |
//! | `unsuitable` | that file |
//! | `shared/`, such an output | that render, with this cluster's values; `shared/unsuitable`: what the programs make of `inputs` |
//! | none of these | what the programs make of `inputs` |
//!
//! A cluster's domain and pull secret are in its render verbatim, but MCO never promised that. So everything is rendered with
//! two sets of placeholders, and the first render with the values of the second must be the second, byte by byte, names
//! included: a value that leaves any other trace makes them differ. The sets are below and above any value that
//! `placeholders` accepts, in length and in order, and have all its characters: a limit, a line break or an order
//! that could affect the value affects one of them. Where they differ, or the programs fail, `unsuitable` says
//! so, and every cluster is rendered by itself.
//!
//! `build --check` runs the programs with the cluster's own values and compares.

mod placeholders;
mod substitution;

pub(super) use placeholders::Placeholders;

use std::collections::BTreeMap;

use self::substitution::{Files, Values};
use super::{BuildError, Builder, Grants, InputTree, Job, JobError, MadeFile, Run};
use crate::engine::builders::Note;
use crate::engine::drv::BuilderId;
use crate::engine::tree::{EntryKind, TreeWriter};

/// The file that says why a render is not shared.
const UNSUITABLE: &str = "unsuitable";

/// The file with the cluster's API, and where the pull secret is, in `inputs`.
const INFRASTRUCTURE: &str = "crs/infrastructure-cluster.yaml";
const PULL_SECRET: &str = "pull-secret/secret-openshift-config-pull-secret.yaml";

pub(super) struct McoRender(pub(super) Run);

impl Builder for McoRender {
    fn id(&self) -> BuilderId {
        BuilderId::new("mco-render", 1)
    }

    fn grants(&self) -> Grants {
        self.0.grants()
    }

    fn conceals(&self, job: &Job<'_>) -> bool {
        self.0.conceals(job)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.input("inputs")?;
        self.0.check(job)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let input = job.input("inputs")?;
        let has = |path: &str| input.leaves().any(|(found, ..)| found == path);
        if has(UNSUITABLE) {
            let reason = input.text("inputs", UNSUITABLE)?;
            return Ok(out.write(UNSUITABLE, reason.as_bytes(), false)?);
        }
        let below = |dir: &str| input.leaves().any(|(found, ..)| found.starts_with(dir));
        if below("a/") && below("b/") {
            return self.share(job, input, out);
        }
        let direct = job.programs()?.sandbox.variation().direct;
        if below("shared/")
            && !has("shared/unsuitable")
            && !direct
            && let (Ok(from), Ok(to)) = (Values::of_set("a"), placeholders::values(input))
        {
            return fill_in(&input.below("shared"), &from, &to, out);
        }
        self.0.build(job, out)
    }
}

impl McoRender {
    /// Renders both sets of placeholders, and keeps the first if they are equal but for these.
    fn share(&self, job: &Job<'_>, input: &InputTree, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let render = |set: &str| {
            let job = job.with_input("inputs", input.below(set));
            let scratch = out.scratch(&format!("run-{set}"))?;
            let made = self.0.files(&job, scratch.path());
            Ok::<_, BuildError>((made, job.notes.take().programs))
        };
        // At the same time: a program has one CPU, and every node waits for this.
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| render("b"));
            let one = render("a");
            (one, other.join())
        });
        let other = other.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ((one, said), (other, said_too)) = (one?, other?);
        if let Some(Note { isolation, log }) = said {
            let log = log + &said_too.map(|note| note.log).unwrap_or_default();
            job.notes.say(Note { isolation, log });
        }
        let (Some(one), Some(other)) = (unless_failed(one)?, unless_failed(other)?) else {
            let reason = "the programs fail with placeholders for the domain and the pull secret\n";
            return Ok(out.write(UNSUITABLE, reason.as_bytes(), false)?);
        };
        let filled = Values::of_set("a")
            .and_then(|from| substitution::fill(&one, &from, &Values::of_set("b")?))
            .and_then(|filled| substitution::same(&filled, &other));
        match filled {
            Ok(()) => write(&one, out),
            Err(reason) => Ok(out.write(UNSUITABLE, format!("{reason}\n").as_bytes(), false)?),
        }
    }
}

/// The files; none if the programs refused what they were given. Only that is a reason: what a limit stopped may work the
/// next time.
fn unless_failed(made: Result<Files, BuildError>) -> Result<Option<Files>, BuildError> {
    match made {
        Ok(files) => Ok(Some(files)),
        Err(BuildError::Program { by_itself: true, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the shared render with this cluster's values.
fn fill_in(shared: &InputTree, from: &Values, to: &Values, out: &TreeWriter<'_>) -> Result<(), BuildError> {
    let mut files = BTreeMap::new();
    for (path, _, entry) in shared.leaves() {
        let exec = matches!(entry.kind, EntryKind::File { exec: true, .. });
        let bytes = shared.text("inputs", path)?.into_bytes();
        files.insert(path.to_owned(), MadeFile { bytes, exec });
    }
    let problem = |problem| JobError::Input { alias: "inputs".into(), problem };
    write(&substitution::fill(&files, from, to).map_err(problem)?, out)
}

fn write(files: &Files, out: &TreeWriter<'_>) -> Result<(), BuildError> {
    files.iter().try_for_each(|(path, file)| Ok(out.write(path, &file.bytes, file.exec)?))
}
