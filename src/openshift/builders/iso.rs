//! `iso`: a node's live ISO. It boots, installs the node with its Ignition config onto its disk, and reboots,
//! unattended.
//!
//! Inputs: `ignition`, the node's config, a file. Config values: `sha256` of the base image, which the lock pins and
//! which is found by content; `device`, the disk. Parameters: `file`, the name of the output; `kargs`, additional
//! kernel arguments for the live system, if any.
//!
//! The output is the whole image, ready to boot. It is the base with a few kilobytes overwritten
//! ([`crate::openshift::iso`]): it shares blocks with the base where the file system supports it, and is never held in
//! memory. The base is not an object of its own: it is read in place and verified while it is copied, so that the bytes
//! that were checked are those that were used. The image is as secret as the Ignition config in it.

use sha2::Digest as _;

use super::{ArtifactError, BuildError, Builder, Grants, Job, JobError};
use crate::engine::builders::Pinned;
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;
use crate::openshift::iso::{self, IsoError, Live};

pub(super) struct Iso;

impl Builder for Iso {
    fn id(&self) -> BuilderId {
        BuilderId::new("iso", 1)
    }

    fn grants(&self) -> Grants {
        Grants { files: true, ..Grants::default() }
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "file", "kargs"])?;
        job.exactly(&["ignition"])?;
        job.text_list("kargs")?;
        file(job)?;
        for name in ["sha256", "device"] {
            value(job, name)?;
        }
        match job.config().keys().find(|name| !["sha256", "device"].contains(name)) {
            Some(name) => {
                Err(JobError::Unused { name: (*name).to_owned(), used_in: "a live ISO".into() }.into())
            }
            None => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let mut base = job.files()?.open(value(job, "sha256")?)?;
        let ignition = job.input("ignition")?.text("ignition", "")?;
        let arguments = iso::installer_arguments(value(job, "device")?, &job.text_list("kargs")?);
        let patches = Live::read(&mut base.file)
            .and_then(|live| live.patches(iso::initrd(&iso::unattended(&ignition))?, &arguments))
            .map_err(|source| explain(&base, source))?;
        let mut hasher = sha2::Sha256::new();
        out.patched(file(job)?, &base.file, &base.path, &patches, |piece| hasher.update(piece))?;
        Ok(base.is(hasher)?)
    }
}

/// What is wrong with the base. If it is not the pinned file, nothing else matters.
pub(super) fn explain(base: &Pinned, source: IsoError) -> BuildError {
    match base.verify() {
        Err(error) => error.into(),
        Ok(()) => ArtifactError::Iso { path: base.path.clone(), source }.into(),
    }
}

pub(super) fn value<'a>(job: &'a Job<'_>, name: &str) -> Result<&'a str, JobError> {
    let missing = || JobError::Expected { name: format!("config.{name}"), expected: "a text" };
    job.config().get(name).and_then(|value| value.as_text()).ok_or_else(missing)
}

pub(super) fn file<'a>(job: &'a Job<'_>) -> Result<&'a str, JobError> {
    let missing = || JobError::Expected { name: "file".into(), expected: "the name of the output" };
    job.params.get("file").and_then(|value| value.as_text()).ok_or_else(missing)
}
