//! Provenance and SBOMs of what was pushed, judged by cosign and by spdx-tools.

use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
use serde_json::Value;

use super::sealed::names_stay_at_home;
use super::{configure, pusher, secrets_stay_at_home};
use crate::harness::{Workspace, left_out, names};
use crate::registry::host::Registry;

/// cosign on a registry, without a transparency log.
struct Cosign<'a> {
    workspace: &'a Workspace,
}

impl Cosign<'_> {
    /// None, and a word about it, without cosign.
    fn new(workspace: &Workspace) -> Option<Cosign<'_>> {
        let there =
            Command::new("cosign").arg("version").output().is_ok_and(|output| output.status.success());
        if !there {
            left_out("attestations", "cosign 2, of trixie's cosign (.ci/newer-parts)");
        }
        there.then_some(Cosign { workspace })
    }

    fn verify(&self, key: &Path, kind: &str, image: &str) -> Output {
        let home = self.workspace.temp();
        let ca = home.join(".config/tinderbox/ca.crt");
        Command::new("cosign")
            .args(["verify-attestation", "--insecure-ignore-tlog", "--type", kind, "--key"])
            .arg(key)
            .arg("--registry-cacert")
            .arg(ca)
            .args(["--registry-username", "me", "--registry-password", "hunter2", image])
            .env("HOME", &home)
            .output()
            .unwrap()
    }

    /// What it verified: the predicate.
    fn predicate(&self, key: &Path, kind: &str, image: &str) -> Value {
        let output = self.verify(key, kind, image);
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stderr));
        let envelope: Value = serde_json::from_slice(&output.stdout).unwrap();
        let payload = envelope["payload"].as_str().unwrap();
        let payload = base64::engine::general_purpose::STANDARD.decode(payload).unwrap();
        let statement: Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
        statement["predicate"].clone()
    }
}

/// The public half of a workspace's key, as cosign reads it.
fn public_key(workspace: &Workspace) -> std::path::PathBuf {
    let shown = workspace.output(&["key", "show", "--pem"]);
    let path = workspace.temp().join("builder.pub");
    std::fs::write(&path, shown.stdout).unwrap();
    path
}

#[test]
fn cosign_verifies_provenance_and_sbom() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (from, _, pushed) = pusher(&registry, &[]);
    let attested = from.json(&["attest"]);
    let report = &attested[0];
    assert_eq!((&report["new"], &report["parts"]), (&true.into(), &pushed[0]["entries"]), "{report}");
    assert_eq!(report["secrets"], pushed[0]["kept_back"]["secret"]);
    assert_eq!(from.json(&["attest"])[0]["new"], false, "the same again moves nothing");
    secrets_stay_at_home(&from, &registry);
    names_stay_at_home(&from, &registry);

    let Some(cosign) = Cosign::new(&from) else { return };
    let (image, key) = (report["image"].as_str().unwrap(), public_key(&from));
    let provenance = cosign.predicate(&key, "slsaprovenance1", image);
    assert_eq!(provenance["buildDefinition"]["externalParameters"]["targets"][0], "cluster");
    let derivations = provenance["buildDefinition"]["internalParameters"]["derivations"].as_object().unwrap();
    assert_eq!(derivations.len() as u64, pushed[0]["entries"].as_u64().unwrap());
    assert!(derivations["infra/network"]["builder"].as_str().unwrap().contains('@'));
    let release = &provenance["buildDefinition"]["resolvedDependencies"][0];
    assert_eq!(release["name"], "release");
    let sbom = cosign.predicate(&key, "spdxjson", image);
    let packages = names_of(&sbom["packages"], "name");
    assert!(
        packages.contains(&"infra/network".to_owned()) && packages.contains(&"etcd".to_owned()),
        "{packages:?}"
    );
    judge(&from, &sbom);

    // Another key, another image: nothing.
    let other = Workspace::example();
    super::generate(&other);
    let wrong = cosign.verify(&public_key(&other), "slsaprovenance1", image);
    assert!(!wrong.status.success(), "somebody else signed that");
    from.build(&["infra"]);
    let bare = from.json(&["push", "infra"]);
    assert_eq!(bare[0]["new"], 0);
    let said = from.run(&["attest", "infra/network"]);
    assert!(said.contains("this key has not pushed this closure") && said.contains("[exit 1]"), "{said}");
    // What is pruned takes its attestations along.
    from.json(&["attest", "infra"]);
    let pruned = &from.json(&["cache", "prune", "--keep-closures", "0"])[0];
    assert_eq!(pruned["closures"], 2);
    assert!(!cosign.verify(&key, "slsaprovenance1", image).status.success());
    let left = list_tags(&registry);
    assert!(left.is_empty(), "{left:?}");
}

