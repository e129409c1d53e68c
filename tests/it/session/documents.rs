//! `--json`: every verb prints exactly one document, and each is as its schema says; an error is a document too.

use std::collections::BTreeSet;
use std::fs;

use age::secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::harness::documents::judge_all;
use crate::harness::install_dir::InstallDir;
use crate::harness::{Workspace, names, set_mode};

/// Documents that need more than the demo: tests of realize (tests/it/host/realize), of renders (tests/it/parity) and of
/// drift (tests/it/drift.rs), of caches (tests/it/cache/host.rs), and of streams (tests/it/fleet) judge them.
const ELSEWHERE: [&str; 19] = [
    "attest",
    "cache prune",
    "diff hand-over",
    "diff static-pod",
    "drift",
    "fleet build site",
    "fleet diff site",
    "pull",
    "push",
    "realize apply",
    "realize approve",
    "realize destroy",
    "realize gather",
    "realize logs",
    "realize plan",
    "realize preflight",
    "realize remove",
    "realize ssh",
    "realize status",
];

/// A session that runs every verb; the schema that each document has, and the exit code.
const SESSION: &[(&str, &[&str], i32)] = &[
    ("init", &["init", "fresh"], 0),
    ("init", &["init", "other", "--from", "install-config.yaml"], 0),
    ("lock", &["lock"], 0),
    ("build", &["build", "--dry-run"], 0),
    ("build", &["build"], 0),
    ("build", &["build", "--check", "infra"], 0),
    ("build", &["build", "-v", "infra"], 0),
    ("targets", &["targets", "pki"], 0),
    ("check", &["check"], 0),
    ("check list", &["check", "--list"], 0),
    ("why", &["why", "cluster"], 0),
    ("challenge", &["challenge", "infra/network", "--rebuild"], 0),
    ("affects", &["affects", "nodes.worker-0.ip"], 0),
    ("blame", &["blame", "ignition/master-0:/etc/hostname"], 0),
    ("blame", &["blame", "cluster:manifests/cluster-dns-02-config.yml"], 0),
    ("graph", &["graph"], 0),
    ("graph", &["graph", "infra", "--format", "dot"], 0),
    ("graph trust", &["graph", "--trust"], 0),
    ("show", &["show", "cluster"], 0),
    ("show", &["show", "ignition/master-0"], 0),
    ("show", &["show", "ignition/master-0:/etc/hostname"], 0),
    ("show folder", &["show", "pki"], 0),
    ("show explain", &["show", "static-pod/kube-apiserver", "--explain", "etcd-servers"], 0),
    ("diff", &["diff", "./cluster.yaml", "./install-config.yaml"], 1),
    ("report", &["report"], 0),
    ("guide", &["guide"], 0),
    ("guide", &["guide", "identity"], 0),
    ("export", &["export", "out"], 0),
    ("generations", &["generations"], 0),
    ("rollback", &["rollback", "1"], 0),
    ("expiry", &["expiry"], 0),
    ("renew", &["renew", "--dry-run"], 0),
    ("renew", &["renew", "--rekey", "admin"], 0),
    ("release info", &["release", "info"], 0),
    ("release mirror", &["release", "mirror", "oci:copy"], 0),
    ("release try", &["release", "try", "demo:4.19"], 0),
    ("store ls", &["store", "ls"], 0),
    ("store du", &["store", "du"], 0),
    ("store add", &["store", "add", "cluster.yaml"], 0),
    ("store verify", &["store", "verify"], 0),
    ("store scan", &["store", "scan"], 0),
    ("store repair", &["store", "repair"], 0),
    ("store gc", &["store", "gc", "--dry-run"], 0),
    ("store gc", &["store", "gc"], 0),
    ("schema", &["schema"], 0),
    ("schema", &["schema", "store", "gc"], 0),
    ("schema list", &["schema", "--list"], 0),
    ("completions", &["completions", "bash"], 0),
    ("fleet init", &["fleet", "init", "edge"], 0),
    ("fleet build", &["-C", "edge", "fleet", "build", "infra/network"], 0),
    ("fleet check", &["-C", "edge", "fleet", "check", "--only", "berlin"], 0),
    ("fleet status", &["-C", "edge", "fleet", "status"], 0),
    ("fleet why", &["-C", "edge", "fleet", "why", "infra/network"], 0),
    ("fleet expiry", &["-C", "edge", "fleet", "expiry"], 0),
    ("fleet diff", &["-C", "edge", "fleet", "diff", "--only", "berlin"], 1),
    ("fleet renew", &["-C", "edge", "fleet", "renew", "--dry-run"], 0),
    ("fleet export", &["-C", "edge", "fleet", "export", "oslo", "oslo"], 0),
    ("written", &["targets", "-o", "targets.json"], 0),
    ("error", &["build", "nothing"], 2),
    ("error", &["build", "--no-such-flag"], 2),
    ("error", &["bild"], 2),
    ("error", &["store", "path", "zzzz"], 2),
    ("error", &["diff", "gen:9", "gen:10"], 2),
    ("error", &["-C", "/nowhere", "build"], 1),
    ("seed decrypt", &["seed", "decrypt"], 0),
    ("key generate", &["key", "generate"], 0),
    ("key show", &["key", "show"], 0),
];

