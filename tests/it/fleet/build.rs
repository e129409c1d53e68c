//! `fleet build`, and what becomes of it.

use std::fs;

use crate::harness::Workspace;
use crate::harness::documents::assert_document;

use super::{fleet, result, site, states};

/// The heart of it: a site of a fleet is the cluster that its exported directory is, id by id; what sites share is built once; and
/// every verb works on one of them.
#[test]
fn a_site_is_the_cluster_of_its_exported_directory() {
    let workspace = fleet();
    let report = workspace.json(&["fleet", "build", "--names"]);
    assert_eq!(states(&report), ["berlin built", "lisbon built", "oslo built"]);
    // What they share was built for one of them alone.
    let builders: Vec<&str> = report["sites"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|site| site["names"].as_array().unwrap().iter().any(|name| name == "release/crds"))
        .map(|site| site["site"].as_str().unwrap())
        .collect();
    assert_eq!(builders.len(), 1, "{builders:?}");
    for name in ["berlin", "oslo"] {
        let to = workspace.temp().join(name);
        let output = workspace.output(&["fleet", "export", name, to.to_str().unwrap()]);
        assert!(output.status.success(), "{}", workspace.text(&output));
        assert!(fs::read(to.join("cluster.seed")).unwrap() != [7; 32], "the fleet's own seed is handed out");
        // In the same store nothing is left to build, and in an empty one the same bytes come out.
        let build = workspace.output(&["-C", to.to_str().unwrap(), "build", "--json"]);
        let build: serde_json::Value = serde_json::from_slice(&build.stdout).unwrap();
        assert_eq!(build["built"], serde_json::json!([]), "{name}");
        assert_eq!(build["targets"][0]["object"], site(&report, name)["object"], "{name}");
        assert_eq!(fs::read_link(to.join("result")).unwrap(), result(&workspace, name));
    }
    let alone = Workspace::empty();
    let to = workspace.temp().join("berlin");
    let build = alone.json(&["-C", to.to_str().unwrap(), "build", "--no-link"]);
    assert_eq!(build["targets"][0]["object"], site(&report, "berlin")["object"]);

    let expiry = workspace.json(&["--site", "berlin", "expiry"]);
    let of_fleet = workspace.json(&["fleet", "expiry"]);
    assert_eq!(site(&of_fleet, "berlin")["boots_until"], expiry["boots_until"]);
    assert_eq!(of_fleet["unknown"], serde_json::json!([]));
    let shown = workspace.run(&["--site", "berlin", "show", "manifest/cluster-dns-02-config"]);
    assert!(shown.contains("baseDomain: berlin.edge.example.com"), "{shown}");
    let why = workspace.run(&["--site", "berlin", "why", "infra/network"]);
    assert!(why.ends_with("[exit 0]\n"), "{why}");
    workspace.assert_sound();
}

