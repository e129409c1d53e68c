//! Images: deterministic, verified, complete.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use serde_json::Value;

use super::*;
use crate::base::hint::Problems;
use crate::base::yaml::{Source, YamlData, YamlNode, documents};

/// What facts list as required to build a cluster.
const NEEDED: [&str; 21] = [
    "baremetal-runtimecfg",
    "cluster-config-api",
    "cluster-etcd-operator",
    "cluster-kube-apiserver-operator",
    "cluster-policy-controller",
    "cluster-version-operator",
    "coredns",
    "etcd",
    "haproxy-router",
    "hyperkube",
    "keepalived-ipfailover",
    "kube-proxy",
    "kube-rbac-proxy",
    "machine-config-operator",
    "oauth-proxy",
    "pod",
    "rhel-coreos",
    "rhel-coreos-extensions",
    "cluster-kube-controller-manager-operator",
    "cluster-kube-scheduler-operator",
    "cluster-ingress-operator",
];

/// Every CR that recipes write or that users add.
const CRDS: [&str; 25] = [
    "apiservers.config.openshift.io",
    "authentications.config.openshift.io",
    "clusteroperators.config.openshift.io",
    "clusterresourcequotas.quota.openshift.io",
    "clusterversions.config.openshift.io",
    "containerruntimeconfigs.machineconfiguration.openshift.io",
    "controllerconfigs.machineconfiguration.openshift.io",
    "dnses.config.openshift.io",
    "etcds.operator.openshift.io",
    "featuregates.config.openshift.io",
    "imagedigestmirrorsets.config.openshift.io",
    "infrastructures.config.openshift.io",
    "ingresses.config.openshift.io",
    "kubeapiservers.operator.openshift.io",
    "kubeletconfigs.machineconfiguration.openshift.io",
    "machineconfigpools.machineconfiguration.openshift.io",
    "machineconfigs.machineconfiguration.openshift.io",
    "networks.config.openshift.io",
    "networks.operator.openshift.io",
    "nodes.config.openshift.io",
    "proxies.config.openshift.io",
    "rangeallocations.security.internal.openshift.io",
    "rolebindingrestrictions.authorization.openshift.io",
    "schedulers.config.openshift.io",
    "securitycontextconstraints.security.openshift.io",
];

#[test]
fn assembling_again_gives_the_same_bytes() {
    for version in VERSIONS.iter().flatten() {
        let (first, again) = (payload::assemble(version), version.content());
        assert_eq!(first.release, again.release);
        assert_eq!(first.manifests, again.manifests);
        assert_eq!(first.blobs, again.blobs);
    }
    assert_ne!(open("4.18").unwrap().release(), open("4.19").unwrap().release());
    assert!(open("4.17").is_none());
}

/// Independent of machine and compiler. Changing one of these changes the ids of everything built on the demo:
/// CHANGELOG says so.
#[test]
fn the_digests_are_pinned() {
    let digests = demos().iter().map(|demo| demo.release().1.to_string()).collect::<Vec<_>>();
    assert_eq!(
        digests,
        [
            "sha256:7da92966b36c46282caff1f8ce6b030900007767ac731384820cdcba088b2975",
            "sha256:1a9668c977bfb6ff6f156ea44d8805f5be02b494a455af3ef3bccdb851adb10c",
            "sha256:f55b1d7f042f3352b593edf3ea7a621ecceb728470e2407c12575dad37fa8b90",
            "sha256:fe7739cd40d68908baf30efd5b5c2237813913ffa91ba0bc523aa3ea5f4fc8fb",
            "sha256:4957961f89faa905edf509a5c1a976bb8000a5ab55df31256275e45a5bae6a29",
            "sha256:d613588fff151e08269cd774753d2573108c73604667f54b4d943d1541cbf1ae",
            "sha256:be1498ba9aa65c6349dd2b366113e50c5ff40572f342ab090182f3868c1e17ed",
        ]
    );
}