#[test]
fn every_verb_prints_what_its_schema_says() {
    let ws = Workspace::example().prebuilt();
    // A recipe of the user's, and a warning about it.
    ws.write("recipes/10-demo/unused.j2", "");
    let mut documents: Vec<(String, Value)> = Vec::new();
    let mut say = |name: &str, args: &[&str], code: i32| -> Value {
        let output = ws.output(&[args, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", ws.text(&output));
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {}", ws.text(&output)));
        documents.push((name.to_owned(), document.clone()));
        document
    };
    for (name, args, code) in SESSION {
        say(name, args, *code);
    }
    InstallDir::write(&ws.dir.join("theirs"), "v4.18.30");
    say("init import", &["init", "migrated", "--from", "theirs"], 0);
    let object = names(&json!([say("show", &["show", "infra/haproxy"], 0)["object"]])).remove(0);
    say("store path", &["store", "path", &object], 0);
    let identity = age::x25519::Identity::generate();
    let (file, recipient) = (ws.temp().join("identity"), identity.to_public().to_string());
    fs::write(&file, identity.to_string().expose_secret()).unwrap();
    set_mode(&file, 0o600);
    let file = file.to_str().unwrap();
    say("seed encrypt", &["seed", "encrypt", "-r", &recipient, "--identity", file], 0);
    say("seed rotate-recipients", &["seed", "rotate-recipients", "-r", &recipient, "--identity", file], 0);
    fs::remove_file(ws.dir.join("cluster.seed.age")).unwrap();
    say("seed new", &["seed", "new", "--yes"], 0);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.300");
    assert!(say("error", &["build"], 1)["problems"].is_array());

    let listed: BTreeSet<String> =
        ws.json(&["schema", "--list"]).as_array().unwrap().iter().map(|one| text(&one["name"])).collect();
    let seen = documents.iter().map(|(name, _)| name.as_str()).chain(ELSEWHERE).chain(["cluster", "fleet"]);
    assert_eq!(listed, seen.map(str::to_owned).collect());
    let judged: Vec<_> = documents
        .into_iter()
        .map(|(name, document)| {
            let schema = ws.json(&[&["schema"], &name.split(' ').collect::<Vec<_>>()[..]].concat());
            (name, schema, document)
        })
        .collect();
    let Some(verdict) = judge_all(&judged) else { return };
    assert_eq!(verdict, Ok(()));
    // The judge can say no: to a field that no schema has, to one that is missing, to a wrong type.
    let changes: [fn(&mut Value); 3] = [
        |it| it["more"] = 1.into(),
        |it| drop(it.as_object_mut().unwrap().remove("targets")),
        |it| it["cached"] = 3.into(),
    ];
    for change in changes {
        let mut wrong = judged.iter().find(|(name, ..)| name == "build").unwrap().clone();
        change(&mut wrong.2);
        assert!(judge_all(&[wrong]).unwrap().is_err());
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What is wrong with the command line is a document too, and still told on stderr.
#[test]
fn a_wrong_command_line_is_a_document() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["build", "--dryrun", "--json"]), @r#"
    {
      "error": "unexpected argument '--dryrun' found",
      "hint": "a similar argument exists: '--dry-run'\nUsage: tinderbox build --dry-run [TARGETS]..."
    }
    [stderr]
    error: unexpected argument '--dryrun' found
    hint: a similar argument exists: '--dry-run'
    Usage: tinderbox build --dry-run [TARGETS]...
    For more information, try '--help'.
    [exit 2]
    "#);
    insta::assert_snapshot!(ws.run(&["show", "infra/haprox", "--json"]), @r#"
    {
      "error": "there is no derivation `infra/haprox`",
      "hint": "did you mean `infra/haproxy`?"
    }
    [stderr]
    error: there is no derivation `infra/haprox`
    hint: did you mean `infra/haproxy`?
    [exit 2]
    "#);
    assert!(ws.output(&["build", "--dryrun"]).stdout.is_empty(), "without --json, stdout is for results");
}
