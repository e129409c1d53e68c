//! `pinned`: a file outside the store that the lock pins, as an output that other artifacts can contain.
//!
//! Config value: `sha256`, which the lock pins and by which the file is found. Parameter: `file`, the name of the output. The
//! file is verified while it is copied; it shares blocks with the original where the file system supports it.

use std::collections::BTreeMap;

use sha2::Digest as _;

use super::{BuildError, Builder, Grants, Job, JobError};
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;

pub(crate) struct PinnedFile;

impl Builder for PinnedFile {
    fn id(&self) -> BuilderId {
        BuilderId::new("pinned", 1)
    }

    fn grants(&self) -> Grants {
        Grants { files: true, ..Grants::default() }
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "file"])?;
        job.exactly(&[])?;
        file(job)?;
        sha256(job)?;
        match job.config().into_keys().find(|name| *name != "sha256") {
            Some(name) => {
                Err(JobError::Unused { name: name.to_owned(), used_in: "this builder".into() }.into())
            }
            None => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let pinned = job.files()?.open(sha256(job)?)?;
        let mut hasher = sha2::Sha256::new();
        out.patched(file(job)?, &pinned.file, &pinned.path, &BTreeMap::new(), |piece| hasher.update(piece))?;
        Ok(pinned.is(hasher)?)
    }
}

fn sha256<'a>(job: &'a Job<'_>) -> Result<&'a str, JobError> {
    let missing = || JobError::Expected { name: "config.sha256".into(), expected: "a text" };
    job.config().get("sha256").and_then(|value| value.as_text()).ok_or_else(missing)
}

fn file<'a>(job: &'a Job<'_>) -> Result<&'a str, JobError> {
    let missing = || JobError::Expected { name: "file".into(), expected: "the name of the output" };
    job.params.get("file").and_then(|value| value.as_text()).ok_or_else(missing)
}