/// Nothing to do is a look at a site, an edit reaches the sites that it is about, and what is undone is found again.
#[test]
fn only_what_changed_is_built() {
    let workspace = fleet();
    let first = workspace.json(&["fleet", "build", "infra", "manifest"]);
    assert_eq!(first["totals"]["built"], 3);
    let first = workspace.json(&["fleet", "build", "--only", "berlin", "--only", "lisbon"]);
    assert_eq!(states(&first), ["berlin built", "lisbon built"]);
    let again = workspace.json(&["fleet", "build", "--group", "single-node"]);
    assert_eq!(states(&again), ["berlin unchanged", "lisbon unchanged"]);
    assert_eq!(site(&again, "berlin")["object"], site(&first, "berlin")["object"]);

    workspace.edit("sites.csv", "192.168.131.10", "192.168.131.77");
    let why = workspace.run(&["fleet", "why", "infra", "--group", "single-node"]);
    let found: Vec<&str> =
        why.lines().filter(|line| !line.starts_with("  ") || line.contains("config field")).collect();
    insta::assert_snapshot!(found.join("\n"), @r"
    1 site: lisbon
    infra changed since the last build
    root cause
      config field api.vips.0 (sites.csv:3: ip): 192.168.131.10 → 192.168.131.77
    cascade
    what follows
    1 site unchanged
    [exit 0]
    ");
    let edited = workspace.json(&["fleet", "build", "--group", "single-node", "--names"]);
    assert_eq!(states(&edited), ["berlin unchanged", "lisbon built"]);
    assert_eq!(site(&edited, "lisbon")["generation"], 2);
    workspace.edit("sites.csv", "192.168.131.77", "192.168.131.10");
    workspace.edit("fleet.yaml", "hostPrefix: 23", "hostPrefix: 24");
    let why = workspace.json(&["fleet", "why", "manifest", "--group", "single-node"]);
    // One field of a layer is one cause of both sites, at its line in fleet.yaml.
    assert_eq!(why["groups"].as_array().unwrap().len(), 1, "{why}");
    assert_eq!(why["groups"][0]["sites"], serde_json::json!(["berlin", "lisbon"]));
    let place = &why["groups"][0]["why"]["causes"][0]["places"][0];
    assert_eq!((&place["file"], &place["line"]), (&"fleet.yaml".into(), &24.into()), "{why}");
    workspace.edit("fleet.yaml", "hostPrefix: 24", "hostPrefix: 23");
    let undone = workspace.json(&["fleet", "build", "--group", "single-node"]);
    assert_eq!(undone["totals"]["derivations"], 0);
    assert_eq!(site(&undone, "lisbon")["object"], site(&first, "lisbon")["object"]);

    // What is removed behind its back is noticed, and a torn note of what was built is none.
    fs::remove_file(workspace.dir.join("results/berlin")).unwrap();
    let notes = workspace.dir.join("results/.built");
    let text = fs::read_to_string(&notes).unwrap();
    fs::write(&notes, &text[..text.len() - 30]).unwrap();
    let mended = workspace.json(&["fleet", "build", "--group", "single-node"]);
    assert_eq!(mended["totals"]["derivations"], 0);
    assert_eq!(
        result(&workspace, "berlin"),
        std::path::Path::new(site(&mended, "berlin")["path"].as_str().unwrap())
    );
    // A manifest in a layer's folder is part of what a site is built of.
    workspace.write(
        "ours/one.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: default}\n",
    );
    workspace.edit("fleet.yaml", "  single-node:\n", "  single-node:\n    manifests: ours\n");
    let added = workspace.json(&["fleet", "build", "--group", "single-node"]);
    assert_eq!(states(&added), ["berlin built", "lisbon built"]);
    workspace.edit("ours/one.yaml", "name: one", "name: two");
    let edited = workspace.json(&["fleet", "build", "--only", "berlin"]);
    assert_eq!(states(&edited), ["berlin built"]);
    // A site that is gone loses its link.
    workspace.edit("sites.csv", "lisbon,", "porto,");
    workspace.json(&["fleet", "build", "--only", "berlin"]);
    assert!(fs::symlink_metadata(workspace.dir.join("results/lisbon")).is_err());
}

/// The error of a site stops no other one; equal errors are one.
#[test]
fn trouble_of_one_site_is_none_of_another() {
    let workspace = fleet();
    workspace.edit("sites.csv", "192.168.131.10", "192.168.9.10");
    let report = workspace.output(&["fleet", "build", "manifest", "--json", "--stream"]);
    assert_eq!(report.status.code(), Some(1));
    let text = String::from_utf8(report.stdout).unwrap();
    let mut documents = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>();
    let lines: Vec<serde_json::Value> = documents.by_ref().take(3).map(Result::unwrap).collect();
    let report = documents.next().unwrap().unwrap();
    assert!(documents.next().is_none());
    let mut streamed: Vec<&str> = lines.iter().map(|line| line["site"].as_str().unwrap()).collect();
    streamed.sort_unstable();
    assert_eq!(streamed, ["berlin", "lisbon", "oslo"]);
    lines.iter().for_each(|line| assert_document(&workspace, "fleet-build-site", line));
    assert_eq!(states(&report), ["berlin built", "lisbon failed", "oslo built"]);
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(errors[0]["sites"], serde_json::json!(["lisbon"]));
    assert!(errors[0]["error"].as_str().unwrap().starts_with("sites.csv:3: ip: "), "{errors:?}");

    // An error of a derivation that several sites have is one error.
    workspace.edit("sites.csv", "192.168.9.10", "192.168.131.10");
    workspace.write("broken/x.yaml", "target: {kind: Nothing, name: nowhere}\npatch: {spec: {}}\n");
    workspace.edit("fleet.yaml", "  single-node:\n", "  single-node:\n    patches: broken\n");
    let output = workspace.output(&["fleet", "build", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(states(&report), ["berlin failed", "lisbon failed", "oslo built"]);
    assert_eq!(report["errors"].as_array().unwrap().len(), 1, "{}", report["errors"]);
    assert_eq!(report["errors"][0]["sites"], serde_json::json!(["berlin", "lisbon"]));
}

/// One release is pinned once for all sites, with one epoch; another release is added, and the seed must stay.
#[test]
fn one_lock_and_one_seed_for_all() {
    let workspace = fleet();
    workspace.json(&["fleet", "build", "infra/network"]);
    let lock = fs::read_to_string(workspace.dir.join("fleet.lock")).unwrap();
    assert_eq!(lock.matches("[pins.\"demo:4.18 amd64\".release]").count(), 1, "{lock}");
    workspace.edit("fleet.yaml", "      vips:", "      release: demo:4.19\n      vips:");
    workspace.json(&["fleet", "build", "infra/network"]);
    let both = fs::read_to_string(workspace.dir.join("fleet.lock")).unwrap();
    assert!(both.starts_with(&lock) && both.contains("[pins.\"demo:4.19 amd64\".release]"), "{both}");
    fs::write(workspace.dir.join("fleet.seed"), [8; 32]).unwrap();
    insta::assert_snapshot!(workspace.run(&["fleet", "build"]), @r"
    [stderr]
    error: the seed `[DIR]/fleet.seed` is not the one that fleet.lock was written with
    hint: its fingerprint is 6yjbctoylpih…, and the lock has kh43smy63gji…: restore that seed
    [exit 1]
    ");
    fs::remove_file(workspace.dir.join("fleet.seed")).unwrap();
    insta::assert_snapshot!(workspace.run(&["fleet", "build"]), @r"
    [stderr]
    error: the seed `[DIR]/fleet.seed` is missing
    hint: restore it from your backup, or name it with `--seed FILE`; if no site was ever installed, remove fleet.lock and build again
    [exit 1]
    ");
}

/// Directories of their own are sites too: with their own lock, seed and result.
#[test]
fn cluster_directories_are_sites() {
    let workspace = Workspace::empty();
    let source = Workspace::single_node();
    for name in ["north", "south"] {
        for file in ["install-config.yaml", "cluster.yaml", "cluster.lock"] {
            workspace.write(
                &format!("clusters/{name}/{file}"),
                &fs::read_to_string(source.dir.join(file)).unwrap(),
            );
        }
    }
    workspace.write("fleet.yaml", "sites: clusters/*\n");
    // A lock without its seed is an error of that site.
    fs::remove_file(workspace.dir.join("clusters/south/cluster.lock")).unwrap();
    let output = workspace.output(&["fleet", "build", "infra", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(states(&report), ["north failed", "south built"]);
    assert!(workspace.dir.join("clusters/south/cluster.seed").exists());
}
