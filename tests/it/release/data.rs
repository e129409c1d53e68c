//! Real CRDs and feature gates of OpenShift, packed into releases. They are not ours, so they are not in the project:
//! TINDERBOX_TEST_DATA says where they are, and without it these tests say that they are left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::harness::{Workspace, list};
use crate::release::pack::{Pack, Release};

/// Files of a folder, in order.
fn files(folder: &Path) -> Vec<(String, String)> {
    list(folder)
        .into_iter()
        .map(|name| (name.clone(), std::fs::read_to_string(folder.join(&name)).unwrap()))
        .collect()
}

pub(crate) fn data(version: &str) -> Option<PathBuf> {
    let found = std::env::var_os("TINDERBOX_TEST_DATA")
        .map(|data| PathBuf::from(data).join("openshift-api").join(version));
    let found = found.filter(|path| path.join("crds").is_dir());
    if found.is_none() {
        eprintln!("left out: real CRDs of {version}: TINDERBOX_TEST_DATA does not name them");
    }
    found
}

/// A release that carries the real files where a real one does.
pub(crate) fn release(version: &str) -> Option<Release> {
    let data = data(version)?;
    let gates = files(&data.join("featuregates"));
    let gates = gates.into_iter().map(|(file, text)| (format!("0000_50_cluster-config-api_{file}"), text));
    Some(Release {
        version: format!("{version}.0"),
        api: files(&data.join("crds")),
        own: files(&data.join("cvo")),
        payload: gates.chain(files(&data.join("network"))).collect(),
        ..Release::default()
    })
}

/// One CRD of each name, all valid, and the feature gates of this version, for both versions.
#[test]
fn real_releases_yield_one_crd_per_name() {
    for version in ["4.18", "4.19"] {
        let Some(release) = release(version) else { return };
        let ws = Workspace::example();
        let names: BTreeSet<String> = [&release.api, &release.own, &release.payload]
            .into_iter()
            .flatten()
            .filter(|(_, text)| text.contains("kind: CustomResourceDefinition"))
            .filter_map(|(_, text)| {
                text.lines().find_map(|line| line.strip_prefix("  name: ")).map(str::to_owned)
            })
            .collect();
        release.put(&Pack::create(&ws.dir.join("layout")), "real");
        ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:real");
        ws.relock();
        ws.build(&["release/crds", "release/featuregate"]);
        let crds = ws.path_of("release/crds");
        let mut seen = BTreeSet::new();
        for file in list(&crds) {
            let text = std::fs::read_to_string(crds.join(&file)).unwrap();
            let mut problems = tinderbox::internals::hint::Problems::default();
            let source = tinderbox::internals::yaml::Source { name: &file, text: &text };
            assert_eq!(tinderbox::internals::yaml::documents(source, &mut problems).len(), 1, "{problems}");
            assert!(problems.0.is_empty(), "{problems}");
            let name = text.lines().find_map(|line| line.strip_prefix("  name: ")).unwrap();
            assert!(seen.insert(name.to_owned()), "{name} twice");
        }
        eprintln!("{version}: {} CRDs of {} names apply", seen.len(), names.len());
        assert!(seen.len() > 40 && seen.is_subset(&names));
        for needed in [
            "infrastructures.config.openshift.io",
            "networks.operator.openshift.io",
            "clusterversions.config.openshift.io",
        ] {
            assert!(seen.contains(needed), "{needed}");
        }
        let gates =
            std::fs::read_to_string(ws.path_of("release/featuregate").join("featuregate.yaml")).unwrap();
        assert!(
            gates.contains(&format!("version: \"{version}.0\""))
                || gates.contains(&format!("\"version\": \"{version}.0\"")),
            "{gates}"
        );
        assert!(!gates.contains("version: \"\"") && !gates.contains("\"version\": \"\""));
    }
}

/// Another feature set has other variants, and only those.
#[test]
fn the_feature_set_chooses_the_variant() {
    let Some(release) = release("4.18") else { return };
    let ws = Workspace::example();
    release.put(&Pack::create(&ws.dir.join("layout")), "real");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:real");
    ws.relock();
    ws.build(&["release/crds"]);
    let default = list(&ws.path_of("release/crds"));
    ws.edit("install-config.yaml", "baseDomain:", "featureSet: TechPreviewNoUpgrade\nbaseDomain:");
    ws.build(&["release/crds", "release/featuregate"]);
    let preview = list(&ws.path_of("release/crds"));
    assert!(default.iter().any(|file| file.contains("infrastructures-Default")));
    assert!(preview.iter().any(|file| file.contains("infrastructures-TechPreviewNoUpgrade")));
    assert!(!preview.iter().any(|file| file.contains("infrastructures-Default")));
}
