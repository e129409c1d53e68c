//! `iso-patch`: what makes the release's live ISO the live ISO of one node, without the image: a few kilobytes in place
//! of a gigabyte.
//!
//! Inputs: `ignition`, the node's config, a file; `areas`, the output of `iso-areas`. Config value: `device`, the disk. Parameters:
//! `bytes`, the name of the file with the bytes to write; `kargs`, additional kernel arguments for the live system. The
//! template in `files` becomes the script that writes them; it sees `sha256` and `areas` (`at` in the file of
//! bytes, `offset` in the image, `size`), `base` (the image's sha256 and size), `bytes` and the other config values.
//!
//! The script with the pinned image makes the same bytes as `iso`. The output is as secret as the Ignition config in it.

use minijinja::value::Value as Jinja;
use sha2::Digest as _;

use super::iso::value;
use super::iso_areas::Areas;
use super::{ArtifactError, BuildError, Builder, Job, JobError};
use crate::engine::builders::Templates;
use crate::engine::drv::BuilderId;
use crate::engine::registry::Sha256;
use crate::engine::tree::TreeWriter;
use crate::openshift::iso::{self, installer_arguments};

pub(super) struct IsoPatch;

impl Builder for IsoPatch {
    fn id(&self) -> BuilderId {
        BuilderId::new("iso-patch", 1)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "files", "bytes", "kargs"])?;
        job.exactly(&["areas", "ignition"])?;
        job.text_list("kargs")?;
        bytes(job)?;
        value(job, "device")?;
        let templates = Templates::read(job)?;
        let used = templates.names();
        match job.config().into_keys().find(|name| *name != "device" && !used.contains(name)) {
            Some(name) => Err(JobError::Unused { name: name.to_owned(), used_in: templates.listed() }.into()),
            None => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let wrong = |problem: String| JobError::Input { alias: "areas".into(), problem };
        let text = job.input("areas")?.text("areas", "")?;
        let Areas { sha256: base, live } =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if !live.is_possible() {
            return Err(wrong("no image has such areas".into()).into());
        }
        let ignition = job.input("ignition")?.text("ignition", "")?;
        let arguments = installer_arguments(value(job, "device")?, &job.text_list("kargs")?);
        let patches = iso::initrd(&iso::unattended(&ignition))
            .and_then(|initrd| live.patches(initrd, &arguments))
            .map_err(|source| ArtifactError::Iso { path: "the live ISO".into(), source })?;
        let (mut all, mut areas) = (Vec::new(), Vec::new());
        for (offset, piece) in &patches {
            let (at, size) = (all.len(), piece.len());
            areas.push(minijinja::context! { at, offset, size });
            all.extend_from_slice(piece);
        }
        let templates = Templates::read(job)?;
        let mut context = templates.context(job)?;
        let sha256 = Sha256::from_bytes(sha2::Sha256::digest(&all).into()).hex();
        context.extend([
            ("areas".to_owned(), Jinja::from(areas)),
            ("base".to_owned(), minijinja::context! { sha256 => base, size => live.size }),
            ("bytes".to_owned(), Jinja::from(bytes(job)?)),
            ("sha256".to_owned(), Jinja::from(sha256)),
        ]);
        out.write(bytes(job)?, &all, false)?;
        for path in templates.outputs() {
            out.write(path, templates.render(path, &context)?.as_bytes(), false)?;
        }
        Ok(())
    }
}

fn bytes<'a>(job: &'a Job<'_>) -> Result<&'a str, JobError> {
    let missing = || JobError::Expected { name: "bytes".into(), expected: "the name of the file of bytes" };
    job.params.get("bytes").and_then(|value| value.as_text()).ok_or_else(missing)
}
