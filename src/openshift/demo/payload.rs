//! The release: its components, image-references, release-metadata and manifests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::layer::{Entry, Layer, layer};
use super::programs::{Contract, script};
use super::{Content, Variant, Version, files};
use crate::base::json::sorted;
use crate::engine::registry::Sha256;
use crate::openshift::knowledge::{Components, Release};

/// Components of every version, by their keys in `components.toml`. Those with content get their real digest.
const COMPONENTS: [&str; 30] = [
    "baremetal-runtimecfg",
    "cli",
    "cloud-credential-operator",
    "cluster-authentication-operator",
    "cluster-bootstrap",
    "cluster-config-api",
    "cluster-config-operator",
    "cluster-etcd-operator",
    "cluster-ingress-operator",
    "cluster-kube-apiserver-operator",
    "cluster-kube-controller-manager-operator",
    "cluster-kube-scheduler-operator",
    "cluster-network-operator",
    "cluster-node-tuning-operator",
    "cluster-policy-controller",
    "cluster-version-operator",
    "coredns",
    "docker-registry",
    "etcd",
    "haproxy-router",
    "hyperkube",
    "keepalived-ipfailover",
    "kube-proxy",
    "kube-rbac-proxy",
    "machine-config-operator",
    "node-os",
    "node-os-extensions",
    "oauth-proxy",
    "ovn-kubernetes",
    "pod",
];

/// Components from a version on, by their keys.
const LATER: [(&str, &str); 1] = [("4.23", "apiserver-network-proxy")];

/// OS images of streams: key, stream, and whether they hold extensions.
type Streams = &'static [(&'static str, &'static str, bool)];

const STREAMS: Streams = &[
    ("node-os-rhel-9", "rhel-9", false),
    ("node-os-rhel-9-extensions", "rhel-9", true),
    ("node-os-rhel-10", "rhel-10", false),
    ("node-os-rhel-10-extensions", "rhel-10", true),
];
/// Nobody can choose yet, but with the gate on, the controller asks.
const FIRST_STREAMS: Streams = &[("node-os", "rhel-9", false), ("node-os-extensions", "rhel-9", true)];
const OKD_STREAMS: Streams = &[("node-os", "centos-10", false), ("node-os-extensions", "centos-10", true)];

/// The component of the release image's base.
const BASE: &str = "cluster-version-operator";

/// The name of a component in a version.
pub(super) fn named(version: &str, key: &'static str) -> &'static str {
    let release = Release::parse(version);
    Components::built_in().and_then(|components| components.name(key, release)).unwrap_or(key)
}

/// Renamed between the versions, as happens in real releases.
fn renamed(version: &Version) -> &'static str {
    if version.name == "4.18" { "olm-rukpak" } else { "olm-operator-controller" }
}

/// All images of a version.
pub(super) fn assemble(version: &Version) -> Content {
    let mut content = Content {
        release: Sha256::of(b""),
        components: BTreeMap::new(),
        manifests: BTreeMap::new(),
        blobs: BTreeMap::new(),
    };
    let later = LATER.iter().filter(|(first, _)| version.is_at_least(first)).map(|(_, key)| *key);
    let keys = COMPONENTS.into_iter().chain(later);
    for name in keys.map(|key| named(&version.full(), key)).chain([renamed(version)]) {
        let text = format!("tinderbox demo release {} has no content for {name}", version.full());
        content.components.insert(name, Sha256::of(text.as_bytes()));
    }
    let api = files::of(version.name, "cluster-config-api");
    let base = base(version);
    for (key, layers, operator) in [
        ("cluster-config-api", plain(&api), true),
        (BASE, base.clone(), false),
        ("cluster-node-tuning-operator", node_tuning(version), true),
        ("machine-config-operator", machine_config(version), true),
    ] {
        let name = named(&version.full(), key);
        let mut labels = labels(version, name);
        if operator {
            labels.insert("io.openshift.release.operator", "true".to_owned());
        }
        let digest = content.add(version.variant, &[&layers], &labels);
        content.components.insert(name, digest);
    }
    for (name, layer, labels) in os_images(version) {
        let digest = content.add(version.variant, &[&layer], &labels);
        content.components.insert(name, digest);
    }
    let mut labels = labels(version, "release");
    labels.insert("io.openshift.release", version.full());
    let operator = content.components[named(&version.full(), BASE)];
    labels.insert("io.openshift.release.base-image-digest", operator.to_string());
    let payload = payload(version, &api, &content.components);
    content.release = content.add(version.variant, &[&base, &payload], &labels);
    content
}

