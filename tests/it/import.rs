//! `init --from INSTALL_DIR`: what openshift-install left becomes a cluster directory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::harness::install_dir::{HASH, INFRA_ID, InstallDir, KEY, PASSWORD};
use crate::harness::{Workspace, is_root, mode, set_mode, tree};

const VERSION: &str = "v4.18.30";

/// A workspace with an installer's directory in `theirs`.
fn prepared() -> (Workspace, InstallDir) {
    let ws = Workspace::empty();
    let theirs = InstallDir::write(&ws.dir.join("theirs"), VERSION);
    (ws, theirs)
}

/// What became of each file.
fn fates(said: &serde_json::Value) -> BTreeMap<String, String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let files = said["files"].as_array().unwrap_or_else(|| panic!("{said}"));
    files.iter().map(|file| (text(&file["file"]), text(&file["fate"]))).collect()
}

/// No secret of the directory, in any form that it has there.
fn is_silent(text: &str) {
    for secret in [PASSWORD, HASH, KEY] {
        for form in [secret.to_owned(), STANDARD.encode(secret)] {
            assert!(!text.contains(&form), "{form} in {text}");
        }
    }
    assert!(!text.contains(&STANDARD.encode(format!("demo:{PASSWORD}"))), "{text}");
}

fn build(ws: &Workspace, args: &[&str]) -> String {
    let output = ws.output(&[&["-C", "ours"], args].concat());
    let text = ws.text(&output);
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn an_unedited_directory_leaves_nothing_but_the_config() {
    let (ws, theirs) = prepared();
    let before = tree(&theirs.root);
    let output = ws.output(&["init", "ours", "--from", "theirs"]);
    let text = ws.text(&output);
    assert!(output.status.success(), "{text}");
    is_silent(&text);
    assert!(
        text.contains("\n13 ours, 4 left out; compared with what tinderbox makes of demo:4.18"),
        "{text}"
    );
    assert!(!text.contains("no known reason"), "{text}");
    assert_eq!(tree(&theirs.root), before, "the input was touched");
    let ours = ws.dir.join("ours");
    let names: Vec<String> = tree(&ours).into_keys().collect();
    assert_eq!(
        names,
        [".gitignore", "cluster.seed", "cluster.yaml", "install-config.yaml", "pull-secret.json"]
    );
    for name in ["pull-secret.json", "install-config.yaml", "cluster.seed"] {
        assert_eq!(mode(&ours.join(name)), 0o600, "{name}");
    }
    assert!(fs::read_to_string(ours.join("pull-secret.json")).unwrap().contains("example.invalid"));
    assert!(!fs::read_to_string(ours.join("install-config.yaml")).unwrap().contains("pullSecret"));
    build(&ws, &["build"]);
    // Nothing is left beside it, and a second time everything there is left alone.
    assert!(!tree(&ws.dir).keys().any(|name| name.contains(".tinderbox-init")));
    let before = tree(&ours);
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "theirs"]), @"
    [stderr]
    error: 3 problems:
    ours/cluster.yaml: it already exists, and is left alone
      hint: choose another directory, or move it away
    ours/install-config.yaml: it already exists, and is left alone
      hint: choose another directory, or move it away
    ours/pull-secret.json: it already exists, and is left alone
      hint: choose another directory, or move it away
    [exit 1]
    ");
    assert_eq!(tree(&ours), before);
}

const MINE: &str = "# mine\napiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n";
const MACHINE_CONFIG: &str = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels: {machineconfiguration.openshift.io/role: worker}\nspec:\n  kernelArguments: [mitigations=off]\n";
const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: mine, namespace: mine}\nstringData: {password: hunter2-in-the-pull-secret}\n";

