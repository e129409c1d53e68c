//! A release in the real docker-registry, pushed with the real skopeo: the same ids as from the layout, and from a mirror
//! alone.

use std::process::Command;

use serde_json::Value;
use tinderbox::internals::demo;
use tinderbox::internals::registry::Directory;

use crate::harness::{Workspace, names};
use crate::registry::host::{Registry, have};

const TAG: &str = "4.18.0-demo";
const TARGETS: [&str; 3] = ["release/images", "release/crds", "release/featuregate"];

/// Derivation and object of every target.
fn ids(ws: &Workspace) -> Vec<(String, String, String)> {
    let report = ws.json(&[&["build"], &TARGETS[..]].concat());
    let text = |target: &Value, key: &str| target[key].as_str().unwrap().to_owned();
    let targets = report["targets"].as_array().unwrap();
    targets.iter().map(|target| (text(target, "name"), text(target, "drv"), text(target, "object"))).collect()
}

/// The example on a release in a registry, with credentials, CA and a mirror for the components.
fn on_registry(registry: &Registry, repository: &str, components: &str) -> Workspace {
    let ws = Workspace::on_disk().filled();
    let auth = "bWU6aHVudGVyMg=="; // me:hunter2
    let secret = format!(r#"{{"auths":{{"{}":{{"auth":"{auth}"}}}}}}"#, registry.address);
    ws.edit("install-config.yaml", r#"{"auths":{"example.invalid":{"auth":"ZGVtbzpkZW1v"}}}"#, &secret);
    let ca: String = registry.ca.lines().map(|line| format!("  {line}\n")).collect();
    let more = format!(
        "additionalTrustBundle: |\n{ca}imageDigestSources:\n- source: demo.invalid/openshift/components\n  mirrors: [{components}]\n\
         baseDomain:"
    );
    ws.edit("install-config.yaml", "baseDomain:", &more);
    ws.edit(
        "cluster.yaml",
        "release: demo:4.18",
        &format!("release: {}/{repository}:{TAG}", registry.address),
    );
    ws
}

#[test]
fn the_same_ids_from_layout_registry_and_mirror() {
    if !have("skopeo", "skopeo") {
        return;
    }
    let Some(first) = Registry::start() else { return };
    let demo = demo::open("4.18").unwrap();
    let local = Workspace::on_disk().filled();
    demo.copy_to(&Directory::create(&local.dir.join("layout")).unwrap()).unwrap();
    local.edit("cluster.yaml", "release: demo:4.18", &format!("release: oci:layout:{TAG}"));
    local.relock();
    let from_layout = ids(&local);

    // Everything that has content, with skopeo.
    let certificates = local.temp().join("certificates");
    std::fs::create_dir(&certificates).unwrap();
    std::fs::write(certificates.join("ca.crt"), &first.ca).unwrap();
    for (component, _, _) in demo.images() {
        let (tag, repository) = match component.as_ref() {
            "release" => (TAG, "openshift/release"),
            component => (component, "openshift/components"),
        };
        let (from, to) = (
            format!("oci:{}:{tag}", local.dir.join("layout").display()),
            format!("docker://{}/{repository}:{tag}", first.address),
        );
        let output = Command::new("skopeo")
            .args([
                "copy",
                "--quiet",
                "--preserve-digests",
                "--insecure-policy",
                "--dest-creds",
                "me:hunter2",
                "--dest-cert-dir",
            ])
            .arg(&certificates)
            .args([from, to])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let remote = on_registry(&first, "openshift/release", &format!("{}/openshift/components", first.address));
    remote.relock();
    assert_eq!(ids(&remote), from_layout);

    // A copy in a second registry is enough: the first one is gone.
    let Some(second) = Registry::start() else { return };
    let both = on_registry(&first, "openshift/release", &format!("{}/openshift/components", first.address));
    let auths = format!(r#"{{"auths":{{"{}":"#, first.address);
    both.edit(
        "install-config.yaml",
        &auths,
        &format!(r#"{{"auths":{{"{}":{{"auth":"bWU6aHVudGVyMg=="}},"{}":"#, second.address, first.address),
    );
    let ca: String = second.ca.lines().map(|line| format!("  {line}\n")).collect();
    both.edit(
        "install-config.yaml",
        "additionalTrustBundle: |\n",
        &format!("additionalTrustBundle: |\n{ca}"),
    );
    both.relock();
    let done = both.json(&["release", "mirror", &format!("{}/mirror/ocp", second.address)]);
    assert_eq!(
        names(&done["images"]),
        ["release", "cluster-config-api", "machine-config-operator"],
        "what a build reads, and no more"
    );
    let again = both.json(&["release", "mirror", &format!("{}/mirror/ocp", second.address)]);
    assert_eq!(again["blobs"], 0, "{again}");
    drop(first);
    let alone = on_registry(&second, "mirror/ocp", &format!("{}/mirror/ocp", second.address));
    alone.relock();
    assert_eq!(ids(&alone), from_layout);
    a_component_of_a_registry_brings_its_pull_spec(&alone, &second);
    a_preflight_finds_the_release(&alone);

    // And one in a layout.
    both.write("cluster.yaml", &std::fs::read_to_string(alone.dir.join("cluster.yaml")).unwrap());
    let layout = alone.dir.join("copy");
    alone.json(&["release", "mirror", &format!("oci:{}:copied", layout.display())]);
    drop(second);
    let offline = Workspace::on_disk().filled();
    offline.edit("cluster.yaml", "release: demo:4.18", &format!("release: oci:{}:copied", layout.display()));
    offline.relock();
    assert_eq!(ids(&offline), from_layout);
}

/// What `realize preflight` says of the registry. All addresses are loopback's, where nobody listens.
fn a_preflight_finds_the_release(ws: &Workspace) {
    for file in ["install-config.yaml", "cluster.yaml"] {
        let text = std::fs::read_to_string(ws.dir.join(file)).unwrap();
        ws.write(file, &text.replace("192.168.126.", "127.126.0."));
    }
    let before = std::fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.external_machines();
    let asked = || -> Value {
        let output = ws.output(&["realize", "preflight", "--json", "-q"]);
        assert_eq!(output.status.code(), Some(1), "nobody answers for the names: {}", ws.text(&output));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut checks = found["checks"].as_array().unwrap().iter();
        checks.find(|check| check["area"] == "registry").unwrap().clone()
    };
    let found = asked();
    assert_eq!(found["outcome"], "passed", "{found}");
    assert!(found["detail"].as_str().unwrap().contains("/mirror/ocp@sha256:"), "{found}");
    // The nodes would have the same credentials, and get nothing with wrong ones.
    ws.edit("install-config.yaml", "bWU6aHVudGVyMg==", "bWU6d3Jvbmc=");
    let found = asked();
    assert_eq!(found["outcome"], "failed", "{found}");
    assert!(found["hint"].is_string(), "{found}");
    ws.edit("install-config.yaml", "bWU6d3Jvbmc=", "bWU6aHVudGVyMg==");
    ws.write("cluster.yaml", &before);
}

/// The payload's own image under another name: nothing changes but the name, and that wherever nodes see it.
fn a_component_of_a_registry_brings_its_pull_spec(ws: &Workspace, registry: &Registry) {
    let images = ws.path_of("release/images").join("components/machine-config-operator");
    let own = std::fs::read_to_string(images).unwrap();
    let (_, digest) = own.split_once('@').unwrap();
    let other = format!("{}/mirror/ocp@{digest}", registry.address);
    let component = format!("machine-config-operator={other}");
    let only = ["--only", "release/images", "--only", "mco/rendered"];
    let output = ws.output(&[&["diff", "--json", "--component", &component], &only[..]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", ws.text(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let artifacts = found["artifacts"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap());
    assert_eq!(artifacts.collect::<Vec<_>>(), ["release/images", "mco/rendered"], "{found}");
    let text = found.to_string();
    assert!(text.contains(own.trim()) && text.contains(&other), "{text}");
    assert_eq!(found["causes"][0]["kind"], "component", "{found}");
}
