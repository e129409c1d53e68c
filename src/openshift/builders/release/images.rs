//! `images`: component → pull spec, by digest.
//!
//! Input `references`: the payload's image-references. Output: `images.json`, and one file per component below
//! `components/`, so that a derivation that names one component is rebuilt only when that component changes; below
//! `versions/` the versions of the release's parts (`versions/kubernetes`), and in `release` its own name.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::super::{BuildError, Builder, InputTree, Job, JobError};
use crate::engine::drv::BuilderId;
use crate::engine::registry::{ImageName, Reference};
use crate::engine::tree::{TreeWriter, check_path};

pub(crate) struct Images;

/// Annotation of a tag: versions of what its image contains.
const VERSIONS: &str = "io.openshift.build.versions";

/// Annotation of a tag: the repository of its source.
const SOURCE: &str = "io.openshift.build.source-location";

/// The payload's image-references.
#[derive(Deserialize)]
pub(super) struct ImageStream {
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Spec {
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    from: Option<From>,
}

#[derive(Deserialize)]
struct From {
    #[serde(default)]
    name: String,
}

/// A tag with its image.
pub(super) struct TaggedImage<'a> {
    pub(super) name: &'a str,
    pub(super) image: &'a str,
    pub(super) source: &'a str,
}

impl ImageStream {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let stream: Self =
            serde_json::from_str(text).map_err(|error| format!("is not an ImageStream: {error}"))?;
        match stream.kind.as_str() {
            "ImageStream" => Ok(stream),
            kind => Err(format!("is not an ImageStream: its kind is `{kind}`")),
        }
    }

    pub(super) fn images(&self) -> impl Iterator<Item = TaggedImage<'_>> {
        self.spec.tags.iter().filter_map(|tag| {
            let source = tag.annotations.get(SOURCE).map_or("", String::as_str);
            Some(TaggedImage { name: &tag.name, image: &tag.from.as_ref()?.name, source })
        })
    }
}

impl Builder for Images {
    fn id(&self) -> BuilderId {
        BuilderId::new("images", 2)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&[])?;
        Ok(job.exactly(&["references"])?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let text = job.input("references")?.text("references", "")?;
        let Named { release, components, versions } =
            parse(&text).map_err(|problem| JobError::Input { alias: "references".into(), problem })?;
        for (component, image) in &components {
            out.write(&format!("components/{component}"), image.as_bytes(), false)?;
        }
        for (part, version) in &versions {
            out.write(&format!("versions/{part}"), version.as_bytes(), false)?;
        }
        out.write("release", release.as_bytes(), false)?;
        let json = serde_json::to_string_pretty(&components).unwrap_or_default() + "\n";
        Ok(out.write("images.json", json.as_bytes(), false)?)
    }

    fn lacks(&self, path: &str, output: &InputTree) -> Option<String> {
        let release = output.text("images", "release").unwrap_or_default();
        let release = if release.is_empty() { "the release".into() } else { format!("release `{release}`") };
        let (kind, name) = path.split_once('/')?;
        match kind {
            "components" => Some(format!("{release} has no component `{name}`")),
            "versions" => Some(format!("{release} does not say which version of `{name}` it has")),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct Named {
    /// The release's own name.
    release: String,
    /// Images by component, all by digest.
    components: BTreeMap<String, String>,
    /// Versions of parts on which all components agree.
    versions: BTreeMap<String, String>,
}

fn parse(text: &str) -> Result<Named, String> {
    let stream = ImageStream::read(text)?;
    let mut components = BTreeMap::new();
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for tag in stream.spec.tags {
        for (part, version) in tag.annotations.get(VERSIONS).into_iter().flat_map(|list| parts(list)) {
            versions.entry(part.to_owned()).or_default().insert(version.to_owned());
        }
        if check_path(&tag.name).is_err() || tag.name.contains('/') {
            return Err(format!("has a component with the invalid name `{}`", tag.name.escape_debug()));
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
    let agreed = versions.into_iter().filter(|(_, said)| said.len() == 1);
    let versions = agreed.filter_map(|(part, said)| Some((part, said.into_iter().next()?))).collect();
    Ok(Named { release: stream.metadata.name, components, versions })
}

/// Parses `kubernetes=1.31.4,other=2`, without parts that cannot be file names.
fn parts(list: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = list.split(',').filter_map(|one| one.trim().split_once('='));
    parts.filter(|(part, version)| {
        check_path(part).is_ok() && !part.contains('/') && !version.trim().is_empty()
    })
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
        assert_eq!(parse(&stream(&[("etcd", &digest)])).unwrap().components.len(), 1);
        assert!(parse("{").unwrap_err().starts_with("is not an ImageStream"));
        assert!(parse(r#"{"kind":"Pod","spec":{"tags":[]}}"#).unwrap_err().contains("`Pod`"));
        assert!(
            parse(&stream(&[("etcd", &digest), ("etcd", &digest)])).unwrap_err().contains("`etcd` twice")
        );
        assert!(parse(&stream(&[("etcd", "")])).unwrap_err().contains("no image for component `etcd`"));
        assert!(parse(&stream(&[("etcd", "quay.io/a/b:v1")])).unwrap_err().contains("by a tag"));
        assert!(parse(&stream(&[("../etcd", &digest)])).unwrap_err().contains("invalid name"));
    }

    #[test]
    fn versions_are_those_on_which_all_agree() {
        let tag = |name: &str, versions: &str| {
            serde_json::json!({"name": name, "annotations": {VERSIONS: versions},
                "from": {"kind": "DockerImage", "name": format!("quay.io/a/b@sha256:{}", "0".repeat(64))}})
        };
        let tags = [
            tag("hyperkube", "kubernetes=1.31.4"),
            tag("pod", "kubernetes=1.31.4, machine-os=1"),
            tag("rhel-coreos", "machine-os=2,../x=1,/=2,empty=,none"),
        ];
        let stream = serde_json::json!({"kind": "ImageStream", "metadata": {"name": "4.18.1"}, "spec": {"tags": tags}});
        let named = parse(&stream.to_string()).unwrap();
        assert_eq!(named.release, "4.18.1");
        assert_eq!(named.versions, BTreeMap::from([("kubernetes".to_owned(), "1.31.4".to_owned())]));
    }
}
