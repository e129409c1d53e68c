//! Damage to anything that the store keeps: `verify` names it, `repair` heals it in one run or says what is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{built, file_of, findings};
use crate::harness::{Workspace, list, mode, set_mode, tamper, tree, tried};

/// The only entry of a directory of the store.
fn only(ws: &Workspace, part: &str) -> PathBuf {
    ws.part(part).join(list(&ws.part(part)).first().unwrap())
}

fn pipe(path: &Path) {
    fs::remove_file(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Any single damage is named, and gone after one repair. Nothing waits for a pipe or reads a device to its end.
#[test]
fn every_record_is_verified_and_repaired_in_one_run() {
    let ws = built();
    let cluster = tree(&ws.path_of("cluster"));
    let root = only(&ws, "roots");
    let drv = ws.json(&["show", "infra/pool"])["drv"].as_str().unwrap().to_owned();
    let realisation = ws.part("realisations").join(drv);
    let links: Vec<PathBuf> =
        list(&ws.part("links")).iter().take(2).map(|name| ws.part("links").join(name)).collect();
    let garbage = |path: &Path| fs::write(path, "garbage").unwrap();
    let empty = |path: &Path| fs::write(path, "").unwrap();
    type Damage<'a> = (&'a str, PathBuf, &'a dyn Fn(&Path));
    let shorten = |path: &Path| tamper(path, |bytes| bytes.truncate(bytes.len() / 2));
    let to_zero = |path: &Path| {
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    };
    let to_all = |path: &Path| set_mode(path, 0o644);
    let damages: [Damage<'_>; 15] = [
        ("record", only(&ws, "keys"), &garbage),
        ("record", only(&ws, "keys"), &empty),
        ("altered", only(&ws, "keys"), &to_all),
        ("record", realisation.clone(), &garbage),
        ("record", realisation.clone(), &shorten),
        ("record", realisation, &empty),
        ("record", root.join("generations/1.json"), &garbage),
        ("record", root.join("generations/1.json"), &shorten),
        ("record", root.join("current"), &garbage),
        ("record", root.join("current"), &empty),
        ("record", root.join("last.json"), &shorten),
        ("record", root.join("directory"), &empty),
        ("record", root.join("directory"), &garbage),
        ("altered", links[0].clone(), &pipe),
        ("altered", links[1].clone(), &to_zero),
    ];
    for (number, (kind, path, damage)) in damages.iter().enumerate() {
        if !path.exists() {
            ws.build(&[]); // what the last repair removed and a build writes again
        }
        damage(path);
        let named = format!("{kind} {}", ws.filter(&path.display().to_string()).trim_end());
        assert!(findings(&ws).contains(&named), "{number}: {named}: {:?}", findings(&ws));
        let output = ws.output(&["store", "repair"]);
        assert!(output.status.success(), "{number}: {named}: {}", ws.text(&output));
        let lost = ws.text(&output).contains("lost: generation 1 of");
        assert_eq!(lost, path.ends_with("generations/1.json"), "{number}: {}", ws.text(&output));
        ws.assert_sound();
        assert_eq!(ws.build(&[]), [""; 0], "{number}: {named}");
        assert!(tree(&ws.path_of("cluster")) == cluster, "{number}: {named}: the same bytes");
    }
    let text = fs::read_to_string(crate::harness::source("docs/security.md")).unwrap();
    let said = format!("{} kinds of damage to the store's records", damages.len());
    assert!(text.contains(&format!("- {said}")), "{said}");
    tried(&format!("{said}: named, and healed in one run"));
}

/// A damaged key is written again by the next build of its cluster, without any repair.
#[test]
fn a_build_writes_a_damaged_key_again() {
    let ws = built();
    let key = only(&ws, "keys");
    let before = fs::read(&key).unwrap();
    fs::write(&key, "garbage").unwrap();
    assert!(findings(&ws).len() > 1, "every secret object looks damaged");
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.112");
    ws.build(&[]);
    assert!(fs::read(&key).unwrap() == before);
    ws.assert_sound();
}

/// A cluster directory that is away keeps its generations for a while, whoever collects garbage.
#[test]
fn gc_waits_for_a_directory_that_is_away() {
    let ws = built();
    let other = Workspace::empty();
    let away = ws.dir.with_file_name("away");
    let objects = || list(&ws.store).len();
    let gc = |args: &[&str]| {
        let store = ws.store.display().to_string();
        let output = other.output(&[&["store", "gc", "--store", &store], args].concat());
        assert!(output.status.success(), "{}", ws.text(&output));
        ws.text(&output)
    };
    gc(&[]);
    let before = objects();
    fs::rename(&ws.dir, &away).unwrap();
    let said = gc(&[]);
    assert!(said.contains("does not exist; its generations are kept for 30 more days"), "{said}");
    assert_eq!(objects(), before);
    // Back again, and away once more: the time starts anew.
    let missing = only(&ws, "roots").join("missing");
    assert!(missing.exists());
    fs::rename(&away, &ws.dir).unwrap();
    gc(&[]);
    assert!(!missing.exists());
    fs::rename(&ws.dir, &away).unwrap();
    gc(&[]);
    fs::write(&missing, "1000\n").unwrap(); // long ago
    let said = gc(&["--dry-run"]);
    assert!(said.contains("is gone; its generations are no longer kept"), "{said}");
    fs::remove_file(&missing).unwrap();
    // An empty name is damage, not absence.
    fs::write(only(&ws, "roots").join("directory"), "").unwrap();
    gc(&["--forget-missing"]);
    assert_eq!(objects(), before);
    fs::rename(&away, &ws.dir).unwrap();
    assert_eq!(ws.build(&[]), [""; 0]);
    fs::rename(&ws.dir, &away).unwrap();
    let said = gc(&["--forget-missing"]);
    assert!(said.contains("is gone") && objects() < before, "{said}");
    fs::rename(&away, &ws.dir).unwrap();
}

/// An input that somebody changed is not built into anything, and does not leave the store.
#[test]
fn what_was_modified_is_not_used() {
    let ws = built();
    let file = file_of(&ws, "manifest/01-rbac");
    tamper(&file, |bytes| bytes[10] ^= 1);
    assert_eq!(ws.build(&[]), [""; 0], "nothing is read, so nothing is noticed");
    for args in [
        &["export", "copy"][..],
        &["show", "manifest/01-rbac"],
        &["show", "cluster:manifests/01-rbac.yaml"],
        &["show", "cluster"],
        &["blame", "cluster:manifests/01-rbac.yaml"],
    ] {
        let output = ws.output(args);
        let said = ws.text(&output);
        assert!(said.contains("was modified: its content changed"), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}: {said}");
    }
    assert!(!ws.dir.join("copy").exists());
    // Whatever a plan would find on the host: nothing of the closure is read before it is verified.
    let output = ws.output(&["realize", "plan"]);
    assert!(ws.text(&output).contains("was modified: its content changed"), "{}", ws.text(&output));
    // The cluster tree is built again, with another input changed.
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.112");
    let said = ws.run(&["build"]);
    assert!(said.contains("in the store was modified: its content changed"), "{said}");
    assert!(said.contains("hint: `tinderbox store repair`"), "{said}");
    let output = ws.output(&["store", "repair"]);
    assert!(output.status.success(), "{}", ws.text(&output));
    ws.assert_sound();
    ws.build(&[]);
    assert!(ws.output(&["export", "copy"]).status.success());
}

/// What somebody changed in the store is not compared. Differences of secrets are masked, and so would be what somebody wrote
/// in their place: it is refused as well.
/// The file of an object, and the mode of its manifest: both go with the object, and come back with it.
#[test]
fn two_damages_of_one_object_are_healed_in_one_run() {
    let ws = built();
    let file = file_of(&ws, "kubeconfig/admin");
    let id =
        file.parent().unwrap().file_name().unwrap().to_str().unwrap().split_once('-').unwrap().0.to_owned();
    tamper(&file, |bytes| bytes[10] ^= 1);
    crate::harness::set_mode(&ws.part("manifests").join(id), 0o644);
    let said = ws.run(&["store", "verify"]);
    assert!(said.contains("others can read this manifest") && said.contains("its content changed"), "{said}");
    let said = ws.run(&["store", "repair"]);
    assert!(said.contains("[exit 0]"), "{said}");
    ws.assert_sound();
}

#[test]
fn a_modified_secret_is_not_compared() {
    let ws = built();
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.112");
    ws.build(&[]);
    // A public file first: `diff` shows what it reads.
    let public = ["diff", "gen:1", "gen:2", "--only", "infra/network"];
    assert!(ws.run(&public).contains("192.168.126.112"), "{}", ws.run(&public));
    tamper(&file_of(&ws, "infra/network"), |bytes| bytes[10] ^= 1);
    let output = ws.output(&public);
    assert!(ws.text(&output).contains("was modified: its content changed"), "{}", ws.text(&output));
    assert!(output.stdout.is_empty() && !output.status.success());
    let args = ["diff", "gen:1", "gen:2", "--only", "ignition/worker-0"];
    let said = ws.run(&args);
    assert!(said.contains("192.168.126.112") && !said.contains("was modified"), "{said}");
    let built = ws.json(&["build", "ignition/worker-0"]);
    let object = std::path::PathBuf::from(built["targets"][0]["path"].as_str().unwrap());
    let name = list(&object).into_iter().find(|name| name.ends_with(".ign")).unwrap();
    let file = object.join(name);
    assert_eq!(mode(&file), 0o400, "it is secret");
    tamper(&file, |bytes| {
        let at = bytes.windows(8).position(|part| part == b"worker-0").unwrap();
        bytes[at] ^= 1;
    });
    let output = ws.output(&args);
    let said = ws.text(&output);
    assert!(said.contains("was modified: its content changed"), "{said}");
    assert!(output.stdout.is_empty() && !output.status.success(), "{said}");
}

/// gc touches what is in the store, and not what a link in it names.
#[test]
fn gc_follows_no_link() {
    let ws = built();
    let host = ws.temp().join("host");
    fs::create_dir(&host).unwrap();
    set_mode(&host, 0o511);
    let name = list(&ws.store).into_iter().find(|name| name.ends_with("-infra-pool")).unwrap();
    let mut fake: Vec<char> = name.chars().collect();
    fake[3] = if fake[3] == 'a' { 'b' } else { 'a' };
    std::os::unix::fs::symlink(&host, ws.store.join(fake.into_iter().collect::<String>())).unwrap();
    let output = ws.output(&["store", "gc"]);
    assert!(output.status.success(), "{}", ws.text(&output));
    assert_eq!(mode(&host), 0o511);
    ws.assert_sound();
}

/// A store may come with somebody else's cluster directory: what is old in its `tmp`, and what nothing refers to in its `links`,
/// is removed.
#[test]
fn a_store_whose_folders_are_elsewhere_is_not_used() {
    let workspace = Workspace::example().prebuilt();
    let outside = workspace.temp().join("outside");
    std::fs::create_dir_all(outside.join("sub")).unwrap();
    std::fs::write(outside.join("sub/mine"), "mine").unwrap();
    std::fs::write(outside.join("mine"), "mine").unwrap();
    let before = tree(&outside);
    for part in [
        "tmp",
        "links",
        "locks",
        "roots",
        "realisations",
        "manifests",
        "keys",
        "logs",
        "blobs",
        "downloads",
        "foreign",
    ] {
        let path = workspace.store.join(".tinderbox").join(part);
        let aside = workspace.temp().join("aside");
        let is_there = path.exists();
        if is_there {
            std::fs::rename(&path, &aside).unwrap();
        }
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        for verb in [&["build"][..], &["store", "gc"], &["store", "du"]] {
            let said = workspace.run(verb);
            assert!(said.contains("is a link") && said.contains("[exit 1]"), "{part}: {verb:?}: {said}");
        }
        let said = workspace.run(&["store", "verify"]);
        assert!(said.contains(&format!(".tinderbox/{part}")) && said.contains("[exit 1]"), "{part}: {said}");
        assert_eq!(tree(&outside), before, "{part}");
        std::fs::remove_file(&path).unwrap();
        if is_there {
            std::fs::rename(&aside, &path).unwrap();
        }
    }
    // Somebody's own store is mended.
    let tmp = workspace.store.join(".tinderbox/tmp");
    std::fs::remove_dir_all(&tmp).unwrap();
    std::os::unix::fs::symlink(&outside, &tmp).unwrap();
    workspace.output(&["store", "repair"]);
    workspace.assert_sound();
    assert_eq!(tree(&outside), before);
}
