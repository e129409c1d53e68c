//! What is in an output, by name: the objects of manifests, and where a kubeconfig leads. No values of either.

use serde::Serialize;

use crate::base::fs;
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlNode};
use crate::cli::Result;
use crate::engine::store::Object;

/// Folders whose outputs are objects of the API.
const OBJECTS: [&str; 3] = ["manifest/", "hand-over/", "static-pod/"];
const KUBECONFIGS: &str = "kubeconfig/";

/// Where a kubeconfig leads, and as whom.
#[derive(Debug, Serialize)]
pub(super) struct KubeconfigTarget {
    pub(super) server: String,
    pub(super) user: String,
}

/// Every object of an output's manifests, as `Kind namespace/name`.
pub(super) fn objects(name: &str, object: &Object) -> Result<Vec<String>> {
    if !OBJECTS.iter().any(|folder| name.starts_with(folder)) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (path, _) in object.listing.leaves("").filter(|(path, _)| yaml::is_manifest(path)) {
        found.extend(documents(object, path)?.iter().filter_map(titled));
    }
    Ok(found)
}

/// Where the kubeconfig of an output leads, if it is one.
pub(super) fn leads(name: &str, object: &Object) -> Result<Option<KubeconfigTarget>> {
    let is_one = |path: &str| path.ends_with("kubeconfig");
    let Some((path, _)) = object.listing.leaves("").find(|(path, _)| is_one(path)) else { return Ok(None) };
    if !name.starts_with(KUBECONFIGS) {
        return Ok(None);
    }
    let read = |document: &YamlNode| {
        let first = |list: &str| document.get(list)?.items().first();
        let server = first("clusters")?.get("cluster")?.get("server")?.text()?.to_owned();
        Some(KubeconfigTarget { server, user: first("users")?.get("name")?.text()?.to_owned() })
    };
    Ok(documents(object, path)?.first().and_then(read))
}

fn documents(object: &Object, path: &str) -> Result<Vec<YamlNode>> {
    let text = fs::read_text(&object.path.join(path))?;
    Ok(yaml::documents(Source { name: path, text: &text }, &mut Problems::default()))
}

fn titled(document: &YamlNode) -> Option<String> {
    let kind = document.get("kind")?.text()?;
    let metadata = document.get("metadata")?;
    let name = metadata.get("name")?.text()?;
    let namespace = metadata.get("namespace").and_then(YamlNode::text);
    Some(namespace.map_or_else(|| format!("{kind} {name}"), |namespace| format!("{kind} {namespace}/{name}")))
}
