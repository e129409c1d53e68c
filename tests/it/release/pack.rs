//! Releases made in the test: layers, images and a layout to put them into.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tinderbox::internals::registry::{Descriptor, Directory, ImageName, Sha256, Target as _};

use crate::harness::{Workspace, list};

pub(crate) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// An archive in the making.
pub(crate) struct Layer(tar::Builder<Vec<u8>>);

impl Layer {
    pub(crate) fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    fn entry(mut self, path: &str, kind: tar::EntryType, mode: u32, link: &str, bytes: &[u8]) -> Self {
        let mut header = tar::Header::new_gnu();
        // Straight into the field: the builder refuses what a bad layer may have.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(bytes.len() as u64);
        header.set_mtime(1_700_000_000);
        header.set_cksum();
        self.0.append(&header, bytes).unwrap();
        self
    }

    pub(crate) fn file(self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.entry(path, tar::EntryType::Regular, 0o644, "", bytes.as_ref())
    }

    pub(crate) fn executable(self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.entry(path, tar::EntryType::Regular, 0o755, "", bytes.as_ref())
    }

    pub(crate) fn program(self, path: &str, mode: u32) -> Self {
        self.entry(path, tar::EntryType::Regular, mode, "", b"#!/bin/sh\n")
    }

    pub(crate) fn dir(self, path: &str) -> Self {
        self.entry(path, tar::EntryType::Directory, 0o777, "", b"")
    }

    pub(crate) fn symlink(self, path: &str, target: &str) -> Self {
        self.entry(path, tar::EntryType::Symlink, 0o777, target, b"")
    }

    pub(crate) fn hard_link(self, path: &str, target: &str) -> Self {
        self.entry(path, tar::EntryType::Link, 0o644, target, b"")
    }

    pub(crate) fn device(self, path: &str) -> Self {
        self.entry(path, tar::EntryType::Char, 0o666, "", b"")
    }

    pub(crate) fn tar(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }

