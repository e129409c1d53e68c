//! Mistakes on the command line, each with its message and exit code: the table is read as a whole. And the exit code of
//! every kind of mistake in every verb.

use std::fmt::Write as _;
use std::fs;

use crate::harness::{Workspace, set_mode};

/// Typos and wrong words, wrong order, missing and wrong files.
const MISTAKES: &[&str] = &[
    "bild",
    "realise plan",
    "store list",
    "build --dryrun",
    "build -j 0",
    "build -j many",
    "build -q -v",
    "build infra/haproxi",
    "build manifests",
    "build ./infra",
    "build infra/*",
    "build haproxy",
    "build ignition/master-9",
    "build infra/haproxy:haproxy.cfg",
    "build -o",
    "build -o cluster.lock",
    "build --events nowhere/events",
    "why",
    "why kubelet",
    "show infra/haproxy:haproxy.cf",
    "show infra/haproxy haproxy.cfg",
    "show ignition/master-0:/etc/hostnam",
    "show infra/haproxy:nothing/like/it",
    "show static-pod/kube-apiserver --explain etcd-sever",
    "show cluster:auth/kubeadmin-password --reveal",
    "blame pki/etcd-ca",
    "blame /etc/hostname",
    "affects",
    "affects nodes.worker-9.ip",
    "affects vip.api",
    "affects something.else",
    "targets haproxi",
    "graph --format png",
    "graph infr",
    "check infra",
    "diff",
    "diff gen:7",
    "diff gen:first",
    "diff cluster.yaml install-config.yaml",
    "diff ./nothing ./cluster.yaml",
    "diff --release",
    "diff --release demo:4.18 demo:4.19 demo:4.20",
    "diff --release demo:4.17",
    "show master-0:/etc/hostname",
    "build worker-0",
    "build iso",
    "export media iso-for-all --seal",
    "drift --generation 9",
    "drift --generation last",
    "drift --kubeconfig nowhere",
    "realize remove worker-9",
    "realize remove bootstrap",
    "push",
    "push --to registry.example.com/x",
    "pull",
    "cache",
    "cache prune",
    "cache prune --keep-closures none",
    "key show",
    "key generate -r age1xyz",
    "diff --component nothing=./empty",
    "diff --component machine-config-operator",
    "rollback 9",
    "rollback -1",
    "rollback last",
    "export",
    "export full",
    "export cluster out",
    "export out infra",
    "expiry nothing",
    "renew nothing",
    "renew --rekey",
    "lock --update relase=demo:4.19",
    "lock --update epoch=tomorrow",
    "lock --fetch iso9",
    "seed encrypt",
    "seed encrypt -r age1xyz",
    "seed encrypt -R nowhere",
    "seed new",
    "--seed nowhere build",
    "--seed cluster.yaml build",
    "--identity nowhere --seed sealed build",
    "realize",
    "realize apply --until pivott",
    "realize apply --timeout 5",
    "realize logs master-9",
    "realize logs master-0 kublet",
    "realize logs master-0 -n few",
    "realize ssh",
    "realize approve worker-0 --key 12",
    "release info ocp:4.18",
    "release try",
    "store path zzz",
    "store gc --older-than 3",
    "store gc --max-size ten",
    "store gc --keep-last all",
    "store add nowhere",
    "schema stor",
    "schema store",
    "completions csh",
    "-C nowhere build",
    "-C cluster.yaml build",
    "-C empty build",
    "--store empty store ls",
    "init",
    "init --from nowhere",
    "report --open --json -q",
    "report --jsn",
    "gaph",
    "check --list --quite",
    "guide 13",
    "guide --format pdf",
    "show --explain",
    "renew --before yesterday",
    "store gc --max-size 10X",
    "store gc --older-than d",
    "cache prune oci://r.example.com/x --keep-closures -1",
    "fleet biuld",
    "fleet build",
    "--site berlin build",
    "schema clusters",
];

fn workspace() -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    for (path, text) in [("full/file", ""), ("sealed", "age-encryption.org/v1\n")] {
        ws.write(path, text);
    }
    fs::create_dir(ws.dir.join("empty")).unwrap();
    set_mode(&ws.dir.join("sealed"), 0o600);
    ws
}

#[test]
fn every_mistake_has_a_message() {
    let ws = workspace();
    let mut table = String::new();
    for mistake in MISTAKES {
        let said = ws.run(&mistake.split(' ').collect::<Vec<_>>());
        assert!(!said.ends_with("[exit 0]\n"), "{mistake}");
        // What clap says of every wrong command line.
        let said = said.replace("For more information, try '--help'.\n", "").replace("[stderr]\n", "");
        let _ = writeln!(table, "$ tinderbox {mistake}\n{}", said.replace("\n\n", "\n"));
    }
    assert!(MISTAKES.len() >= 115);
    insta::assert_snapshot!(table);
}

