//! Bad days of a store: damage is named, the next build or `repair` heals it, and errors say what to do.

mod damage;
mod records;
mod refused;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::harness::{Workspace, list, mode, set_mode, tamper, tree, without_counts};

/// The example, as after a build.
fn built() -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws
}

/// The only file of an artifact, in the store.
fn file_of(ws: &Workspace, target: &str) -> PathBuf {
    let path = ws.path_of(target);
    let names: Vec<String> = tree(&path).into_keys().collect();
    assert_eq!(names.len(), 1, "{target}");
    path.join(&names[0])
}

/// Verifies, expects damage, and returns what was found as `kind path`.
fn findings(ws: &Workspace) -> Vec<String> {
    let output = ws.output(&["store", "verify", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", ws.text(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let shown = |one: &serde_json::Value| {
        format!("{} {}", one["kind"].as_str().unwrap(), one["path"].as_str().unwrap())
    };
    let mut found: Vec<String> = document["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| ws.filter(&shown(one)).trim_end().to_owned())
        .collect();
    // By path, and paths begin with ids, which are others every day.
    found.sort();
    found
}

/// Repairs, after which everything is as it was before the damage.
fn repair(ws: &Workspace) {
    let output = ws.output(&["store", "repair"]);
    assert!(output.status.success(), "{}", ws.text(&output));
    ws.assert_sound();
    assert_eq!(ws.build(&[]), [""; 0]);
    let fresh = built();
    assert!(tree(&ws.path_of("cluster")) == tree(&fresh.path_of("cluster")), "repaired to the same bytes");
}

#[test]
fn a_flipped_byte_is_found_and_repaired() {
    let ws = built();
    tamper(&file_of(&ws, "manifest/01-rbac"), |bytes| bytes[10] ^= 1);
    // The same file is in the cluster tree and in the manifest's own object: both are named, and the shared copy.
    insta::assert_snapshot!(findings(&ws).join("\n"), @"
    changed [STORE]/.tinderbox/links/[ID]
    changed [STORE]/[ID]-assembled/manifests/01-rbac.yaml
    changed [STORE]/[ID]-cluster/manifests/01-rbac.yaml
    changed [STORE]/[ID]-ignition-bootstrap/tree/opt/openshift/manifests/01-rbac.yaml
    changed [STORE]/[ID]-manifest-01-rbac/01-rbac.yaml
    ");
    insta::assert_snapshot!(without_counts(&ws.run(&["store", "verify"])), @r"
    bad [STORE]/.tinderbox/links/[ID]: its content does not match its name
    bad [STORE]/[ID]-assembled/manifests/01-rbac.yaml: its content changed
    bad [STORE]/[ID]-cluster/manifests/01-rbac.yaml: its content changed
    bad [STORE]/[ID]-ignition-bootstrap/tree/opt/openshift/manifests/01-rbac.yaml: its content changed
    bad [STORE]/[ID]-manifest-01-rbac/01-rbac.yaml: its content changed
    [N] objects, [N] files, [SIZE]: 5 bad paths
    [exit 1]
    ");
    repair(&ws);
}

#[test]
fn a_truncated_file_is_found_and_repaired() {
    let ws = built();
    tamper(&file_of(&ws, "infra/network"), |bytes| bytes.truncate(7));
    insta::assert_snapshot!(findings(&ws).join("\n"), @"
    changed [STORE]/.tinderbox/links/[ID]
    changed [STORE]/[ID]-cluster/infra/network.xml
    changed [STORE]/[ID]-infra-network/network.xml
    ");
    repair(&ws);
}

#[test]
fn a_missing_object_is_built_again() {
    let ws = built();
    let path = ws.path_of("infra/pool");
    remove(&path);
    insta::assert_snapshot!(findings(&ws).join("\n"), @"
    dangling [STORE]/.tinderbox/manifests/[ID]
    dangling [STORE]/.tinderbox/realisations/[ID]
    ");
    assert_eq!(ws.build(&["infra/pool"]), ["infra/pool"]);
    ws.assert_sound();
    remove(&path);
    repair(&ws);
    // Its users too.
    remove(&ws.path_of("cluster"));
    remove(&path);
    assert_eq!(ws.build(&[]), ["cluster", "infra/pool"]);
    ws.assert_sound();
}

fn remove(path: &Path) {
    set_mode(path, 0o700);
    let below: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    below.iter().filter(|path| path.is_dir()).for_each(|path| remove(path));
    let _ = fs::remove_dir_all(path);
}

/// Verification goes on after the first bad path, and names every one.
#[test]
fn every_bad_path_is_named() {
    let ws = built();
    let object = ws.path_of("infra/pool");
    set_mode(&object, 0o755);
    fs::write(object.join("extra"), "x").unwrap();
    set_mode(&object, 0o555);
    set_mode(&file_of(&ws, "infra/haproxy-pivoted"), 0o644);
    tamper(&file_of(&ws, "infra/haproxy"), |bytes| bytes.push(b'x'));
    tamper(&file_of(&ws, "manifest/cluster-config"), |bytes| bytes[0] ^= 1);
    let rbac = ws.path_of("manifest/01-rbac");
    set_mode(&rbac, 0o755);
    fs::remove_file(rbac.join("01-rbac.yaml")).unwrap();
    set_mode(&rbac, 0o555);
    let manifest = ws.json(&["show", "infra/network"])["object"].as_str().unwrap().to_owned();
    fs::write(ws.part("manifests").join(manifest), "nonsense").unwrap();
    fs::create_dir(ws.store.join(format!("{}-stray", "a".repeat(52)))).unwrap();
    insta::assert_snapshot!(findings(&ws).join("\n"), @"
    altered [STORE]/.tinderbox/links/[ID]
    altered [STORE]/[ID]-cluster/infra/haproxy-pivoted.cfg
    altered [STORE]/[ID]-infra-haproxy-pivoted/haproxy-pivoted.cfg
    changed [STORE]/.tinderbox/links/[ID]
    changed [STORE]/.tinderbox/links/[ID]
    changed [STORE]/[ID]-assembled/manifests/cluster-config.yaml
    changed [STORE]/[ID]-cluster/infra/haproxy.cfg
    changed [STORE]/[ID]-cluster/manifests/cluster-config.yaml
    changed [STORE]/[ID]-ignition-bootstrap/tree/opt/openshift/manifests/cluster-config.yaml
    changed [STORE]/[ID]-infra-haproxy/haproxy.cfg
    changed [STORE]/[ID]-manifest-cluster-config/cluster-config.yaml
    extra [STORE]/[ID]-infra-pool/extra
    manifest [STORE]/[ID]-infra-network
    manifest [STORE]/[ID]-stray
    missing [STORE]/[ID]-manifest-01-rbac/01-rbac.yaml
    ");
    insta::assert_snapshot!(ws.run(&["store", "repair", "-q"]).lines().last().unwrap(), @"[exit 0]");
    ws.assert_sound();
    assert_eq!(ws.build(&[]), [""; 0]);
}

/// A damaged manifest is no reason for a build to fail: the object is made again.
#[test]
fn a_damaged_manifest_is_healed_by_repair() {
    for damage in ["", "nonsense", "object aaaa-x\n"] {
        let ws = built();
        let object = ws.json(&["show", "infra/network"])["object"].as_str().unwrap().to_owned();
        fs::write(ws.part("manifests").join(&object), damage).unwrap();
        assert_eq!(findings(&ws).len(), 1, "{damage:?}");
        repair(&ws);
    }
    let ws = built();
    let object = ws.json(&["show", "infra/network"])["object"].as_str().unwrap().to_owned();
    fs::remove_file(ws.part("manifests").join(&object)).unwrap();
    assert_eq!(findings(&ws).len(), 1);
    repair(&ws);
}

/// Damage that a build runs into: a rebuild, or an error with the way out. Never a wrong result.
#[test]
fn a_build_meets_a_damaged_manifest() {
    let ws = built();
    let object = ws.json(&["show", "infra/network"])["object"].as_str().unwrap().to_owned();
    let manifest = ws.part("manifests").join(&object);
    ws.write(
        "recipes/90-demo/user.toml",
        "builder = 'tree'\n[inputs]\nx = 'infra/network'\n[params.place]\nx = ''\n",
    );
    fs::write(&manifest, "nonsense").unwrap();
    insta::assert_snapshot!(ws.run(&["build", "demo"]), @"
    [stderr]
    failed demo/user
    error: `demo/user` cannot be stored
    caused by: object `[ID]` is damaged
    hint: run `tinderbox store verify` to see what else is wrong, then `tinderbox store repair`
    [exit 1]
    ");
    let output = ws.output(&["store", "repair"]);
    assert!(output.status.success(), "{}", ws.text(&output));
    ws.build(&["demo"]);
    // Without a manifest, nothing vouches for the directory: it is made again.
    fs::remove_file(&manifest).unwrap();
    assert_eq!(ws.build(&["demo"]), ["infra/network"]);
    ws.assert_sound();
    // Neither object nor a manifest that can be read.
    fs::write(&manifest, "nonsense").unwrap();
    remove(&ws.store.join(format!("{object}-infra-network")));
    assert_eq!(ws.build(&["demo"]), ["infra/network"]);
    ws.assert_sound();
}

/// A realisation that cannot be read is a miss, and so is one that names what is gone.
#[test]
fn a_corrupted_realisation_is_a_miss() {
    let ws = built();
    let drv = ws.json(&["show", "infra/pool"])["drv"].as_str().unwrap().to_owned();
    let path = ws.part("realisations").join(drv);
    let good = fs::read_to_string(&path).unwrap();
    // Without the checksum, which covers the time of the build.
    let outputs = |text: &str| text.split_once(",\"sum\"").unwrap().0.to_owned();
    let (first, _) = good.split_once('\n').unwrap();
    for text in ["", "{", "\u{0}\u{0}\u{0}", "{\"outputs\":[]}\n", &first[..first.len() / 2], "[1, 2]\n{}\n"]
    {
        fs::write(&path, text).unwrap();
        assert_eq!(ws.build(&[]), ["infra/pool"], "{text:?}");
        assert_eq!(outputs(&fs::read_to_string(&path).unwrap()), outputs(first));
        ws.assert_sound();
    }
    fs::write(&path, b"\xff\xfe\n").unwrap();
    assert_eq!(ws.build(&[]), ["infra/pool"], "not UTF-8");
    // The outputs are readable and the trace is not: still good for a build, and for one that must write it again.
    fs::write(&path, format!("{first}\n{{\"label\":")).unwrap();
    assert_eq!(ws.build(&[]), [""; 0]);
    remove(&ws.path_of("infra/pool"));
    assert_eq!(ws.build(&[]), ["infra/pool"]);
    ws.assert_sound();
}

/// Damaged roots: an error that names the file, never a lost generation.
#[test]
fn damaged_roots_are_named() {
    let ws = built();
    let root = ws.part("roots").join(list(&ws.part("roots")).first().unwrap());
    fs::write(root.join("generations/1.json"), "{").unwrap();
    insta::assert_snapshot!(ws.run(&["generations"]).replace(&*root.file_name().unwrap().to_string_lossy(), "[ROOT]"), @"
    [stderr]
    error: cannot parse `[STORE]/.tinderbox/roots/[ROOT]/generations/1.json`
    caused by: EOF while parsing an object at line 1 column 1
    hint: run `tinderbox store verify` to see what else is wrong, then `tinderbox store repair`
    [exit 1]
    ");
    let output = ws.output(&["store", "gc"]);
    assert_eq!(output.status.code(), Some(1), "gc removes nothing when it cannot know what is needed");
    assert_eq!(findings(&ws).len(), 1);
    assert_eq!(ws.build(&[]), [""; 0]);
}

/// A script in a mount namespace of its own, with `$T` the program and `$S` the store.
pub(crate) fn script(ws: &Workspace, flags: &[&str], script: &str) -> String {
    let mut command = ws.command_of(Path::new("unshare"), flags);
    command.args(["sh", "-c", script]).env("T", env!("CARGO_BIN_EXE_tinderbox")).env("S", &ws.store);
    ws.text(&command.output().unwrap())
}

/// Secret objects are for their owner only, public ones for everybody; keys are hidden; equal files are one.
#[test]
fn modes_and_sharing() {
    let ws = Workspace::example();
    ws.build(&[]);
    assert_eq!(mode(&ws.part("keys")), 0o700);
    let keys: Vec<String> = list(&ws.part("keys")).into_iter().collect();
    assert_eq!(keys.len(), 1);
    assert_eq!(mode(&ws.part("keys").join(&keys[0])), 0o600);
    let secret = file_of(&ws, "manifest/openshift-config-secret-pull-secret");
    assert_eq!((mode(&secret), mode(secret.parent().unwrap())), (0o400, 0o500));
    let cluster = ws.path_of("cluster");
    assert_eq!(mode(&cluster), 0o500, "what holds a secret is one");
    assert_eq!(mode(&cluster.join("infra")), 0o555);
    let public = file_of(&ws, "infra/haproxy");
    assert_eq!((mode(&public), mode(public.parent().unwrap())), (0o444, 0o555));
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    assert_eq!(inode(&public), inode(&cluster.join("infra/haproxy.cfg")));
    let written = [("recipes/20-demo/one.toml", "a"), ("recipes/20-demo/two.toml", "b")];
    for (path, name) in written {
        ws.write(path, &format!("builder = 'template'\n[files]\n'{name}' = 'a.j2'\n"));
    }
    ws.write("recipes/20-demo/a.j2", "the same bytes\n");
    ws.build(&["demo"]);
    assert_eq!(inode(&file_of(&ws, "demo/one")), inode(&file_of(&ws, "demo/two")));
    assert_eq!(fs::metadata(file_of(&ws, "demo/one")).unwrap().mtime(), 1, "times are canonical");
}
