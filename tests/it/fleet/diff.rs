//! `fleet diff`: sites with the same change are one group, whatever their own values; nodes, waves, exit codes.

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::documents::assert_document;

use super::fleet;

/// A MachineConfig with one file.
fn motd(role: &str, text: &str) -> String {
    format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 50-{role}-motd\n  labels: \
         {{machineconfiguration.openshift.io/role: {role}}}\nspec:\n  config:\n    ignition: {{version: 3.4.0}}\n    storage:\n      \
         files:\n      - path: /etc/motd\n        mode: 420\n        contents: {{source: 'data:,{text}'}}\n"
    )
}

/// What `fleet diff --json` says, and its exit code; every document is as its schema.
fn diff(workspace: &Workspace, more: &[&str], code: i32) -> Value {
    let args = [&["fleet", "diff", "--json"], more].concat();
    let output = workspace.output(&args);
    assert_eq!(output.status.code(), Some(code), "{}", workspace.text(&output));
    let document = serde_json::from_slice(&output.stdout).unwrap();
    assert_document(workspace, "fleet-diff", &document);
    document
}

/// The sites of every change, and what happens to their nodes.
fn changes(document: &Value) -> Vec<(String, String)> {
    let words = |list: &Value| {
        let items = list.as_array().unwrap().iter();
        items.map(|one| one.as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    let pool = |one: &Value| {
        format!(
            "{} {} {} {}",
            one["pool"].as_str().unwrap(),
            one["effect"].as_str().unwrap(),
            words(&one["nodes"]),
            one["rounds"]
        )
    };
    let change = |one: &Value| {
        let pools: Vec<String> = one["rollout"].as_array().unwrap().iter().map(pool).collect();
        (words(&one["sites"]), pools.join(", "))
    };
    document["changes"].as_array().unwrap().iter().map(change).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(sites, pools)| ((*sites).to_owned(), (*pools).to_owned())).collect()
}

#[test]
fn an_edit_of_a_layer_is_one_change_of_each_topology() {
    let workspace = fleet();
    workspace.write("ours/motd.yaml", &motd("master", "one"));
    workspace.edit("fleet.yaml", "common:\n", "common:\n  manifests: ours\n");
    let new = diff(&workspace, &[], 1);
    assert_eq!((&new["counts"]["new"], &new["changes"]), (&json!(3), &json!([])));
    assert!(workspace.output(&["fleet", "build", "-q"]).status.success());
    assert_eq!(diff(&workspace, &[], 0)["counts"]["same"], 3);

    workspace.write("ours/motd.yaml", &motd("master", "two"));
    let found = diff(&workspace, &[], 1);
    let reboot = "master reboot";
    let expected = [
        ("berlin lisbon", format!("{reboot} master-0 1")),
        ("oslo", format!("{reboot} master-0 master-1 master-2 3")),
    ];
    let expected: Vec<(&str, &str)> =
        expected.iter().map(|(sites, pools)| (*sites, pools.as_str())).collect();
    assert_eq!(changes(&found), pairs(&expected));
    assert_eq!(
        found["waves"],
        json!([
            {"name": "single-node", "sites": 2, "nodes": 2, "rounds": 1},
            {"name": "compact", "sites": 1, "nodes": 3, "rounds": 3},
        ])
    );
    // What it says of a group is what `diff` says of its example.
    let one = workspace.output(&["--site", "berlin", "diff", "result", "cluster", "--format", "json"]);
    let one: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(found["changes"][0]["example"], "berlin");
    assert_eq!(found["changes"][0]["diff"]["artifacts"], one["artifacts"]);
    assert_eq!(found["changes"][0]["diff"]["summary"], one["summary"]);

    // As many as the pool allows.
    let pool = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: master}\nspec:\n  \
                maxUnavailable: 2\n  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: master}}\n  nodeSelector: \
                {matchLabels: {node-role.kubernetes.io/master: ''}}\n";
    workspace.write("ours/pool.yaml", pool);
    let found = diff(&workspace, &["--group", "compact"], 1);
    assert_eq!(changes(&found), pairs(&[("oslo", "master reboot master-0 master-1 master-2 2")]));
    // It records nothing.
    assert_eq!(workspace.json(&["--site", "oslo", "generations"]).as_array().unwrap().len(), 1);
}

