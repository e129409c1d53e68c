//! A lock knows its seed: a lost or another seed is never taken for a new cluster.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use data_encoding::BASE64;

use super::{identity, text};
use crate::harness::{SEED, Workspace, set_mode};

/// The example, locked with its seed.
fn locked() -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.json(&["lock"]);
    ws
}

#[test]
fn a_lost_seed_is_an_error() {
    let ws = locked();
    ws.build(&[]);
    let before = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    fs::rename(ws.dir.join("cluster.seed"), ws.temp().join("backup")).unwrap();
    insta::assert_snapshot!(ws.run(&["build", "-q"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed` is missing, and cluster.lock was written with one
    hint: restore it from your backup, or name it with `--seed FILE`; `tinderbox seed new --yes` makes another one, and so another cluster with other keys
    [exit 1]
    ");
    for args in [&["lock"][..], &["build", "--dry-run"], &["why", "cluster"], &["expiry"], &["renew"]] {
        let said = ws.run(args);
        assert!(said.contains("is missing, and cluster.lock was written with one"), "{args:?}: {said}");
    }
    // What nobody builds needs no seed.
    for args in [&["graph"][..], &["affects", "nodes.worker-0.ip"]] {
        assert!(ws.run(args).contains("[exit 0]"), "{args:?}");
    }
    assert_eq!(fs::read_to_string(ws.dir.join("cluster.lock")).unwrap(), before);
    assert!(!ws.dir.join("cluster.seed").exists(), "nothing was made up");
    fs::rename(ws.temp().join("backup"), ws.dir.join("cluster.seed")).unwrap();
    assert_eq!(ws.build(&[]), [""; 0]);
}

/// Also of a lock that was written before there were fingerprints.
#[test]
fn a_lock_without_a_fingerprint_has_a_seed_too() {
    let ws = Workspace::example();
    fs::remove_file(ws.dir.join("cluster.seed")).unwrap();
    assert!(ws.run(&["build", "-q"]).contains("hint: restore it from your backup"));
}

#[test]
fn another_seed_is_an_error() {
    let ws = locked();
    ws.write_seed(&[8; 32]);
    insta::assert_snapshot!(ws.run(&["build", "-q"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed` is not the one that cluster.lock was written with
    hint: its fingerprint is [ID]…, and the lock has [ID]…: restore that seed; `tinderbox lock --update seed` makes this one the cluster's, with other keys
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["lock"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed` is not the one that cluster.lock was written with
    hint: its fingerprint is [ID]…, and the lock has [ID]…: restore that seed; `tinderbox lock --update seed` makes this one the cluster's, with other keys
    [exit 1]
    ");
    let accepted = ws.output(&["lock", "--update", "seed"]);
    assert!(accepted.status.success(), "{}", ws.text(&accepted));
    ws.build(&["key/root-ca"]);
    ws.write_seed(&SEED);
    assert!(ws.run(&["build"]).contains("[exit 1]"));
}

#[test]
fn a_new_seed_is_asked_for() {
    let ws = locked();
    insta::assert_snapshot!(ws.run(&["seed", "new", "--yes"]), @"
    [stderr]
    error: `[DIR]/cluster.seed` already exists, and is left alone
    hint: a cluster may still live by it: move it away yourself, then try again
    [exit 1]
    ");
    fs::remove_file(ws.dir.join("cluster.seed")).unwrap();
    insta::assert_snapshot!(ws.run(&["seed", "new"]), @"
    [stderr]
    error: a new seed makes a new cluster: every key, certificate and generated name changes
    hint: `tinderbox seed new --yes`, if the old seed is lost for good
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["seed", "new", "--yes"]), @"
    [DIR]/cluster.seed: a new identity; back it up, and never commit it
    [exit 0]
    ");
    ws.build(&["key/root-ca"]);
}

/// A machine that must not keep a seed gets it from elsewhere.
#[test]
fn a_seed_from_elsewhere() {
    let ws = locked();
    let wanted = ws.json(&["build", "key/root-ca"])["targets"].clone();
    let seed = ws.temp().join("given");
    fs::rename(ws.dir.join("cluster.seed"), &seed).unwrap();
    let same = |args: &[&str]| {
        let found = ws.json(&[&["build", "key/root-ca"], args].concat());
        assert_eq!(found["targets"], wanted, "{args:?}");
        assert!(!ws.dir.join("cluster.seed").exists());
    };
    same(&["--seed", text(&seed)]);
    fs::write(&seed, format!("{}\n", BASE64.encode(&SEED))).unwrap();
    same(&["--seed", text(&seed)]);
    let (file, recipient, _) = identity(&ws, "me");
    ws.write_seed(&SEED);
    ws.json(&["seed", "encrypt", "-r", &recipient]);
    fs::rename(ws.dir.join("cluster.seed.age"), ws.temp().join("sealed")).unwrap();
    same(&["--seed", text(&ws.temp().join("sealed")), "--identity", text(&file)]);

    let by_variable =
        ws.command(&["build", "-q", "key/root-ca"]).env("TINDERBOX_SEED_FILE", &seed).output().unwrap();
    assert!(by_variable.status.success(), "{}", ws.text(&by_variable));
    // `renew` reads the cluster twice, and standard input only once.
    let mut child = ws.command(&["renew", "--dry-run", "--json", "--seed", "-"]);
    let mut child =
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&SEED).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
}

#[test]
fn a_seed_from_elsewhere_is_looked_at() {
    let ws = locked();
    let path = ws.temp().join("given");
    fs::write(&path, SEED).unwrap();
    set_mode(&path, 0o644);
    insta::assert_snapshot!(ws.run(&["build", "--seed", text(&path)]), @"
    [stderr]
    error: the seed `[TEMP]/given` can be read by others
    hint: if nobody else has read it: `chmod 600 [TEMP]/given`
    [exit 1]
    ");
    set_mode(&path, 0o600);
    fs::write(&path, [8; 32]).unwrap();
    insta::assert_snapshot!(ws.run(&["build", "--seed", text(&path)]), @"
    [stderr]
    error: the seed `[TEMP]/given` is not the one that cluster.lock was written with
    hint: its fingerprint is [ID]…, and the lock has [ID]…: restore that seed; `tinderbox lock --update seed` makes this one the cluster's, with other keys
    [exit 1]
    ");
    fs::write(&path, [8; 31]).unwrap();
    insta::assert_snapshot!(ws.run(&["build", "--seed", text(&path)]), @"
    [stderr]
    error: the seed `[TEMP]/given` is neither 32 bytes, nor their base64, nor an age file
    hint: restore it from your backup: a new seed is a new cluster
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["build", "--seed", "nowhere"]), @"
    [stderr]
    error: cannot open `nowhere`
    caused by: No such file or directory (os error 2)
    [exit 1]
    ");
}
