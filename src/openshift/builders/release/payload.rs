//! `payload`: `/release-manifests` of the release image: manifests, image-references, release-metadata.
//!
//! Input `image`: the release image's files. Output: `manifests/`, `image-references` and `release-metadata`,
//! unchanged, and `version`, the release's own.
//!
//! With the config value `components`, pull specs by component, image-references has those: for previews.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::{BuildError, Builder, Job, JobError};
use crate::base::json::sorted;
use crate::base::value::Value;
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;

pub(crate) struct Payload;

/// The config value with pull specs of components that replace the release's own.
const COMPONENTS: &str = "components";

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
        job.only(&["config"])?;
        if let Some(name) = job.config().into_keys().find(|name| *name != COMPONENTS) {
            return Err(JobError::Unused { name: name.to_owned(), used_in: "a payload".into() }.into());
        }
        Ok(job.exactly(&["image"])?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let wrong = |problem: String| JobError::Input { alias: "image".into(), problem };
        let mut seen = [("image-references", false), ("release-metadata", false)];
        let mut manifests = 0;
        let replaced = replaced(job)?;
        for (path, full, entry) in job.input("image")?.leaves() {
            let Some(file) = path.strip_prefix("release-manifests/") else { continue };
            match seen.iter_mut().find(|(name, _)| *name == file) {
                Some(("image-references", found)) if !replaced.is_empty() => {
                    *found = true;
                    let text = job.input("image")?.text("image", path)?;
                    let text = with_images(&text, &replaced).map_err(wrong)?;
                    out.write(file, text.as_bytes(), false)?;
                }
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
        // It is shown, and becomes part of names. The cluster-version operator takes no others.
        if semver::Version::parse(&metadata.version).is_err() {
            let version = metadata.version.escape_debug();
            let problem = format!("has the version `{version}`, which is not a version such as 4.19.3");
            return Err(wrong(problem).into());
        }
        Ok(out.write("version", metadata.version.as_bytes(), false)?)
    }
}

fn replaced(job: &Job<'_>) -> Result<BTreeMap<String, String>, JobError> {
    let wrong = || JobError::Expected { name: COMPONENTS.into(), expected: "pull specs by component" };
    match job.config().get(COMPONENTS) {
        None => Ok(BTreeMap::new()),
        Some(Value::Map(map)) => {
            let text = |value: &Value| value.as_text().map(str::to_owned).ok_or_else(wrong);
            map.iter().map(|(component, image)| Ok((component.clone(), text(image)?))).collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// Image references with other images for some components.
fn with_images(references: &str, images: &BTreeMap<String, String>) -> Result<String, String> {
    let mut stream: serde_json::Value = serde_json::from_str(references)
        .map_err(|error| format!("has image-references that cannot be read: {error}"))?;
    let tags = stream.pointer_mut("/spec/tags").and_then(serde_json::Value::as_array_mut);
    let tags = tags.ok_or("has image-references without tags")?;
    for (component, image) in images {
        let named = |tag: &&mut serde_json::Value| tag["name"] == component.as_str();
        let tag = tags.iter_mut().find(named).ok_or(format!("has no component `{component}`"))?;
        tag["from"]["name"] = image.as_str().into();
    }
    Ok(format!("{:#}\n", sorted(&stream)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_gets_another_image_and_all_else_stays() {
        let old = r#"{"kind":"ImageStream","spec":{"tags":[{"name":"a","from":{"kind":"DockerImage","name":"x@1"}},{"name":"b","from":{"name":"y@1"}}]}}"#;
        let images = BTreeMap::from([("b".to_owned(), "z@2".to_owned())]);
        let new: serde_json::Value = serde_json::from_str(&with_images(old, &images).unwrap()).unwrap();
        let mut expected: serde_json::Value = serde_json::from_str(old).unwrap();
        expected["spec"]["tags"][1]["from"]["name"] = "z@2".into();
        assert_eq!(new, expected);
        let images = BTreeMap::from([("c".to_owned(), "z@2".to_owned())]);
        assert_eq!(with_images(old, &images).unwrap_err(), "has no component `c`");
    }
}