#[test]
fn values_of_a_table_are_one_change_whatever_they_are() {
    let workspace = fleet();
    assert!(workspace.output(&["fleet", "build", "-q"]).status.success());
    workspace.edit("sites.csv", "192.168.130.10", "192.168.130.99");
    workspace.edit("sites.csv", "192.168.131.10", "192.168.131.77");
    let found = diff(&workspace, &[], 1);
    let of_sites: Vec<String> = changes(&found).into_iter().map(|(sites, _)| sites).collect();
    assert_eq!(of_sites, ["berlin lisbon"]);
    assert_eq!(found["changes"][0]["own"], json!(["ip"]));
    assert_eq!(found["counts"]["same"], 1);
    let cause = &found["changes"][0]["diff"]["causes"][0];
    assert_eq!(
        (&cause["places"][0]["file"], &cause["places"][0]["field"]),
        (&"sites.csv".into(), &"ip".into())
    );

    // A site that leaves, one that comes, and one that cannot be read: trouble, and still an answer.
    workspace.edit("sites.csv", "oslo,compact", "porto,compact");
    workspace.edit("sites.csv", "192.168.131.77", "192.168.9.77");
    let found = diff(&workspace, &[], 2);
    let state = |site: &str| {
        found["sites"].as_array().unwrap().iter().find(|one| one["site"] == site).unwrap()["state"].clone()
    };
    assert_eq!(["berlin", "lisbon", "porto", "oslo"].map(state), ["changed", "failed", "new", "removed"]);
    assert_eq!(found["errors"][0]["sites"], json!(["lisbon"]));
    let text = workspace.run(&["fleet", "diff", "--summary"]);
    assert!(text.contains("no longer in the fleet: oslo\n") && text.ends_with("[exit 2]\n"), "{text}");
}

/// The sites need not be built: both sides are.
#[test]
fn another_release_is_one_change_of_all_alike_sites() {
    let workspace = fleet();
    let args = ["--release", "demo:4.19", "--group", "single-node", "--target", "manifest"];
    let found = diff(&workspace, &args, 1);
    let of_sites: Vec<String> = changes(&found).into_iter().map(|(sites, _)| sites).collect();
    assert_eq!(of_sites, ["berlin lisbon"]);
    assert_eq!((&found["old"], &found["new"]), (&"as configured".into(), &"demo:4.19".into()));
    // A line for every site comes before the document.
    let output = workspace.output(&[&["fleet", "diff", "--json", "--stream"], &args[..]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let documents: Vec<Value> =
        serde_json::Deserializer::from_str(&text).into_iter::<Value>().map(Result::unwrap).collect();
    let [lines @ .., whole] = documents.as_slice() else { panic!("{text}") };
    assert_eq!(whole["shape"], "tinderbox-fleet-diff/1");
    let mut streamed: Vec<&str> = lines.iter().map(|line| line["site"].as_str().unwrap()).collect();
    streamed.sort_unstable();
    assert_eq!(streamed, ["berlin", "lisbon"]);
    lines.iter().for_each(|line| assert_document(&workspace, "fleet-diff-site", line));
    let markdown = workspace.run(&[
        "fleet",
        "diff",
        "--format",
        "markdown",
        "--release",
        "demo:4.19",
        "--only",
        "berlin",
    ]);
    assert!(markdown.contains("\n## change 1: 1 site (berlin)\n"), "{markdown}");
    let both = workspace.run(&["fleet", "diff", "--component", "a=b", "--release", "demo:4.19"]);
    assert!(both.ends_with("[exit 2]\n"), "{both}");
}

/// New dates for some sites, then for all: the others stay as they were built, and every key stays.
#[test]
fn some_sites_are_renewed_and_then_all() {
    let workspace = fleet();
    assert!(workspace.output(&["fleet", "renew"]).status.code() == Some(2), "there is no lock yet");
    let args = ["fleet", "build", "--group", "single-node"];
    workspace.write("fleet.lock", "version = 1\nepoch = \"2026-11-01T00:00:00Z\"\n");
    assert_eq!(workspace.json(&args)["totals"]["built"], 2);
    let key =
        |site: &str| std::fs::read(workspace.dir.join(format!("results/{site}/pki/admin.key"))).unwrap();
    let keys = ["berlin", "lisbon"].map(key);
    let renewed = workspace.json(&["fleet", "renew", "--only", "lisbon"]);
    assert_eq!(renewed["sites"], json!(["lisbon"]));
    let found = diff(&workspace, &["--group", "single-node"], 1);
    assert_eq!(changes(&found)[0].0, "lisbon");
    assert_eq!(found["changes"][0]["diff"]["causes"][0]["kind"], "epoch");
    let built = workspace.json(&args);
    assert_eq!(super::states(&built), ["berlin unchanged", "lisbon built"]);
    let until = |site: &str| super::site(&workspace.json(&["fleet", "expiry"]), site)["boots_until"].clone();
    assert_ne!(until("berlin"), until("lisbon"));
    assert_eq!(["berlin", "lisbon"].map(key), keys);
    workspace.json(&["fleet", "renew"]);
    assert_eq!(super::states(&workspace.json(&args)), ["berlin built", "lisbon built"]);
    assert_eq!(until("berlin"), until("lisbon"));
}