    pub(crate) fn gzip(self) -> Vec<u8> {
        gzip(&self.tar())
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A layout, and images in it.
pub(crate) struct Pack {
    pub(crate) directory: Directory,
}

/// What release images and components are called here.
pub(crate) fn name(tag: &str) -> ImageName {
    format!("registry.example.com/ocp/art:{tag}").parse().unwrap()
}

impl Pack {
    pub(crate) fn create(path: &Path) -> Self {
        Self { directory: Directory::create(path).unwrap() }
    }

    fn blob(&self, media_type: &str, bytes: &[u8]) -> Descriptor {
        let blob =
            Descriptor { media_type: media_type.into(), digest: Sha256::of(bytes), size: bytes.len() as u64 };
        self.directory.put_blob(&name("x"), &blob, &mut &bytes[..]).unwrap();
        blob
    }

    /// An image of these layers (compressed bytes), with labels.
    pub(crate) fn image(
        &self,
        layers: &[(&str, Vec<u8>)],
        labels: &serde_json::Value,
        tag: Option<&str>,
    ) -> Sha256 {
        self.image_for("amd64", layers, labels, tag)
    }

    /// The same for an architecture.
    pub(crate) fn image_for(
        &self,
        architecture: &str,
        layers: &[(&str, Vec<u8>)],
        labels: &serde_json::Value,
        tag: Option<&str>,
    ) -> Sha256 {
        let config = json!({"architecture": architecture, "os": "linux", "created": "2026-01-01T00:00:00Z",
            "config": {"Labels": labels}, "rootfs": {"type": "layers", "diff_ids": []}});
        let config = self.blob(CONFIG, config.to_string().as_bytes());
        let show = |blob: &Descriptor| json!({"mediaType": blob.media_type, "digest": blob.digest.to_string(), "size": blob.size});
        let layers: Vec<_> = layers.iter().map(|(kind, bytes)| show(&self.blob(kind, bytes))).collect();
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": show(&config), "layers": layers});
        let bytes = manifest.to_string().into_bytes();
        self.directory.put_manifest(&name("x"), &MANIFEST.to_owned(), &bytes, tag).unwrap();
        Sha256::of(&bytes)
    }

    /// An image of gzip layers.
    pub(crate) fn plain(&self, layers: Vec<Layer>, tag: Option<&str>) -> Sha256 {
        let layers: Vec<_> = layers.into_iter().map(|layer| (LAYER, layer.gzip())).collect();
        self.image(&layers, &json!({}), tag)
    }
}

/// What a release is made of.
#[derive(Clone, Default)]
pub(crate) struct Release {
    pub(crate) version: String,
    /// By default amd64.
    pub(crate) architecture: Option<String>,
    /// Files of cluster-config-api's /manifests.
    pub(crate) api: Vec<(String, String)>,
    /// Files of the release image's own /manifests.
    pub(crate) own: Vec<(String, String)>,
    /// Files of /release-manifests, beside those that every release has.
    pub(crate) payload: Vec<(String, String)>,
    /// In place of the image-references that would be written.
    pub(crate) references: Option<String>,
    /// Components beside those that recipes name.
    pub(crate) components: Vec<String>,
    /// The versions that it can be reached from.
    pub(crate) previous: Vec<String>,
}

impl Release {
    /// The files of the release that a workspace pins, under another version.
    pub(crate) fn of(ws: &Workspace, version: &str) -> Self {
        ws.build(&["release/config-api", "release/image", "release/images", "release/payload"]);
        let files = |target: &str| {
            let folder = ws.path_of(target).join("manifests");
            let read = |file: String| (file.clone(), std::fs::read_to_string(folder.join(&file)).unwrap());
            list(&folder).into_iter().map(read).collect()
        };
        let images = std::fs::read_to_string(ws.path_of("release/images").join("images.json")).unwrap();
        let images: BTreeMap<String, String> = serde_json::from_str(&images).unwrap();
        Self {
            version: version.into(),
            api: files("release/config-api"),
            own: files("release/image"),
            payload: files("release/payload"),
            components: images.into_keys().collect(),
            ..Self::default()
        }
    }

    /// Replaces a text wherever it is in files whose names have a word.
    pub(crate) fn edit(&mut self, word: &str, from: &str, to: &str) {
        let files = self.api.iter_mut().chain(&mut self.own).chain(&mut self.payload);
        let mut found = 0;
        for (_, text) in files.filter(|(file, _)| file.contains(word)) {
            found += text.matches(from).count();
            *text = text.replace(from, to);
        }
        assert!(found > 0, "`{from}` is in no file that is called {word}");
    }

    /// Puts it into a layout under a tag.
    pub(crate) fn put(&self, pack: &Pack, tag: &str) -> Sha256 {
        let files = |below: &str, files: &[(String, String)]| {
            files.iter().fold(Layer::new().dir(below), |layer, (file, text)| {
                layer.file(&format!("{below}{file}"), text)
            })
        };
        let api = pack.plain(vec![files("manifests/", &self.api)], None);
        let references = self.references.clone().unwrap_or_else(|| {
            // Those that recipes name; of all but the first, the name is all that is needed.
            let named = ["cluster-policy-controller", "etcd", "hyperkube", "kube-proxy", "pod"];
            let more = self.components.iter().map(String::as_str).filter(|name| !named.contains(name));
            let more = more.filter(|name| *name != "cluster-config-api");
            let named = named.into_iter().chain(more).map(|name| (name, Sha256::of(name.as_bytes())));
            let all = std::iter::once(("cluster-config-api", api)).chain(named);
            let tags: Vec<_> = all.map(|(name, digest)| {
                json!({"name": name, "from": {"kind": "DockerImage", "name": format!("registry.example.com/ocp/art@{digest}")}})
            }).collect();
            json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": self.version},
                "spec": {"tags": tags}})
            .to_string()
        });
        let metadata =
            json!({"kind": "cincinnati-metadata-v0", "version": self.version, "previous": self.previous});
        let mut payload = self.payload.clone();
        payload.push(("image-references".into(), references));
        payload.push(("release-metadata".into(), metadata.to_string()));
        let layers = vec![
            (LAYER, files("manifests/", &self.own).gzip()),
            (LAYER, files("release-manifests/", &payload).gzip()),
        ];
        let architecture = self.architecture.as_deref().unwrap_or("amd64");
        pack.image_for(architecture, &layers, &json!({"io.openshift.release": self.version}), Some(tag))
    }
}
