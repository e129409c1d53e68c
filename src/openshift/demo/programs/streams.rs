//! OS streams: which of the release's OS images a pool gets. The controller reads it from labels of the images, so it asks
//! registries, and goes where the user's registries.conf.d sends it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;

use super::Build;
use super::manifests::{items, kind, scalar};
use crate::base::fs;

/// The gate with which it asks.
pub(super) const GATE: &str = "OSStreams";

/// The OS image of a stream and the image with its extensions.
#[derive(Default, Clone)]
pub(super) struct Stream {
    pub(super) image: String,
    pub(super) extensions: String,
}

impl Build<'_> {
    /// The images of the default stream. `objects` has the release's images, and maybe an OSImageStream of the user's.
    pub(super) fn default_stream(&self, objects: &[Value]) -> Result<Stream, String> {
        let streams = self.streams(objects);
        let group = "machineconfiguration.openshift.io";
        let wanted = objects.iter().find(|one| kind(one) == (group, "OSImageStream"));
        let wanted = wanted.map(|one| scalar(&one["spec"]["defaultStream"])).filter(|name| !name.is_empty());
        let built_in = if self.is_from("5.0") { "rhel-10" } else { "rhel-9" };
        let name = match (wanted, streams.len()) {
            (_, 0) => {
                return Err("error inspecting available OSImageStreams: unable to retrieve any OSImageStream from the configured sources".into());
            }
            (Some(name), _) => name,
            (None, 1) => streams.keys().next().cloned().unwrap_or_default(),
            (None, _) => built_in.to_owned(),
        };
        let names: Vec<&str> = streams.keys().map(String::as_str).collect();
        streams.get(&name).cloned().ok_or_else(|| {
            format!(
                "could not find the requested {name} default stream in the list of OSImageStreams {names:?}"
            )
        })
    }

    /// Every stream that has both images.
    fn streams(&self, objects: &[Value]) -> BTreeMap<String, Stream> {
        let mut streams: BTreeMap<String, Stream> = BTreeMap::new();
        let references = objects.iter().filter(|one| kind(one).1 == "ImageStream");
        for tag in references.flat_map(|one| items(&one["spec"]["tags"])) {
            let (name, image) = (scalar(&tag["name"]), scalar(&tag["from"]["name"]));
            if !name.contains("-coreos") {
                continue;
            }
            let labels = match labels(&image, self.home) {
                Ok(labels) => labels,
                Err(problem) => {
                    self.warning(&format!("error inspecting image for OSImageStream discovery. {image} image is ignored. {problem}"));
                    continue;
                }
            };
            let stream = streams.entry(scalar(&labels["io.openshift.os.streamclass"])).or_default();
            match labels["io.openshift.os.extensions"] == "true" {
                true => stream.extensions = image,
                false => stream.image = image,
            }
        }
        streams.retain(|name, one| !name.is_empty() && !one.image.is_empty() && !one.extensions.is_empty());
        streams
    }
}

/// The labels of an image, from the registry that stands in for its own.
fn labels(image: &str, home: &str) -> Result<Value, String> {
    let (repository, digest) = image.split_once('@').ok_or("it has no digest")?;
    let location = location(repository, home)?;
    let (server, path) = location.split_once('/').ok_or("its location is not a repository")?;
    let manifest = |digest: &str| get(server, &format!("/v2/{path}/manifests/{digest}"));
    let mut found = manifest(digest)?;
    if let Some(list) = found["manifests"].as_array() {
        // A multi-architecture image: the registry has the one for the cluster's architecture.
        let mut ours = list.iter().map(|one| manifest(&scalar(&one["digest"])));
        found = ours.find(Result::is_ok).ok_or("no image in the list can be had")??;
    }
    let config = scalar(&found["config"]["digest"]);
    Ok(get(server, &format!("/v2/{path}/blobs/{config}"))?["config"]["Labels"].clone())
}

/// Where the user's configuration says that a repository is.
fn location(repository: &str, home: &str) -> Result<String, String> {
    let directory = Path::new(home).join(".config/containers/registries.conf.d");
    for name in fs::list(&directory).unwrap_or_default() {
        let text = fs::read_text(&directory.join(name)).map_err(|error| error.to_string())?;
        let file: toml::Table = toml::from_str(&text).map_err(|error| error.to_string())?;
        let entries = file.get("registry").and_then(toml::Value::as_array);
        let of = |entry: &toml::Value, key: &str| Some(entry.get(key)?.as_str()?.to_owned());
        let found =
            entries.into_iter().flatten().find(|entry| of(entry, "prefix").as_deref() == Some(repository));
        if let Some(location) = found.and_then(|entry| of(entry, "location")) {
            return Ok(location);
        }
    }
    Err(format!("dial tcp: lookup {repository}: no such host"))
}

/// A JSON document of a registry.
fn get(server: &str, path: &str) -> Result<Value, String> {
    let mut answer = Vec::new();
    let mut ask = || {
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(
            format!("GET {path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n").as_bytes(),
        )?;
        stream.read_to_end(&mut answer)
    };
    ask().map_err(|error| format!("Get \"http://{server}{path}\": {error}"))?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(format!("http://{server}{path}: {}", head.lines().next().unwrap_or_default()));
    }
    serde_json::from_str(body).map_err(|error| error.to_string())
}