fn labels(version: &Version, name: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("description", format!("demo release of tinderbox, {}: {name}", version.full())),
        ("io.k8s.display-name", format!("{name} (demo)")),
        ("io.tinderbox.demo", "true".to_owned()),
        ("version", format!("v{}", version.full())),
    ])
}

/// OS images, whose labels say which stream they are of. Nothing in them boots.
fn os_images(version: &Version) -> Vec<(&'static str, Layer, BTreeMap<&'static str, String>)> {
    let streams = match version.variant {
        // The gate OSStreams came with previews of 4.21.
        _ if !version.is_at_least("4.21") => return Vec::new(),
        Variant::Okd => OKD_STREAMS,
        _ if !version.is_at_least("4.22") => FIRST_STREAMS,
        _ => STREAMS,
    };
    let one = |&(key, stream, extensions): &(&'static str, &str, bool)| {
        let name = named(&version.full(), key);
        let mut labels = labels(version, name);
        labels.insert("io.openshift.os.streamclass", stream.to_owned());
        match extensions {
            true => labels.insert("io.openshift.os.extensions", "true".to_owned()),
            false => labels.insert("containers.bootc", "1".to_owned()),
        };
        let text = format!("NAME=\"demo release of tinderbox\"\nVARIANT_ID={stream}\n");
        let entries = [("etc/os-release".to_owned(), Entry::File(text.into_bytes(), 0o644))];
        (name, layer(&entries.into(), &BTreeMap::new()), labels)
    };
    streams.iter().map(one).collect()
}

fn plain(files: &BTreeMap<String, &'static [u8]>) -> Layer {
    let entries = files.iter().map(|(path, bytes)| (path.clone(), Entry::File(bytes.to_vec(), 0o644)));
    layer(&entries.collect(), &BTreeMap::new())
}

/// The cluster-version operator's image, the base of the release image.
fn base(version: &Version) -> Layer {
    let entries = files::of(version.name, "release").into_iter().map(|(path, bytes)| {
        let text = String::from_utf8_lossy(bytes).replace(SNAPSHOT, &version.full());
        (path, Entry::File(text.into_bytes(), 0o644))
    });
    layer(&entries.collect(), &BTreeMap::new())
}

/// The machine-config programs and their templates. The two programs are one script with two names.
fn machine_config(version: &Version) -> Layer {
    let files = files::of(version.name, "machine-config-operator").into_iter();
    let mut entries: BTreeMap<_, _> =
        files.map(|(path, bytes)| (path, Entry::File(bytes.to_vec(), 0o644))).collect();
    let script = script(Contract::MachineConfig, version.name);
    entries.insert("usr/bin/machine-config-controller".into(), Entry::File(script.into_bytes(), 0o755));
    entries
        .insert("usr/bin/machine-config-operator".into(), Entry::Link("usr/bin/machine-config-controller"));
    layer(&entries, &BTreeMap::new())
}

/// The node-tuning program.
fn node_tuning(version: &Version) -> Layer {
    let script = script(Contract::NodeTuning, version.name);
    let path = "usr/bin/cluster-node-tuning-operator".to_owned();
    layer(&[(path, Entry::File(script.into_bytes(), 0o755))].into(), &BTreeMap::new())
}

/// The placeholder for the version in source files, as in real operators.
const SNAPSHOT: &str = "0.0.1-snapshot";

/// `release-manifests/`: modes and directory as left by the real tool.
fn payload(
    version: &Version,
    api: &BTreeMap<String, &'static [u8]>,
    components: &BTreeMap<&'static str, Sha256>,
) -> Layer {
    let mut entries = BTreeMap::new();
    let mut put = |name: &str, text: String| {
        entries.insert(format!("release-manifests/{name}"), Entry::File(text.into_bytes(), 0o444));
    };
    put("image-references", pretty(&image_references(version, components)));
    put("release-metadata", pretty(&metadata(version)));
    for (path, bytes) in files::of(version.name, "payload") {
        let text = fill(bytes, version, components);
        match version.variant {
            // Nobody signs OKD's images, and its OS is CentOS Stream CoreOS, in one stream.
            Variant::Okd if path.contains("cluster-image-policy") => {}
            Variant::Okd if path.contains("coreos-bootimages") => {
                let one = text.split_once("  streams: |").map_or(text.as_str(), |(one, _)| one);
                put(&path, one.replace("rhcos", "scos"));
            }
            _ => put(&path, text),
        }
    }
    for (path, bytes) in api {
        let name = path.strip_prefix("manifests/").unwrap_or(path);
        // A manifest without a run level gets that of operators, and its component's name.
        let name = if name.starts_with("0000_") {
            name.to_owned()
        } else {
            format!("0000_50_cluster-config-api_{name}")
        };
        put(&name, String::from_utf8_lossy(bytes).into_owned());
    }
    layer(&entries, &BTreeMap::from([("release-manifests", 0o777)]))
}

