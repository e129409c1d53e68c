//! `image`: the files of an image that were asked for. Fixed output: the digest decides, wherever the bytes come from.
//!
//! Every layer is read once, all of them at the same time: verified, decompressed, and the wanted files written and
//! hashed on the way ([`layer`]). Then the layers are laid over each other, whiteouts and opaque directories honoured,
//! and what is left is linked into the output ([`overlay`]). Device nodes, owners, times, extended attributes and
//! setuid bits are dropped; links cannot lead out of the root.
//!
//! Parameters: `paths` (absolute; `/` for all). The image is the input `reference`, a file with a pull spec by digest,
//! or the config value `reference`; config value `architecture` chooses from a manifest list.

mod layer;
mod overlay;

use rayon::prelude::*;

use self::layer::{Layer, Wanted};
use super::{BuildError, Builder, Grants, Job, JobError};
use crate::drv::BuilderId;
use crate::registry::{self, ImageName, Reference, RegistryError};
use crate::tree::TreeWriter;
use crate::value::Value;

pub(super) struct Image;

impl Builder for Image {
    fn id(&self) -> BuilderId {
        BuilderId::new("image", 1)
    }

    fn grants(&self) -> Grants {
        Grants { images: true }
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["paths", "config"])?;
        let paths = job.text_list("paths")?;
        if paths.is_empty() || paths.iter().any(|path| !path.starts_with('/')) {
            return Err(
                JobError::Expected { name: "paths".into(), expected: "a list of absolute paths" }.into()
            );
        }
        let config = job.config();
        let known = ["architecture", "reference"];
        if let Some(name) = config.keys().chain(&job.aliases()).find(|name| !known.contains(*name)) {
            return Err(JobError::Unused { name: (*name).to_owned(), used_in: "an image".into() }.into());
        }
        if !config.contains_key("architecture") {
            return Err(JobError::Expected { name: "config.architecture".into(), expected: "given" }.into());
        }
        match config.contains_key("reference") == job.inputs.contains_key("reference") {
            true => {
                Err(JobError::Expected { name: "reference".into(), expected: "an input or a config value" }
                    .into())
            }
            false => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let name = reference(job)?;
        let Reference::Digest(digest) = &name.reference else {
            let problem = "it is named by a tag, which may mean another image tomorrow".to_owned();
            return Err(RegistryError::Malformed { image: name.to_string(), problem }.into());
        };
        let config = job.config();
        let architecture = config.get("architecture").and_then(|value| value.as_text()).unwrap_or_default();
        let manifest = registry::image(job.images()?, &name, digest, architecture)?;
        let wanted = Wanted::new(&job.text_list("paths")?);
        let layers = manifest
            .layers
            .par_iter()
            .enumerate()
            .map(|(at, descriptor)| Layer::read(job.images()?, &name, descriptor, &wanted, out, at))
            .collect::<Result<Vec<Layer>, BuildError>>()?;
        overlay::compose(&name, &wanted, &layers, out)
    }
}

/// The image that a job means.
fn reference(job: &Job<'_>) -> Result<ImageName, BuildError> {
    let text = match job.inputs.get("reference") {
        Some(input) => input.texts("reference")?.remove("").unwrap_or_default(),
        None => job
            .config()
            .get("reference")
            .and_then(|value: &&Value| value.as_text())
            .unwrap_or_default()
            .to_owned(),
    };
    text.trim().parse().map_err(|error: registry::NameError| {
        JobError::Input { alias: "reference".into(), problem: format!("names no image: {error}") }.into()
    })
}