/// A list for the release and for every component, with the same content for each architecture.
#[test]
fn a_multi_architecture_release_is_lists_of_the_same_content() {
    let (plain, multi) = (open("4.22").unwrap(), open("4.22-multi").unwrap());
    let layers = |demo: &Demo, name: &ImageName, digest: &Sha256, architecture: &str| {
        crate::engine::registry::image(demo, name, digest, architecture).map(|image| image.layers)
    };
    let (single, several) = (plain.images(), multi.images());
    assert_eq!(single.len(), several.len());
    for ((component, name, digest), (_, own, list)) in several.iter().zip(&single) {
        let [amd64, arm64] =
            layer::ARCHITECTURES.map(|architecture| layers(&multi, name, digest, architecture).unwrap());
        assert_eq!(amd64, arm64, "{component}");
        let same = layers(&plain, own, list, layer::ARCHITECTURE).unwrap() == amd64;
        assert_eq!(same, component != "release", "{component}: the payload names the lists");
        assert!(layers(&multi, name, digest, "s390x").is_err());
    }
    let metadata = &component(&multi, "release")["release-manifests/release-metadata"];
    let metadata: Value = serde_json::from_slice(metadata).unwrap();
    assert_eq!(metadata["metadata"]["release.openshift.io/architecture"], "multi");
    assert_eq!(metadata["version"], "4.22.0-demo");
    let digest = open("4.18-multi").unwrap().release().1.to_string();
    assert_eq!(digest, "sha256:4f600a6a882b0a92df506403e9ca6d3c9fb4086330a1fcd709d09badd722a7df");
}

#[test]
fn every_blob_is_what_its_digest_says() {
    for demo in demos() {
        for (component, name, digest) in demo.images() {
            let manifest =
                crate::engine::registry::image(&demo, &name, &digest, layer::ARCHITECTURE).unwrap();
            assert_eq!(Sha256::of(&manifest.bytes), digest, "{component}");
            assert_eq!(demo.resolve(&name).unwrap(), digest);
            for blob in manifest.layers.iter().chain([&manifest.config]) {
                let mut bytes = Vec::new();
                demo.blob(&name, blob).unwrap().read_to_end(&mut bytes).unwrap();
                assert_eq!((Sha256::of(&bytes), bytes.len() as u64), (blob.digest, blob.size), "{component}");
            }
        }
    }
}

#[test]
fn a_component_without_content_says_so() {
    let demo = open("4.18").unwrap();
    let etcd = demo.components().into_iter().find(|(name, _)| name == "etcd").unwrap().1;
    let digest = demo.resolve(&etcd).unwrap();
    let error = demo.manifest(&etcd, &digest).unwrap_err().to_string();
    assert!(
        error.ends_with("not found (the demo release has no content for this component, etcd)"),
        "{error}"
    );
    let other = Sha256::of(b"something else");
    let error = demo.manifest(&etcd.at(other), &other).unwrap_err().to_string();
    assert!(error.ends_with("run `tinderbox lock --update release=demo:4.18`)"), "{error}");
}

/// Stores what it receives, like a registry.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Target for Memory {
    fn has_blob(&self, _: &ImageName, blob: &Descriptor) -> Result<bool> {
        Ok(self.0.lock().unwrap().contains_key(&blob.digest.to_string()))
    }

    fn put_blob(&self, _: &ImageName, blob: &Descriptor, bytes: &mut dyn Read) -> Result<()> {
        let mut kept = Vec::new();
        bytes.read_to_end(&mut kept).unwrap();
        let before = self.0.lock().unwrap().insert(blob.digest.to_string(), kept);
        assert!(before.is_none(), "copied twice");
        Ok(())
    }

    fn put_manifest(&self, _: &ImageName, _: &MediaType, bytes: &[u8], tag: Option<&str>) -> Result<()> {
        self.0.lock().unwrap().insert(tag.unwrap().to_owned(), bytes.to_vec());
        Ok(())
    }
}

#[test]
fn a_copy_has_everything_once() {
    let (memory, demo) = (Memory::default(), open("4.19").unwrap());
    demo.copy_to(&memory).unwrap();
    let kept = memory.0.lock().unwrap();
    let content = demo.content();
    assert_eq!(kept.len(), content.blobs.len() + content.manifests.len());
    assert_eq!(Sha256::of(&kept["4.19.0-demo"]), demo.release().1);
}