/// What may not be read or written, as a user who is not root.
#[test]
fn permission_denied() {
    let ws = Workspace::example();
    ws.build(&["infra/pool"]);
    ws.give_away();
    let run = |args: &[&str]| {
        let output = ws.as_plain_user("permissions of a plain user", args)?.output().unwrap();
        Some(ws.text(&output))
    };
    set_mode(&ws.dir.join("install-config.yaml"), 0);
    let Some(unreadable) = run(&["build"]) else { return };
    insta::assert_snapshot!(unreadable, @"
    [stderr]
    error: cannot read `[DIR]/install-config.yaml`
    caused by: Permission denied (os error 13)
    hint: check the owner and mode of `[DIR]/install-config.yaml` and the directory that holds it
    [exit 1]
    ");
    set_mode(&ws.dir.join("install-config.yaml"), 0o644);
    set_mode(&ws.dir, 0o555);
    insta::assert_snapshot!(run(&["targets", "-o", "out"]).unwrap(), @"
    [stderr]
    error: cannot create `out`
    caused by: Permission denied (os error 13)
    hint: check the owner and mode of `out` and the directory that holds it
    [exit 1]
    ");
    insta::assert_snapshot!(run(&["init", "new"]).unwrap(), @"
    [stderr]
    error: cannot create `new`
    caused by: Permission denied (os error 13)
    hint: check the owner and mode of `new` and the directory that holds it
    [exit 1]
    ");
    insta::assert_snapshot!(run(&["export", "new"]).unwrap(), @"
    [stderr]
    error: cannot create `new`
    caused by: Permission denied (os error 13)
    hint: check the owner and mode of `new` and the directory that holds it
    [exit 1]
    ");
    set_mode(&ws.dir, 0o755);
}

/// An empty variable counts as unset; one that names a missing file does not.
#[test]
fn empty_variables() {
    let ws = Workspace::example();
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let output = ws.command(args).envs(variables.iter().copied()).output().unwrap();
        ws.text(&output)
    };
    for variable in ["TINDERBOX_AGE_IDENTITY", "TINDERBOX_SEED_FILE"] {
        assert!(run(&["build", "infra/pool"], &[(variable, "")]).ends_with("[exit 0]\n"), "{variable}");
    }
    insta::assert_snapshot!(run(&["build"], &[("TINDERBOX_SEED_FILE", "nowhere")]), @"
    [stderr]
    error: cannot open `nowhere`
    caused by: No such file or directory (os error 2)
    [exit 1]
    ");
}

/// Verbs that work on a cluster directory, each with arguments that are right.
const VERBS: &[&[&str]] = &[
    &["lock"],
    &["build"],
    &["targets"],
    &["check"],
    &["why", "infra/haproxy"],
    &["affects", "vips"],
    &["blame", "infra/haproxy:haproxy.cfg"],
    &["graph"],
    &["show", "infra/haproxy"],
    &["diff", "result", "cluster"],
    &["drift"],
    &["export", "out"],
    &["expiry"],
    &["renew", "--dry-run"],
    &["realize", "plan"],
    &["realize", "apply"],
    &["realize", "status"],
    &["realize", "approve"],
    &["realize", "logs", "master-0"],
    &["realize", "ssh", "master-0"],
    &["realize", "gather"],
    &["realize", "remove", "worker-0"],
    &["realize", "destroy", "--yes"],
    &["release", "info"],
    &["release", "mirror", "oci:copy"],
    &["release", "try", "demo:4.19"],
];

/// For these, 1 is an answer.
fn failure(verb: &[&str]) -> i32 {
    if ["diff", "drift"].contains(&verb[0]) || verb.starts_with(&["release", "try"]) { 2 } else { 1 }
}

/// A wrong command line is 2 in every verb; files with problems and a missing directory are a failure.
#[test]
fn one_exit_code_for_one_kind_of_mistake() {
    let ws = workspace();
    let code = |args: &[&[&str]]| ws.output(&args.concat()).status.code();
    for verb in VERBS {
        assert_eq!(code(&[verb, &["--no-such-flag"]]), Some(2), "an unknown flag: {verb:?}");
        assert_eq!(code(&[verb, &["--seed"]]), Some(2), "a flag without its value: {verb:?}");
        assert_eq!(code(&[&["-C", "nowhere"], verb]), Some(failure(verb)), "a missing directory: {verb:?}");
        assert_eq!(code(&[&["-C", "empty"], verb]), Some(failure(verb)), "an empty directory: {verb:?}");
        assert_eq!(code(&[&["--seed", "nowhere"], verb]), Some(failure(verb)), "a missing file: {verb:?}");
    }
    let named = |name: &'static str, verbs: &[&[&'static str]]| {
        for verb in verbs {
            assert_eq!(code(&[verb, &[name]]), Some(2), "an unknown name: {verb:?} {name}");
        }
    };
    named(
        "no/such-target",
        &[
            &["build"],
            &["targets"],
            &["why"],
            &["graph"],
            &["show"],
            &["diff"],
            &["export", "out"],
            &["expiry"],
        ],
    );
    named("infra/haproxy:no-such-file", &[&["show"], &["blame"]]);
    named("no-such-node", &[&["realize", "logs"], &["realize", "ssh"], &["realize", "remove"]]);
    named("no.such.field", &[&["affects"], &["show", "infra/haproxy", "--explain"], &["lock", "--update"]]);
    named("no-such-certificate", &[&["renew"]]);
    named("99", &[&["rollback"]]);
    named("zzzz", &[&["store", "path"], &["schema"], &["completions"]]);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.300");
    for verb in VERBS {
        assert_eq!(code(&[verb]), Some(failure(verb)), "files with problems: {verb:?}");
    }
}