#[test]
fn edits_become_patches_and_own_manifests_are_kept() {
    let (ws, theirs) = prepared();
    theirs.edit(
        "manifests/cluster-scheduler-02-config.yml",
        "mastersSchedulable: false",
        "mastersSchedulable: true",
    );
    theirs.edit("manifests/cvo-overrides.yaml", "stable-4.18", "fast-4.18");
    theirs.put("manifests/mine.yaml", MINE);
    theirs.put("openshift/mine.yaml", &format!("# {INFRA_ID}\n{MACHINE_CONFIG}"));
    theirs.put("openshift/secret.yaml", SECRET);
    theirs.put("manifests/notes.txt", "hello");
    let before = tree(&theirs.root);
    let output = ws.output(&["init", "ours", "--from", "theirs"]);
    let text = ws.text(&output);
    assert!(output.status.success(), "{text}");
    is_silent(&text);
    let patch = "# Taken over from manifests/cluster-scheduler-02-config.yml: you edited it.\n\
                 target:\n  kind: Scheduler\n  name: cluster\n  group: config.openshift.io\npatch:\n\
                 - {op: test, path: /spec/mastersSchedulable, value: false}\n\
                 - {op: replace, path: /spec/mastersSchedulable, value: true}\n";
    assert!(text.contains(&format!("\npatches/10-scheduler-cluster.yaml:\n{patch}")), "{text}");
    assert!(text.contains(&format!("it names the infraID {INFRA_ID}, which `--keep-ids` keeps")), "{text}");
    assert_eq!(tree(&theirs.root), before, "the input was touched");
    let read = |path: &str| fs::read_to_string(ws.dir.join("ours").join(path)).unwrap();
    assert_eq!(read("patches/10-scheduler-cluster.yaml"), patch);
    assert_eq!(read("manifests/mine.yaml"), MINE);
    assert_eq!(read("manifests/openshift-mine.yaml"), format!("# {INFRA_ID}\n{MACHINE_CONFIG}"));
    assert_eq!(
        (read("manifests/secret.yaml").as_str(), mode(&ws.dir.join("ours/manifests/secret.yaml"))),
        (SECRET, 0o600)
    );
    build(&ws, &["build"]);
    let shown = build(&ws, &["show", "cluster:manifests/cluster-scheduler-02-config.yml"]);
    assert!(shown.contains("mastersSchedulable: true"), "{shown}");
    let shown = build(&ws, &["show", "cluster:manifests/cvo-overrides.yaml"]);
    assert!(shown.contains("channel: fast-4.18") || shown.contains("channel: \"fast-4.18\""), "{shown}");
}

#[test]
fn an_edited_pull_secret_is_the_pull_secret() {
    let (ws, theirs) = prepared();
    let new = r#"{"auths":{"example.org":{"auth":"bWU6aHVudGVyMw=="}}}"#;
    let text =
        fs::read_to_string(theirs.root.join("manifests/openshift-config-secret-pull-secret.yaml")).unwrap();
    let line = text.lines().find(|line| line.contains(".dockerconfigjson:")).unwrap().to_owned();
    let edited = format!("  .dockerconfigjson: {}", STANDARD.encode(new));
    theirs.edit("manifests/openshift-config-secret-pull-secret.yaml", &line, &edited);
    let output = ws.output(&["init", "ours", "--from", "theirs"]);
    let text = ws.text(&output);
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("bWU6aHVudGVyMw=="), "{text}");
    assert_eq!(fs::read_to_string(ws.dir.join("ours/pull-secret.json")).unwrap(), new);
    assert_eq!(mode(&ws.dir.join("ours/pull-secret.json")), 0o600);
}