/// Fills the version and the images into a manifest. Longest keys first: some are prefixes of others.
fn fill(bytes: &[u8], version: &Version, components: &BTreeMap<&'static str, Sha256>) -> String {
    let mut text = String::from_utf8_lossy(bytes).replace(SNAPSHOT, &version.full());
    let mut keys = COMPONENTS;
    keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    for key in keys {
        let name = named(&version.full(), key);
        text = text.replace(&format!("demo.image/{key}"), &version.image(name, components[name]).to_string());
    }
    text
}

fn pretty(value: &Value) -> String {
    format!("{:#}\n", sorted(value))
}

fn image_references(version: &Version, components: &BTreeMap<&'static str, Sha256>) -> Value {
    let tag = |(name, digest): (&&'static str, &Sha256)| {
        let commit = Sha256::of(format!("commit {} {name}", version.full()).as_bytes()).hex();
        let mut annotations = json!({
            "io.openshift.build.commit.id": commit[..40],
            "io.openshift.build.commit.ref": format!("release-{}", version.name),
            "io.openshift.build.source-location": format!("https://demo.invalid/source/{name}"),
        });
        if let Some((versions, names)) = versions(version, name) {
            annotations["io.openshift.build.versions"] = versions.into();
            annotations["io.openshift.build.version-display-names"] = names.into();
        }
        json!({
            "name": name,
            "annotations": annotations,
            "from": {"kind": "DockerImage", "name": version.image(name, *digest).to_string()},
            "generation": 2,
            "importPolicy": {},
            "referencePolicy": {"type": "Source"},
        })
    };
    json!({
        "kind": "ImageStream",
        "apiVersion": "image.openshift.io/v1",
        "metadata": {
            "name": version.full(),
            "creationTimestamp": "1970-01-01T00:00:00Z",
            "annotations": {
                "release.openshift.io/from-image-stream": format!("demo/{}", version.full()),
                "tinderbox/demo": "this is the demo release",
            },
        },
        "spec": {
            "lookupPolicy": {"local": false},
            "tags": components.iter().map(tag).collect::<Vec<_>>(),
        },
        "status": {"dockerImageRepository": ""},
    })
}

/// The versions that a component declares.
fn versions(version: &Version, component: &str) -> Option<(String, &'static str)> {
    let is = |key: &'static str| component == named(&version.full(), key);
    let (kubernetes, system) = match version.name {
        "4.18" => ("1.31.4", "418.94.202501010000-0"),
        "4.19" => ("1.32.3", "9.6.20250501-0"),
        "4.20" => ("1.33.5", "9.6.20251101-0"),
        "4.21" => ("1.34.2", "9.6.20260301-0"),
        "4.22" => ("1.35.1", "9.8.20260701-0"),
        "4.23" => ("1.36.2", "9.8.20261001-0"),
        _ => ("1.36.2", "10.2.20261101-0"),
    };
    if is("hyperkube") || is("kube-proxy") {
        return Some((format!("kubernetes={kubernetes}"), "kubernetes=Kubernetes"));
    }
    is("node-os").then(|| (format!("machine-os={system}"), "machine-os=Red Hat Enterprise Linux CoreOS"))
}

fn metadata(version: &Version) -> Value {
    let previous: Vec<String> = version.previous().map(Version::full).into_iter().collect();
    let mut metadata = json!({
        "kind": "cincinnati-metadata-v0",
        "version": version.full(),
        "previous": previous,
        "metadata": {
            "description": "demo release of tinderbox: real shapes, small content",
            "url": format!("https://demo.invalid/release/{}", version.full()),
        },
    });
    if version.variant == Variant::Multi {
        metadata["metadata"]["release.openshift.io/architecture"] = "multi".into();
    }
    metadata
}
