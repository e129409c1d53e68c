//! Bad days of a store: damage is named, the next build or `repair` heals it, and errors say what to do.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::{
    Workspace, in_mount_namespace, is_root, list, mode, set_mode, tamper, tree, without_counts,
};

/// The example, built.
fn built() -> Workspace {
    let ws = Workspace::example();
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
    let (first, _) = good.split_once('\n').unwrap();
    for text in ["", "{", "\u{0}\u{0}\u{0}", "{\"outputs\":[]}\n", &first[..first.len() / 2], "[1, 2]\n{}\n"]
    {
        fs::write(&path, text).unwrap();
        assert_eq!(ws.build(&[]), ["infra/pool"], "{text:?}");
        assert_eq!(fs::read_to_string(&path).unwrap().lines().next(), Some(first));
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
    ws.assert_sound();
    assert_eq!(ws.build(&[]), [""; 0]);
}

#[test]
fn a_store_of_a_newer_format_is_refused() {
    let ws = built();
    let before = tree(&ws.store).len();
    fs::write(ws.part("format"), "2\n").unwrap();
    for args in [
        &["build"][..],
        &["store", "ls"],
        &["store", "gc"],
        &["store", "verify"],
        &["generations"],
        &["store", "add", "cluster.yaml"],
    ] {
        let output = ws.output(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", ws.text(&output));
        assert!(ws.text(&output).contains("has format `2`"), "{args:?}: {}", ws.text(&output));
    }
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: the store `[STORE]` has format `2`, but this tinderbox supports format 1
    hint: use the tinderbox that created it, or another store (`--store DIR`)
    [exit 1]
    ");
    for args in [&["build", "--dry-run"][..], &["show", "cluster"], &["why", "cluster"]] {
        assert!(ws.run(args).contains("has format `2`"), "{args:?}: {}", ws.run(args));
    }
    assert_eq!(tree(&ws.store).len(), before);
    // A store that a newer version has only begun is not built into either.
    let ws = Workspace::example();
    fs::create_dir_all(ws.part("")).unwrap();
    fs::write(ws.part("format"), "2\n").unwrap();
    assert_eq!(ws.output(&["build"]).status.code(), Some(1));
    assert_eq!(list(&ws.part("")), ["format".to_owned()].into());
}

/// A store that the user may not write to: what is in it can be used, and what is not says so.
#[test]
fn a_read_only_store_as_a_plain_user() {
    let ws = built();
    // The directory is nobody's own; the store is not.
    ws.give_away();
    if is_root() {
        let status = Command::new("chown").args(["-R", "0:0"]).arg(&ws.store).status().unwrap();
        assert!(status.success());
    } else {
        for path in [ws.store.clone(), ws.part("")]
            .into_iter()
            .chain(list(&ws.part("")).iter().map(|name| ws.part(name)))
        {
            let readable = if path.is_dir() { 0o555 } else { 0o444 };
            set_mode(&path, readable);
        }
    }
    let part = "a read-only store as a plain user";
    let Some(mut nothing) = ws.as_plain_user(part, &["build", "infra/haproxy", "infra/network"]) else {
        return;
    };
    let nothing = nothing.output().unwrap();
    assert!(nothing.status.success(), "a build that builds nothing works: {}", ws.text(&nothing));
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    let build = ws.as_plain_user(part, &["build", "infra/haproxy"]).unwrap().output().unwrap();
    insta::assert_snapshot!(ws.text(&build), @"
    [stderr]
    failed infra/haproxy
    note: the store is read-only: this build is not kept as a generation
    error: `infra/haproxy` cannot be stored
    caused by: the store `[STORE]` is read-only
    hint: use a writable store: `--store DIR` or TINDERBOX_STORE
    [exit 1]
    ");
    let gc = ws.as_plain_user(part, &["store", "gc"]).unwrap().output().unwrap();
    assert_eq!(gc.status.code(), Some(1), "{}", ws.text(&gc));
    assert!(ws.text(&gc).contains("hint:"), "{}", ws.text(&gc));
    ws.edit("cluster.yaml", "ip: 192.168.126.120", "ip: 192.168.126.110");
    if !is_root() {
        for path in [ws.store.clone(), ws.part("")]
            .into_iter()
            .chain(list(&ws.part("")).iter().map(|name| ws.part(name)))
        {
            if path.is_dir() {
                set_mode(&path, 0o755);
            }
        }
    }
    ws.assert_sound();
}

/// A script in a mount namespace of its own, with `$T` the program and `$S` the store.
pub(crate) fn script(ws: &Workspace, flags: &[&str], script: &str) -> String {
    let mut command = ws.command_of(Path::new("unshare"), flags);
    command.args(["sh", "-c", script]).env("T", env!("CARGO_BIN_EXE_tinderbox")).env("S", &ws.store);
    ws.text(&command.output().unwrap())
}

#[test]
fn a_store_on_a_read_only_mount() {
    let Some(flags) = in_mount_namespace("a store on a read-only mount") else { return };
    let ws = built();
    let text = script(
        &ws,
        &flags,
        "mount --bind $S $S && mount -o remount,bind,ro $S && $T build && $T build && $T store verify -q",
    );
    insta::assert_snapshot!(without_counts(&text), @r"
    [STORE]/[ID]-cluster
    [STORE]/[ID]-cluster
    [N] objects, [N] files, [SIZE]: all sound
    [exit 0]
    ");
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    let text = script(
        &ws,
        &flags,
        "mount --bind $S $S && mount -o remount,bind,ro $S; $T build infra/haproxy; $T build --dry-run -q; $T store gc",
    );
    insta::assert_snapshot!(text, @r"
    ignition/worker-0
    ignition-id/worker-0
    infra/haproxy
    infra/haproxy-pivoted
    infra/network
    infra/worker-0
    check/ignition
    check/infra
    cluster
    [stderr]
    failed infra/haproxy
    note: the store is read-only: this build is not kept as a generation
    error: `infra/haproxy` cannot be stored
    caused by: the store `[STORE]` is read-only
    hint: use a writable store: `--store DIR` or TINDERBOX_STORE
    error: cannot open `[STORE]/.tinderbox/locks/sessions`
    caused by: Read-only file system (os error 30)
    hint: the file system is mounted read-only
    [exit 1]
    ");
    ws.build(&[]);
    ws.assert_sound();
}

/// A full disk: a clear error with a hint, a sound store, and a build that succeeds once there is room.
#[test]
fn a_full_disk() {
    let Some(flags) = in_mount_namespace("a full disk") else { return };
    let ws = Workspace::with(&[
        ("recipes/20-demo/large.toml", "builder = 'template'\n[files]\n'large' = 'large.j2'\n"),
        (
            "recipes/20-demo/large.j2",
            "{% for i in range(30000) %}a line of a large file, number {{ i }}\n{% endfor %}",
        ),
    ]);
    fs::create_dir(&ws.store).unwrap();
    let text = script(
        &ws,
        &flags,
        "mount -t tmpfs -o size=8m,mode=755 tinderbox $S
         $T build infra/pool; echo built: $?
         head -c 7m /dev/zero > $S/filler
         $T build -k -j 1 demo infra/network; echo full: $?
         $T store verify; echo verify: $?
         ls $S/.tinderbox/tmp
         cat /dev/zero >> $S/filler 2>/dev/null
         $T build infra/haproxy; echo full: $?
         $T lock; $T build; echo full: $?
         rm $S/filler
         $T store verify; echo verify: $?
         $T build -q demo cluster; echo room: $?
         $T store verify; echo verify: $?
         ls $S/.tinderbox/tmp",
    );
    let (stdout, stderr) = text.split_once("[stderr]\n").unwrap();
    insta::assert_snapshot!(without_counts(stdout), @r"
    [STORE]/[ID]-infra-pool
    built: 0
    [STORE]/[ID]-infra-network
    full: 1
    [N] objects, [N] files, [SIZE]: all sound
    verify: 0
    full: 1
    full: 1
    [N] objects, [N] files, [SIZE]: all sound
    verify: 0
    [STORE]/[ID]-demo-large
    [STORE]/[ID]-cluster
    room: 0
    [N] objects, [N] files, [SIZE]: all sound
    verify: 0
    ");
    let full = "caused by: No space left on device (os error 28)\n\
                hint: the disk is full: free some space (`tinderbox store gc`), or use `--store DIR` on another file system\n";
    assert!(stderr.matches(full).count() >= 3, "{stderr}");
}

/// A cluster directory that cannot be written to: what is built is built, and the error says what could not be done.
#[test]
fn a_cluster_directory_without_write_permission() {
    let ws = Workspace::example();
    fs::create_dir(&ws.store).unwrap();
    ws.give_away();
    set_mode(&ws.dir, 0o555);
    let part = "a cluster directory without write permission";
    let Some(mut build) = ws.as_plain_user(part, &["build", "-q"]) else { return set_mode(&ws.dir, 0o755) };
    let build = build.output().unwrap();
    insta::assert_snapshot!(ws.text(&build), @"
    [stderr]
    error: everything is built, but `[DIR]/result` cannot be updated
    caused by: cannot create `[DIR]/result`
    caused by: Permission denied (os error 13)
    hint: check the owner and mode of `[DIR]/result` and the directory that holds it
    [exit 1]
    ");
    let build = ws.as_plain_user(part, &["build", "-q", "--no-link"]).unwrap().output().unwrap();
    insta::assert_snapshot!(ws.text(&build), @"
    [STORE]/[ID]-cluster
    [exit 0]
    ");
    set_mode(&ws.dir, 0o755);
    fs::remove_file(ws.dir.join("cluster.lock")).unwrap();
    set_mode(&ws.dir, 0o555);
    let build = ws.as_plain_user(part, &["build", "-q"]).unwrap().output().unwrap();
    insta::assert_snapshot!(ws.text(&build), @"
    [stderr]
    error: cannot create `[DIR]/cluster.lock`
    caused by: Permission denied (os error 13)
    hint: check the owner and mode of `[DIR]/cluster.lock` and the directory that holds it
    [exit 1]
    ");
    set_mode(&ws.dir, 0o755);
}

/// Something that is not a link stands where `result` should be: it is left alone.
#[test]
fn a_result_that_is_not_ours() {
    let ws = Workspace::with(&[("result", "mine")]);
    insta::assert_snapshot!(ws.run(&["build", "-q"]), @"
    [stderr]
    error: `[DIR]/result` already exists, and is left alone
    hint: move it away: `result` is the link that `build` keeps
    [exit 1]
    ");
    assert_eq!(fs::read_to_string(ws.dir.join("result")).unwrap(), "mine");
}

/// What cannot be stored is refused by name; nothing of it stays behind.
#[test]
fn outputs_that_cannot_be_stored() {
    let ws = Workspace::example();
    let source = ws.dir.join("source");
    let add = |ws: &Workspace| {
        let text = ws.run(&["store", "add", "source"]);
        assert_eq!(list(&ws.part("tmp")), [].into());
        assert_eq!(list(&ws.store), [".tinderbox".to_owned(), "README.md".to_owned()].into());
        fs::remove_dir_all(&source).unwrap();
        fs::create_dir_all(source.join("below")).unwrap();
        text
    };
    fs::create_dir_all(source.join("below")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", source.join("below/absolute")).unwrap();
    insta::assert_snapshot!(add(&ws), @"
    [stderr]
    error: the output contains `below/absolute`, which cannot be stored: a link may not be absolute: it would leave the store
    hint: an output may contain files, directories and links that stay inside it, with plain names
    [exit 1]
    ");
    std::os::unix::fs::symlink("../../out", source.join("below/climbs")).unwrap();
    insta::assert_snapshot!(add(&ws), @"
    [stderr]
    error: the output contains `below/climbs`, which cannot be stored: a link may not leave its tree
    hint: an output may contain files, directories and links that stay inside it, with plain names
    [exit 1]
    ");
    assert!(Command::new("mkfifo").arg(source.join("pipe")).status().unwrap().success());
    insta::assert_snapshot!(add(&ws), @"
    [stderr]
    error: the output contains `pipe`, which cannot be stored: it is a named pipe
    hint: an output may contain files, directories and links that stay inside it, with plain names
    [exit 1]
    ");
    let _socket = std::os::unix::net::UnixListener::bind(source.join("socket")).unwrap();
    insta::assert_snapshot!(add(&ws), @"
    [stderr]
    error: the output contains `socket`, which cannot be stored: it is a socket
    hint: an output may contain files, directories and links that stay inside it, with plain names
    [exit 1]
    ");
    if is_root() {
        let made = Command::new("mknod").arg(source.join("null")).args(["c", "1", "3"]).status();
        if made.is_ok_and(|status| status.success()) {
            insta::assert_snapshot!(add(&ws), @"
            [stderr]
            error: the output contains `null`, which cannot be stored: it is a device
            hint: an output may contain files, directories and links that stay inside it, with plain names
            [exit 1]
            ");
        } else {
            super::harness::left_out("a device node", "the right to make one (mknod)");
        }
    }
    fs::write(source.join("new\nline"), "x").unwrap();
    insta::assert_snapshot!(add(&ws), @r#"
    [stderr]
    error: the output contains `new\nline`, which cannot be stored: a path may not contain control characters
    hint: an output may contain files, directories and links that stay inside it, with plain names
    [exit 1]
    "#);
    // And what can be: links that stay inside, executables, empty directories.
    fs::write(source.join("below/file"), "x").unwrap();
    set_mode(&source.join("below/file"), 0o775);
    std::os::unix::fs::symlink("below/file", source.join("link")).unwrap();
    fs::create_dir(source.join("empty")).unwrap();
    let added = PathBuf::from(ws.json(&["store", "add", "source"])["path"].as_str().unwrap());
    assert_eq!((mode(&added.join("below/file")), mode(&added.join("empty"))), (0o555, 0o555));
    assert_eq!(fs::read_link(added.join("link")).unwrap(), Path::new("below/file"));
    ws.assert_sound();
}

#[test]
fn a_seed_that_others_can_read_is_refused() {
    let ws = Workspace::example();
    let seed = ws.dir.join("cluster.seed");
    for bits in [0o640, 0o604, 0o660, 0o644] {
        set_mode(&seed, bits);
        let text = ws.run(&["build"]);
        assert!(text.contains("can be read by others") && text.ends_with("[exit 1]\n"), "{bits:o}: {text}");
    }
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed` can be read by others
    hint: if nobody else has read it: `chmod 600 [DIR]/cluster.seed`
    [exit 1]
    ");
    assert!(!ws.store.exists(), "refused before anything is made of it");
    ws.write_seed(&[7; 31]);
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed` is not 32 bytes long
    hint: restore it from your backup: a new seed is a new cluster
    [exit 1]
    ");
    ws.write_seed(&[]);
    insta::assert_snapshot!(ws.run(&["lock"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed` is not 32 bytes long
    hint: restore it from your backup: a new seed is a new cluster
    [exit 1]
    ");
    fs::remove_file(&seed).unwrap();
    std::os::unix::fs::symlink("elsewhere", &seed).unwrap();
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed` is not a plain file
    hint: put the file itself there
    [exit 1]
    ");
}

/// Secret objects are for their owner only, public ones for everybody; keys are hidden; equal files are one.
#[test]
fn modes_and_sharing() {
    let ws = built();
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