/// Everything that cannot be taken over is said at once, and nothing is written; `--without` is the way out.
#[test]
fn all_problems_at_once() {
    let (ws, theirs) = prepared();
    let hash = STANDARD.encode(HASH);
    theirs.edit("openshift/99_kubeadmin-password-secret.yaml", &hash, &STANDARD.encode("hunter3"));
    theirs.edit("manifests/cluster-infrastructure-02-config.yml", INFRA_ID, "ocp4-mine");
    theirs.put("manifests/one.yaml", MINE);
    theirs.put("openshift/two.yaml", MINE);
    theirs.put("openshift/broken.yaml", "kind: Namespace\nmetadata: {name: [\n");
    theirs.put("openshift/broken-secret.yaml", &format!("kind: Secret\nstringData: {{a: {PASSWORD}\n"));
    theirs.put("openshift/nothing.yaml", "hello: world\n");
    theirs.put("openshift/huge.yaml", &"# x\n".repeat(2 << 20));
    fs::remove_file(theirs.root.join("manifests/cluster-dns-02-config.yml")).unwrap();
    symlink("nowhere", theirs.root.join("openshift/dangling.yaml")).unwrap();
    let output = ws.output(&["init", "ours", "--from", "theirs", "--without", "openshift/typo.yaml"]);
    let text = ws.text(&output);
    assert!(!output.status.success(), "{text}");
    is_silent(&text);
    assert!(!ws.dir.join("ours").exists());
    for said in [
        "error: 10 problems:\n",
        "manifests/cluster-dns-02-config.yml: you removed DNS `cluster`, and tinderbox makes it\n",
        "manifests/cluster-infrastructure-02-config.yml:1: the edit of Infrastructure `cluster` does not apply to ours: the test of `/status/infrastructureName` fails: ",
        "openshift/99_kubeadmin-password-secret.yaml:1: you edited it, and an edit of Secret `kube-system/kubeadmin` cannot become a patch: patches are not secret\n",
        "openshift/broken-secret.yaml:3: not valid YAML\n",
        "openshift/broken.yaml:3: not valid YAML: ",
        "openshift/dangling.yaml: it cannot be read: No such file or directory",
        "openshift/huge.yaml: it is larger than 4 MiB\n",
        "openshift/nothing.yaml:1: apiVersion: it is missing, so this is not an object\n",
        "openshift/two.yaml:2: Namespace `mine` is in manifests/one.yaml:2 too\n  hint: keep one of them; or leave it out: `--without openshift/two.yaml`\n",
        "openshift/typo.yaml: there is no such file to leave out\n",
    ] {
        assert!(text.contains(said), "{said}\nis not in\n{text}");
    }
    let names = [
        "openshift/99_kubeadmin-password-secret.yaml",
        "manifests/cluster-infrastructure-02-config.yml",
        "openshift/two.yaml",
        "openshift/broken.yaml",
        "openshift/broken-secret.yaml",
        "openshift/nothing.yaml",
        "openshift/huge.yaml",
        "openshift/dangling.yaml",
        // Removed, and ours all the same.
        "manifests/cluster-dns-02-config.yml",
    ];
    let mut args = vec!["init", "ours", "--from", "theirs"];
    args.extend(names.iter().flat_map(|name| ["--without", name]));
    let said = ws.json(&args);
    assert_eq!(fates(&said)["openshift/two.yaml"], "left-out");
    assert_eq!(fates(&said)["manifests/one.yaml"], "kept");
}

#[test]
fn what_cannot_be_read_is_named() {
    let (ws, theirs) = prepared();
    if is_root() {
        return; // root reads everything.
    }
    theirs.put("openshift/closed.yaml", MINE);
    set_mode(&theirs.root.join("openshift/closed.yaml"), 0);
    let text = ws.run(&["init", "ours", "--from", "theirs"]);
    assert!(text.contains("openshift/closed.yaml: it cannot be read: Permission denied"), "{text}");
}

#[test]
fn a_link_is_read_and_stays_one() {
    let (ws, theirs) = prepared();
    fs::write(ws.dir.join("elsewhere.yaml"), MINE).unwrap();
    symlink("../../elsewhere.yaml", theirs.root.join("openshift/mine.yaml")).unwrap();
    let said = ws.json(&["init", "ours", "--from", "theirs"]);
    assert_eq!(fates(&said)["openshift/mine.yaml"], "kept");
    let kept = ws.dir.join("ours/manifests/mine.yaml");
    assert!(kept.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read_to_string(kept).unwrap(), MINE);
    assert!(theirs.root.join("openshift/mine.yaml").is_symlink());
}

