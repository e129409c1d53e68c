//! `image`: the requested files of an image. Fixed output: the digest identifies it, wherever the bytes come from.
//!
//! All layers are read at the same time, each once: verified, decompressed, and the requested files written and hashed
//! on the way ([`layer`]). Then the layers are merged, with whiteouts and opaque directories, and the result is linked
//! into the output ([`overlay`]). Device nodes, owners, times, extended attributes and setuid bits are dropped; links
//! cannot leave the root.
//!
//! Parameters: `paths` (absolute; `/` for all). The image is either the input `reference`, a file with a pull spec by
//! digest, or the config value `digest`, an image in the release's own repository, wherever that currently is. Config
//! value `architecture` selects from a manifest list; an image that declares another one is refused. With config value
//! `content`, a digest, the files are those of that image, whatever image the pull spec names: for previews.

mod budget;
mod layer;
mod overlay;
mod sparse;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use self::budget::ImageBudget;
use self::layer::{Layer, Wanted};
use super::{BuildError, Builder, Grants, Job, JobError};
use crate::base::value::Value;
use crate::engine::drv::BuilderId;
use crate::engine::registry::{
    self, Descriptor, ImageName, Images, Located, Reference, RegistryError, Sha256,
};
use crate::engine::tree::{Hashing, Listing, TreeWriter};

/// The paths that a layer unpacks to, below `dir`, with the budget of a very small image: for tests.
pub(crate) fn list_layer(
    name: &ImageName,
    media_type: &str,
    bytes: &[u8],
    dir: &std::path::Path,
) -> Result<Vec<String>, BuildError> {
    let listing = unpack_layer(name, media_type, bytes, dir)?;
    Ok(listing.leaves("").map(|(path, _)| path.to_owned()).collect())
}

/// What a layer unpacks to; see [`list_layer`].
fn unpack_layer(
    name: &ImageName,
    media_type: &str,
    bytes: &[u8],
    dir: &std::path::Path,
) -> Result<Listing, BuildError> {
    let source = OneBlob(bytes);
    let digest = Sha256::of(bytes);
    let descriptor = Descriptor { media_type: media_type.to_owned(), digest, size: bytes.len() as u64 };
    let out = TreeWriter::create(dir.join("tree"), Hashing(None), false)?;
    let (wanted, budget) = (Wanted::new(&["/"]), ImageBudget::of(16 << 20));
    let layer = Layer::read(&source, name, &descriptor, &wanted, &budget, &out, 0)?;
    overlay::compose(name, &wanted, &[layer], &out)?;
    Ok(out.finish()?.listing)
}

/// An image source with one blob.
struct OneBlob<'b>(&'b [u8]);

impl Images for OneBlob<'_> {
    fn locate(&self, image: &ImageName, _: &Sha256) -> registry::Result<Located> {
        Ok(Located::by_its_name(image))
    }

    fn resolve(&self, _: &ImageName) -> registry::Result<Sha256> {
        Ok(Sha256::of(self.0))
    }

    fn manifest(&self, _: &ImageName, _: &Sha256) -> registry::Result<(String, Vec<u8>)> {
        Ok((String::new(), Vec::new()))
    }

    fn blob<'a>(
        &'a self,
        _: &ImageName,
        _: &Descriptor,
    ) -> registry::Result<Box<dyn std::io::Read + Send + 'a>> {
        Ok(Box::new(self.0))
    }
}

pub(crate) struct Image;

impl Builder for Image {
    fn id(&self) -> BuilderId {
        BuilderId::new("image", 2)
    }

    fn grants(&self) -> Grants {
        Grants { images: true, ..Grants::default() }
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
        let known = ["architecture", "content", "digest", "reference"];
        if let Some(name) = config.keys().chain(&job.aliases()).find(|name| !known.contains(*name)) {
            return Err(JobError::Unused { name: (*name).to_owned(), used_in: "an image".into() }.into());
        }
        if !config.contains_key("architecture") {
            return Err(JobError::Expected { name: "config.architecture".into(), expected: "given" }.into());
        }
        match config.contains_key("digest") == job.inputs.contains_key("reference") {
            true => {
                let expected = "given, or the input `reference`, and not both";
                Err(JobError::Expected { name: "config.digest".into(), expected }.into())
            }
            false => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let images = job.images()?.images.as_ref();
        let (name, digest) = wanted_image(job)?;
        let config = job.config();
        let architecture = config.get("architecture").and_then(|value| value.as_text()).unwrap_or_default();
        let manifest = registry::image(images, &name, &digest, architecture)?;
        manifest.check_architecture(images, &name, architecture)?;
        let wanted = Wanted::new(&job.text_list("paths")?);
        let total = manifest.layers.iter().fold(0u64, |total, layer| total.saturating_add(layer.size));
        if total > budget::LAYERS {
            let problem = format!("its layers have {total} bytes, more than {} GiB", budget::LAYERS >> 30);
            return Err(RegistryError::Malformed { image: name.to_string(), problem }.into());
        }
        let budget = ImageBudget::new(total);
        let layers = manifest
            .layers
            .par_iter()
            .enumerate()
            .map(|(at, descriptor)| Layer::read(images, &name, descriptor, &wanted, &budget, out, at))
            .collect::<Result<Vec<Layer<'_>>, BuildError>>()?;
        overlay::compose(&name, &wanted, &layers, out)
    }
}

/// The image of a job, and its digest.
fn wanted_image(job: &Job<'_>) -> Result<(ImageName, Sha256), BuildError> {
    let wrong = |alias: &str, error: registry::NameError| {
        let problem = format!("does not name an image: {error}");
        BuildError::Job(JobError::Input { alias: alias.to_owned(), problem })
    };
    if let Some(input) = job.inputs.get("reference") {
        let text = input.text("reference", "")?;
        let name: ImageName = text.trim().parse().map_err(|error| wrong("reference", error))?;
        if let Some(content) = job.config().get("content") {
            let digest = content.as_text().unwrap_or_default().parse();
            let digest = digest.map_err(|error| wrong("content", error))?;
            return Ok((name.at(digest), digest));
        }
        return match name.reference {
            Reference::Digest(digest) => Ok((name, digest)),
            Reference::Tag(_) => {
                let problem = "it has a tag, which may move to another image".to_owned();
                Err(RegistryError::Malformed { image: name.to_string(), problem }.into())
            }
        };
    }
    let text =
        job.config().get("digest").and_then(|value: &&Value| value.as_text()).unwrap_or_default().to_owned();
    let digest = text.parse().map_err(|error| wrong("digest", error))?;
    Ok((job.images()?.name.at(digest), digest))
}