#[test]
fn image_references_name_every_component_by_digest() {
    for demo in demos() {
        let files = component(&demo, "release");
        let references: Value = serde_json::from_slice(&files["release-manifests/image-references"]).unwrap();
        assert_eq!(references["kind"], "ImageStream");
        assert_eq!(references["metadata"]["name"], format!("{}.0-demo", demo.version()));
        let tags: BTreeMap<_, _> = references["spec"]["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tag| (tag["name"].as_str().unwrap(), tag["from"]["name"].as_str().unwrap()))
            .collect();
        for needed in NEEDED {
            let name: ImageName = tags[needed].parse().unwrap();
            assert!(matches!(name.reference, Reference::Digest(_)), "{needed}");
        }
        let listed: Vec<_> =
            tags.iter().map(|(name, image)| ((*name).to_owned(), image.parse().unwrap())).collect();
        assert_eq!(listed, demo.components());
        let metadata: Value = serde_json::from_slice(&files["release-manifests/release-metadata"]).unwrap();
        assert_eq!(metadata["kind"], "cincinnati-metadata-v0");
        assert!(metadata["metadata"]["description"].as_str().unwrap().contains("demo"));
    }
}

#[test]
fn no_marker_is_left_in_a_manifest() {
    for demo in demos() {
        for (path, bytes) in component(&demo, "release") {
            let text = String::from_utf8(bytes).unwrap();
            assert!(!text.contains("demo.image/") && !text.contains("0.0.1-snapshot"), "{path}");
        }
    }
}

fn get<'a>(node: &'a YamlNode, path: &[&str]) -> Option<&'a YamlNode> {
    path.iter().try_fold(node, |node, key| match &node.data {
        YamlData::Map(entries) => entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.value),
        YamlData::List(items) => items.get(key.parse::<usize>().ok()?),
        YamlData::Scalar { .. } => None,
    })
}

fn text<'a>(node: &'a YamlNode, path: &[&str]) -> &'a str {
    match get(node, path).map(|node| &node.data) {
        Some(YamlData::Scalar { text, .. }) => text,
        _ => "",
    }
}

/// Every YAML document of a release: payload, the release's own manifests, and those of cluster-config-api.
fn objects(demo: &Demo) -> Vec<(String, YamlNode)> {
    let mut all = Vec::new();
    for (path, bytes) in component(demo, "release").into_iter().chain(component(demo, "cluster-config-api")) {
        if !path.ends_with(".yaml") {
            continue;
        }
        let source = Source { name: &path, text: std::str::from_utf8(&bytes).unwrap() };
        let mut problems = Problems::default();
        let found = documents(source, &mut problems);
        assert!(problems.0.is_empty(), "{problems}");
        all.extend(found.into_iter().map(|node| (path.clone(), node)));
    }
    all
}

/// Whether it is of 4.22 or later: with OKD's feature set, and with major versions.
fn later(demo: &Demo) -> bool {
    !["4.18", "4.19", "4.20", "4.21"].contains(&demo.version())
}

#[test]
fn every_definition_has_what_a_server_wants() {
    for demo in demos() {
        let mut names = BTreeSet::new();
        for (path, crd) in objects(&demo) {
            if text(&crd, &["kind"]) != "CustomResourceDefinition" {
                continue;
            }
            assert_eq!(text(&crd, &["apiVersion"]), "apiextensions.k8s.io/v1", "{path}");
            let (group, plural) = (text(&crd, &["spec", "group"]), text(&crd, &["spec", "names", "plural"]));
            assert_eq!(text(&crd, &["metadata", "name"]), format!("{plural}.{group}"), "{path}");
            let scope = text(&crd, &["spec", "scope"]);
            assert!(["Cluster", "Namespaced"].contains(&scope), "{path}");
            let version = get(&crd, &["spec", "versions", "0"]).unwrap();
            assert_eq!((text(version, &["served"]), text(version, &["storage"])), ("true", "true"), "{path}");
            assert_eq!(text(version, &["schema", "openAPIV3Schema", "type"]), "object", "{path}");
            let profile =
                ["metadata", "annotations", "include.release.openshift.io/self-managed-high-availability"];
            assert_eq!(text(&crd, &profile), "true", "{path}");
            names.insert(text(&crd, &["metadata", "name"]).to_owned());
        }
        for wanted in CRDS {
            assert!(names.contains(wanted), "{} has no {wanted}", demo.version());
        }
    }
}

