//! What a store, a disk, or a directory does not allow: a clear error, and nothing half done.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{built, script};
use crate::harness::{
    Workspace, in_mount_namespace, is_root, left_out, list, mode, set_mode, tree, without_counts,
};

#[test]
fn a_store_of_a_newer_format_is_refused() {
    let ws = built();
    let before = tree(&ws.store).len();
    fs::write(ws.part("format"), "2\n").unwrap();
    fs::write(ws.store.join("README.md"), "# The store, format 2\n").unwrap();
    for args in [
        &["build"][..],
        &["store", "ls"],
        &["store", "gc"],
        &["store", "verify"],
        &["store", "repair"],
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
         mkdir -p $S/lost+found; head -c 7m /dev/zero > $S/lost+found/filler
         $T build -k -j 1 demo infra/network; echo full: $?
         $T store verify; echo verify: $?
         ls $S/.tinderbox/tmp
         cat /dev/zero >> $S/lost+found/filler 2>/dev/null
         $T build infra/haproxy; echo full: $?
         $T lock; $T build; echo full: $?
         rm $S/lost+found/filler
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
            left_out("a device node", "the right to make one (mknod)");
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
