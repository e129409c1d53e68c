//! `images`: component → pull spec, by digest.
//!
//! Input `references`: the payload's image-references. Output: `images.json`, and one file per component below
//! `components/`, so that a derivation that names one component is rebuilt when that one moves, and not before.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::{BuildError, Builder, Job, JobError};
use crate::drv::BuilderId;
use crate::registry::{ImageName, Reference};
use crate::tree::{TreeWriter, check_path};

pub(crate) struct Images;

#[derive(Deserialize)]
struct ImageStream {
    kind: String,
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    from: Option<From>,
}

#[derive(Deserialize)]
struct From {
    #[serde(default)]
    name: String,
}

impl Builder for Images {
    fn id(&self) -> BuilderId {
        BuilderId::new("images", 1)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&[])?;
        Ok(job.exactly(&["references"])?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let text = job.input("references")?.text("references", "")?;
        let components =
            parse(&text).map_err(|problem| JobError::Input { alias: "references".into(), problem })?;
        for (component, image) in &components {
            out.write(&format!("components/{component}"), image.as_bytes(), false)?;
        }
        let json = serde_json::to_string_pretty(&components).unwrap_or_default() + "\n";
        Ok(out.write("images.json", json.as_bytes(), false)?)
    }
}

/// Components by name. Every one has an image, and every image is named by digest.
fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let stream: ImageStream =
        serde_json::from_str(text).map_err(|error| format!("is not an ImageStream: {error}"))?;
    if stream.kind != "ImageStream" {
        return Err(format!("is not an ImageStream: its kind is `{}`", stream.kind));
    }
    let mut components = BTreeMap::new();
    for tag in stream.spec.tags {
        if check_path(&tag.name).is_err() || tag.name.contains('/') {
            return Err(format!("has a component with the impossible name `{}`", tag.name.escape_debug()));
        }
        let image = tag.from.map(|from| from.name).unwrap_or_default();
        let name: ImageName =
            image.parse().map_err(|error| format!("has no image for component `{}`: {error}", tag.name))?;
        if let Reference::Tag(_) = name.reference {
            return Err(format!("names component `{}` by a tag, not by digest: `{image}`", tag.name));
        }
        if components.insert(tag.name.clone(), image).is_some() {
            return Err(format!("lists component `{}` twice", tag.name));
        }
    }
    Ok(components)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(tags: &[(&str, &str)]) -> String {
        let tags: Vec<_> = tags.iter().map(|(name, from)| serde_json::json!({"name": name, "from": {"kind": "DockerImage", "name": from}})).collect();
        serde_json::json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "spec": {"tags": tags}}).to_string()
    }

    #[test]
    fn bad_image_references_say_what_is_wrong() {
        let digest = format!("quay.io/a/b@sha256:{}", "0".repeat(64));
        assert_eq!(parse(&stream(&[("etcd", &digest)])).unwrap().len(), 1);
        assert!(parse("{").unwrap_err().starts_with("is not an ImageStream"));
        assert!(parse(r#"{"kind":"Pod","spec":{"tags":[]}}"#).unwrap_err().contains("`Pod`"));
        assert!(
            parse(&stream(&[("etcd", &digest), ("etcd", &digest)])).unwrap_err().contains("`etcd` twice")
        );
        assert!(parse(&stream(&[("etcd", "")])).unwrap_err().contains("no image for component `etcd`"));
        assert!(parse(&stream(&[("etcd", "quay.io/a/b:v1")])).unwrap_err().contains("by a tag"));
        assert!(parse(&stream(&[("../etcd", &digest)])).unwrap_err().contains("impossible name"));
    }
}
