//! `digest`: the digest of a file as text, so that another artifact can refer to the content without containing it.
//!
//! Input: `of`, one file. Parameter: `file`, the name of the output, which has no final newline. The digest of a secret
//! file is keyed with the seed, so it reveals nothing about the content: the output is public.

use super::{BuildError, Builder, Job, JobError};
use crate::engine::drv::BuilderId;
use crate::engine::tree::{EntryKind, TreeWriter};

pub(crate) struct DigestOf;

impl Builder for DigestOf {
    fn id(&self) -> BuilderId {
        BuilderId::new("digest", 1)
    }

    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["file"])?;
        file(job)?;
        Ok(job.exactly(&["of"])?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let wrong = || JobError::Input { alias: "of".into(), problem: "is not a file".into() };
        let found = job.input("of")?.entry().filter(|entry| matches!(entry.kind, EntryKind::File { .. }));
        let digest = found.ok_or_else(wrong)?.digest.to_string();
        Ok(out.write(file(job)?, digest.as_bytes(), false)?)
    }
}

fn file<'a>(job: &'a Job<'_>) -> Result<&'a str, JobError> {
    let missing = || JobError::Expected { name: "file".into(), expected: "the name of the output" };
    job.params.get("file").and_then(|value| value.as_text()).ok_or_else(missing)
}