/// After `create ignition-configs` the manifests are inside bootstrap.ign, and the state has what was read back.
#[test]
fn ignition_configs_are_unpacked() {
    let (ws, theirs) = prepared();
    theirs.edit(
        "manifests/cluster-scheduler-02-config.yml",
        "mastersSchedulable: false",
        "mastersSchedulable: true",
    );
    theirs.edit("manifests/cvo-overrides.yaml", "stable-4.18", "fast-4.18");
    theirs.put("openshift/mine.yaml", MINE);
    theirs.consume(VERSION);
    let before = tree(&theirs.root);
    let said = ws.json(&["init", "ours", "--from", "theirs"]);
    is_silent(&said.to_string());
    assert_eq!(tree(&theirs.root), before, "the input was touched");
    let fates = fates(&said);
    assert_eq!(fates["manifests/cluster-scheduler-02-config.yml"], "patch");
    assert_eq!(fates["manifests/cvo-overrides.yaml"], "patch");
    assert_eq!(fates["openshift/mine.yaml"], "kept");
    assert_eq!(fates["openshift/99_kubeadmin-password-secret.yaml"], "ours");
    for name in ["auth/kubeconfig", "bootstrap.ign", "master.ign", "metadata.json"] {
        assert_eq!(fates[name], "left-out", "{name}");
    }
    // The state knows the release by then.
    assert!(said["guessed"].as_array().unwrap().iter().all(|guess| guess["field"] != "release"));
    build(&ws, &["build"]);
    theirs.put("master.ign", r#"{"ignition":{"version":"3.2.0"},"systemd":{}}"#);
    let text = ws.run(&["init", "others", "--from", "theirs"]);
    assert!(text.contains("master.ign: it was edited after openshift-install wrote it"), "{text}");
}

#[test]
fn the_ids_are_taken_over_on_request() {
    let (ws, _) = prepared();
    ws.json(&["init", "ours", "--from", "theirs", "--keep-ids"]);
    build(&ws, &["build"]);
    let shown = build(&ws, &["show", "cluster:manifests/cluster-infrastructure-02-config.yml"]);
    assert!(shown.contains(&format!("infrastructureName: {INFRA_ID}")), "{shown}");
    let shown = build(&ws, &["show", "cluster:manifests/cvo-overrides.yaml"]);
    assert!(shown.contains("11111111-2222-4333-8444-555555555555"), "{shown}");
}

#[test]
fn other_versions_are_compared_with_the_nearest_demo() {
    let ws = Workspace::empty();
    for (version, demo) in [("v4.14.2", "demo:4.18"), ("v4.20.1", "demo:4.20"), ("unreleased", "demo:4.18")] {
        let name = version.replace('.', "-");
        InstallDir::write(&ws.dir.join("theirs").join(&name), version);
        let from = Path::new("theirs").join(&name).display().to_string();
        let said = ws.json(&["init", &name, "--from", &from]);
        assert_eq!(said["compared_with"], demo);
    }
}

#[test]
fn a_directory_without_its_state_says_what_to_do() {
    let (ws, theirs) = prepared();
    theirs.put(".openshift_install_state.json", &format!("{{\"*tls.RootCA\": {KEY}"));
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "theirs"]), @"
    [stderr]
    error: 1 problem:
    .openshift_install_state.json: it is not a state file of openshift-install: line 1, column 17
    [exit 1]
    ");
    theirs.put(".openshift_install_state.json", "{}");
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "theirs"]), @"
    [stderr]
    error: 1 problem:
    .openshift_install_state.json: it has no install-config: `create manifests` has not been run here
    [exit 1]
    ");
    fs::remove_file(theirs.root.join(".openshift_install_state.json")).unwrap();
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "theirs"]), @"
    [stderr]
    error: 1 problem:
    .openshift_install_state.json: it is missing
      hint: copy it from where openshift-install ran: without it, your edits cannot be told from the installer's own text; or use `init --from install-config.yaml`, and put your manifests into manifests/
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "theirs/manifests/cvo-overrides.yaml", "--keep-ids"]), @"
    [stderr]
    error: `--without` and `--keep-ids` are about a directory of openshift-install, and `--from` names none
    hint: name the directory itself: `--from DIR`
    [exit 2]
    ");
}
