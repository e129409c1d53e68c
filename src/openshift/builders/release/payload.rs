//! `payload`: `/release-manifests` of the release image: manifests, image-references, release-metadata.
//!
//! Input `image`: the release image's files. Output: `manifests/`, `image-references` and `release-metadata`,
//! unchanged, and `version`, the release's own.

use serde::Deserialize;

use super::super::{BuildError, Builder, Job, JobError};
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;

pub(crate) struct Payload;

#[derive(Deserialize)]
struct Metadata {
    kind: String,
    version: String,
}

impl Builder for Payload {
    fn id(&self) -> BuilderId {
        BuilderId::new("payload", 1)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&[])?;
        Ok(job.exactly(&["image"])?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let wrong = |problem: String| JobError::Input { alias: "image".into(), problem };
        let mut seen = [("image-references", false), ("release-metadata", false)];
        let mut manifests = 0;
        for (path, full, entry) in job.input("image")?.leaves() {
            let Some(file) = path.strip_prefix("release-manifests/") else { continue };
            match seen.iter_mut().find(|(name, _)| *name == file) {
                Some((_, found)) => {
                    *found = true;
                    out.share(file, &full, entry)?;
                }
                None => {
                    manifests += 1;
                    out.share(&format!("manifests/{file}"), &full, entry)?;
                }
            }
        }
        if let Some((name, _)) = seen.iter().find(|(_, found)| !found) {
            let problem = format!("is not a release image: it has no /release-manifests/{name}");
            return Err(wrong(problem).into());
        }
        if manifests == 0 {
            return Err(wrong("is not a release image: /release-manifests has no manifests".into()).into());
        }
        let text = job.input("image")?.text("image", "release-manifests/release-metadata")?;
        let metadata: Metadata = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("has a release-metadata that cannot be read: {error}")))?;
        if metadata.kind != "cincinnati-metadata-v0" || metadata.version.is_empty() {
            return Err(
                wrong(format!("has a release-metadata of the unknown kind `{}`", metadata.kind)).into()
            );
        }
        // It is shown, and becomes part of names.
        if !metadata.version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+_".contains(c)) {
            let version = metadata.version.escape_debug();
            return Err(wrong(format!("has the version `{version}`, which is not a version")).into());
        }
        Ok(out.write("version", metadata.version.as_bytes(), false)?)
    }
}