/// One variant for every feature set, or one for all; the file name says which. What only previews have lists them.
#[test]
fn definitions_have_one_variant_for_each_feature_set() {
    for demo in demos() {
        let mut sets =
            BTreeSet::from(["CustomNoUpgrade", "Default", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade"]);
        if later(&demo) {
            sets.insert("OKD");
        }
        let objects = objects(&demo);
        let mut variants: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (path, crd) in &objects {
            if text(crd, &["kind"]) == "CustomResourceDefinition" {
                let set = text(crd, &["metadata", "annotations", "release.openshift.io/feature-set"]);
                if set.contains(',') {
                    assert_eq!(set, "CustomNoUpgrade,DevPreviewNoUpgrade,TechPreviewNoUpgrade", "{path}");
                    continue;
                }
                assert!(set.is_empty() || path.ends_with(&format!("-{set}.crd.yaml")), "{path}");
                variants.entry(text(crd, &["metadata", "name"])).or_default().insert(set);
            }
        }
        assert!(
            variants.values().all(|found| *found == sets || *found == BTreeSet::from([""])),
            "{variants:?}"
        );
        assert!(variants.values().filter(|found| **found == sets).count() >= 6);
    }
}

#[test]
fn feature_gates_are_as_unfinished_as_real_ones() {
    for demo in demos() {
        let gates: Vec<_> = objects(&demo)
            .into_iter()
            .filter(|(path, node)| {
                path.starts_with("release-manifests/") && text(node, &["kind"]) == "FeatureGate"
            })
            .collect();
        // One without gates, which the CVO creates if none exists; one for each set and profile.
        let (empty, gates): (Vec<_>, Vec<_>) =
            gates.into_iter().partition(|(path, _)| path.ends_with("_featuregate.cr.yaml"));
        assert!(empty.iter().all(|(_, gate)| get(gate, &["status"]).is_none()));
        assert_eq!((empty.len(), gates.len()), (1, if later(&demo) { 8 } else { 6 }));
        for (path, gate) in gates {
            assert!(path.starts_with("release-manifests/0000_50_cluster-config-api_featureGate-"), "{path}");
            let status = get(&gate, &["status", "featureGates", "0"]).unwrap();
            assert!(get(status, &["version"]).is_some_and(|version| !version.is_null()), "{path}");
            assert_eq!(text(status, &["version"]), "");
            let majors = text(&gate, &["metadata", "annotations", "release.openshift.io/major-version"]);
            assert_eq!(
                (majors.is_empty(), path.contains("featureGate-4-10-")),
                (!later(&demo), later(&demo))
            );
            for list in ["enabled", "disabled"] {
                assert!(!text(status, &[list, "0", "name"]).is_empty(), "{path}");
            }
        }
    }
}

#[test]
fn versions_differ_the_way_real_ones_do() {
    let [first, second] = [open("4.18").unwrap(), open("4.19").unwrap()];
    let names = |demo: &Demo| demo.components().into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
    let (old, new) = (names(&first), names(&second));
    assert_eq!(
        (old.difference(&new).count(), new.difference(&old).count()),
        (1, 1),
        "one component is renamed"
    );
    let release = |demo: &Demo| component(demo, "release");
    let changed = |part: &str| {
        let (old, new) = (release(&first), release(&second));
        old.iter()
            .any(|(path, bytes)| path.contains(part) && new.get(path).is_some_and(|other| other != bytes))
    };
    for part in [
        "infrastructures",
        "nodes-Default",
        "featureGate-SelfManagedHA-Default",
        "network-operator_03_deployment",
    ] {
        assert!(changed(part), "{part} is the same in both");
    }
    let templates = |demo: &Demo| component(demo, "machine-config-operator");
    assert_ne!(templates(&first), templates(&second));
}

#[test]
fn everything_says_that_it_is_a_demo() {
    for demo in demos() {
        for (component, name, digest) in demo.images() {
            let manifest =
                crate::engine::registry::image(&demo, &name, &digest, layer::ARCHITECTURE).unwrap();
            let mut config = Vec::new();
            demo.blob(&name, &manifest.config).unwrap().read_to_end(&mut config).unwrap();
            let config: Value = serde_json::from_slice(&config).unwrap();
            let labels = &config["config"]["Labels"];
            assert!(labels["description"].as_str().unwrap().contains("demo"), "{component}");
            assert!(name.registry.contains("demo"));
            if component == "release" {
                assert_eq!(labels["io.openshift.release"], format!("{}.0-demo", demo.version()));
                let base =
                    demo.images().into_iter().find(|(name, ..)| name == "cluster-version-operator").unwrap();
                assert_eq!(labels["io.openshift.release.base-image-digest"], base.2.to_string());
            }
        }
    }
}