/// Attestations that others attached stay.
#[test]
fn somebody_elses_attestation_stays() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (from, _, _) = pusher(&registry, &["infra/network"]);
    let attested = from.json(&["attest", "infra/network"]);
    let image = attested[0]["image"].as_str().unwrap();
    let Some(cosign) = Cosign::new(&from) else { return };
    let home = from.temp();
    std::fs::write(home.join("predicate.json"), "{\"reviewed\": true}").unwrap();
    let run = |args: &[&str]| {
        let output = Command::new("cosign")
            .args(args)
            .current_dir(&home)
            .env("HOME", &home)
            .env("COSIGN_PASSWORD", "")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["generate-key-pair"]);
    let access = [
        "--registry-cacert",
        ".config/tinderbox/ca.crt",
        "--registry-username",
        "me",
        "--registry-password",
        "hunter2",
    ];
    let attest = [
        "attest",
        "--key",
        "cosign.key",
        "--tlog-upload=false",
        "--yes",
        "--predicate",
        "predicate.json",
        "--type",
        "custom",
    ];
    run(&[&attest[..], &access, &[image]].concat());
    // Again, after what is ours is gone.
    let other = Workspace::example();
    super::generate(&other);
    assert_eq!(from.json(&["attest", "infra/network"])[0]["new"], false, "ours is there already");
    for (key, kind) in [(public_key(&from), "spdxjson"), (home.join("cosign.pub"), "custom")] {
        assert!(cosign.verify(&key, kind, image).status.success(), "{kind}");
    }
    configure(&from, &registry, &[]);
}

fn names_of(list: &Value, field: &str) -> Vec<String> {
    names(&list.as_array().unwrap().iter().map(|one| one[field].clone()).collect())
}

fn list_tags(registry: &Registry) -> Vec<String> {
    let tags = registry
        .data()
        .join(format!("docker/registry/v2/repositories/{}/_manifests/tags", super::REPOSITORY));
    let entries = std::fs::read_dir(tags).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// SPDX's own rules, as far as they are about what we write; and spdx-tools where it is installed.
fn judge(workspace: &Workspace, sbom: &Value) {
    assert_eq!((&sbom["spdxVersion"], &sbom["dataLicense"]), (&"SPDX-2.3".into(), &"CC0-1.0".into()));
    let mut ids = names_of(&sbom["packages"], "SPDXID");
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id stands twice");
    let well_formed = |id: &String| {
        id.strip_prefix("SPDXRef-")
            .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b)))
    };
    assert!(ids.iter().all(well_formed), "{ids:?}");
    for relationship in sbom["relationships"].as_array().unwrap() {
        for end in ["spdxElementId", "relatedSpdxElement"] {
            let id = relationship[end].as_str().unwrap().to_owned();
            assert!(id == "SPDXRef-DOCUMENT" || ids.contains(&id), "{relationship}");
        }
    }
    let file = workspace.temp().join("sbom.spdx.json");
    std::fs::write(&file, sbom.to_string()).unwrap();
    // From PyPI, which CI does without.
    if let Ok(output) = Command::new("pyspdxtools").arg("-i").arg(&file).output() {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
}
