//! `iso-areas`: where the reserved areas of the release's live ISO are, and what they contain.
//!
//! Config value: `sha256` of the image, which the lock pins and by which it is found. Parameter: `file`, the name of the
//! output, which is JSON.
//!
//! The image is verified whole, once. Whoever has this output needs the image no more: `iso-patch` computes from it
//! what to write where, for any number of nodes and clusters.

use serde::{Deserialize, Serialize};

use super::iso::{explain, file, value};
use super::{BuildError, Builder, Grants, Job, JobError};
use crate::base::json::canonical;
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;
use crate::openshift::iso::Live;

pub(super) struct IsoAreas;

/// The output.
#[derive(Serialize, Deserialize)]
pub(super) struct Areas {
    /// The image in which they are.
    pub(super) sha256: String,
    #[serde(flatten)]
    pub(super) live: Live,
}

impl Builder for IsoAreas {
    fn id(&self) -> BuilderId {
        BuilderId::new("iso-areas", 1)
    }

    fn grants(&self) -> Grants {
        Grants { files: true, ..Grants::default() }
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "file"])?;
        job.exactly(&[])?;
        file(job)?;
        value(job, "sha256")?;
        match job.config().into_keys().find(|name| *name != "sha256") {
            Some(name) => {
                Err(JobError::Unused { name: name.to_owned(), used_in: "a live ISO".into() }.into())
            }
            None => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let sha256 = value(job, "sha256")?;
        let mut base = job.files()?.open(sha256)?;
        base.verify()?;
        let live = Live::read(&mut base.file).map_err(|source| explain(&base, source))?;
        let areas = Areas { sha256: sha256.to_owned(), live };
        let json = serde_json::to_value(&areas)
            .map_err(|error| JobError::Input { alias: "areas".into(), problem: error.to_string() })?;
        Ok(out.write(file(job)?, (canonical(&json) + "\n").as_bytes(), false)?)
    }
}
