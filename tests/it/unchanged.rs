//! Nothing changed: a build that found everything is remembered, says the same the next time, and hides no change.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Output;

use super::harness::{Workspace, set_mode, without_durations};

/// A cluster of which a file of every kind is read, and about which there is something to warn of.
fn example() -> Workspace {
    let workspace = Workspace::example().prebuilt();
    let text = fs::read_to_string(workspace.dir.join("cluster.yaml")).unwrap();
    workspace.write("cluster.yaml", &format!("{text}\nchecks: {{disabled: [replicas]}}\n"));
    workspace.write("manifests/mine.yaml", &config_map("mine", "one"));
    fs::write(workspace.temp().join("elsewhere.yaml"), config_map("elsewhere", "one")).unwrap();
    std::os::unix::fs::symlink("../../elsewhere.yaml", workspace.dir.join("manifests/linked.yaml")).unwrap();
    workspace
}

fn config_map(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: openshift-config}}\ndata: {{value: {value}}}\n"
    )
}

/// The file with the memo; none before the first build.
fn place(workspace: &Workspace) -> Option<PathBuf> {
    let root = fs::read_dir(workspace.part("roots")).ok()?.next()?;
    Some(root.unwrap().path().join("memo"))
}

fn memo(workspace: &Workspace) -> PathBuf {
    place(workspace).unwrap()
}

/// Which memo there is: a build that looks at everything replaces it.
fn inode(workspace: &Workspace) -> Option<u64> {
    fs::metadata(place(workspace)?).ok().map(|found| found.ino())
}

/// When a session last began or ended in the store. Every build that looks for itself has one.
fn last_session(workspace: &Workspace) -> Option<(i64, i64)> {
    fs::metadata(workspace.part("tmp")).ok().map(|found| (found.ctime(), found.ctime_nsec()))
}

/// Runs, and says whether the build was remembered.
fn run(workspace: &Workspace, args: &[&str]) -> (Output, bool) {
    let before = last_session(workspace);
    let output = workspace.output(args);
    let is_hit = output.status.success() && last_session(workspace) == before;
    (output, is_hit)
}

/// Builds until nothing is left to do and that is remembered.
fn settle(workspace: &Workspace) {
    for _ in 0..5 {
        let (output, is_hit) = run(workspace, &["build"]);
        assert!(output.status.success(), "{}", workspace.text(&output));
        if is_hit {
            return;
        }
    }
    panic!("no build is remembered");
}

#[test]
fn what_is_remembered_says_the_same() {
    let workspace = example();
    // Certificates that have ended, so that there is something to say about the time.
    let lock = fs::read_to_string(workspace.dir.join("cluster.lock")).unwrap();
    let epoch = super::harness::epoch();
    let earlier = format!("2020{}", epoch.get(4..).unwrap()).replace("-02-29", "-02-28");
    workspace.write("cluster.lock", &lock.replace(epoch, &earlier));
    settle(&workspace);
    let events = workspace.temp().join("events");
    let events = events.to_str().unwrap();
    for args in [
        &["build"][..],
        &["build", "cluster"],
        &["build", "--json"],
        &["build", "--verbose", "-j", "1"],
        &["build", "--quiet"],
        &["build", "--events", events],
    ] {
        let said = |output: &Output| {
            let log = fs::read_to_string(events).unwrap_or_default();
            (without_durations(&workspace.text(output)), output.stdout.clone(), log)
        };
        fs::remove_file(memo(&workspace)).unwrap();
        let (first, is_hit) = run(&workspace, args);
        assert!(!is_hit && first.status.success(), "{args:?}: {}", workspace.text(&first));
        let first = said(&first);
        let (second, is_hit) = run(&workspace, args);
        assert!(is_hit, "{args:?}");
        assert_eq!(said(&second), first, "{args:?}");
        let warned = first.0.contains("turned off") && first.0.contains("expired at");
        assert!(warned || args.contains(&"--quiet"), "{}", first.0);
    }
    assert_eq!(fs::metadata(memo(&workspace)).unwrap().permissions().mode() & 0o777, 0o600);
    workspace.assert_sound();
}

#[test]
fn other_builds_are_not_remembered() {
    let workspace = example();
    settle(&workspace);
    let before = inode(&workspace);
    fs::remove_file(workspace.dir.join("result")).unwrap();
    for args in [&["build", "--no-link"][..], &["build", "infra"], &["build", "--dry-run"]] {
        let output = workspace.output(args);
        assert!(output.status.success(), "{args:?}: {}", workspace.text(&output));
    }
    assert!(!workspace.dir.join("result").exists());
    assert_eq!(inode(&workspace), before);
    // The link is part of a usual build.
    assert!(!run(&workspace, &["build"]).1);
    assert!(workspace.dir.join("result").exists());
}

/// Replaces a text by one of the same length, and leaves the file's times as they were.
fn replace_unseen(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    let file = fs::File::options().write(true).open(path).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    std::io::Write::write_all(&mut &file, text.replacen(from, to, 1).as_bytes()).unwrap();
    file.set_modified(before).unwrap();
}

/// Some file of a part of the store.
fn any(workspace: &Workspace, part: &str) -> PathBuf {
    fs::read_dir(workspace.part(part)).unwrap().next().unwrap().unwrap().path()
}

type Edit = (&'static str, fn(&Workspace));

const IN_THE_DIRECTORY: [Edit; 14] = [
    ("cluster.yaml, of the same size and time", |ws| {
        replace_unseen(&ws.dir.join("cluster.yaml"), "192.168.126.110", "192.168.126.120");
    }),
    ("install-config.yaml, of the same size and time", |ws| {
        replace_unseen(&ws.dir.join("install-config.yaml"), "172.30.0.0/16", "172.31.0.0/16");
    }),
    ("a comment", |ws| {
        let path = ws.dir.join("cluster.yaml");
        fs::write(&path, fs::read_to_string(&path).unwrap() + "# a comment\n").unwrap();
    }),
    ("the lock", |ws| replace_unseen(&ws.dir.join("cluster.lock"), "T00:00:00Z", "T00:00:01Z")),
    ("another seed", |ws| ws.write_seed(&[8; 32])),
    ("a seed that others may read", |ws| set_mode(&ws.dir.join("cluster.seed"), 0o644)),
    ("no seed", |ws| fs::remove_file(ws.dir.join("cluster.seed")).unwrap()),
    ("one more manifest", |ws| ws.write("manifests/more.yaml", &config_map("more", "one"))),
    ("one less", |ws| fs::remove_file(ws.dir.join("manifests/mine.yaml")).unwrap()),
    ("another manifest", |ws| {
        replace_unseen(&ws.dir.join("manifests/mine.yaml"), "value: one", "value: two")
    }),
    ("what a link leads to", |ws| {
        replace_unseen(&ws.temp().join("elsewhere.yaml"), "value: one", "value: two")
    }),
    ("a link to what is private", |ws| set_mode(&ws.temp().join("elsewhere.yaml"), 0o600)),
    ("a first patch", |ws| {
        ws.write("patches/dns.yaml", "not a patch\n");
    }),
    ("a first recipe", |ws| ws.write("recipes/60-mine/one.toml", "not a recipe\n")),
];

const AROUND_IT: [Edit; 11] = [
    ("the user's configuration", |ws| {
        let path = ws.temp().join(".config/tinderbox/config.yaml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "caches: []\n").unwrap();
    }),
    ("a git repository", |ws| fs::create_dir(ws.dir.join(".git")).unwrap()),
    ("the link", |ws| {
        fs::remove_file(ws.dir.join("result")).unwrap();
        std::os::unix::fs::symlink("elsewhere", ws.dir.join("result")).unwrap();
    }),
    ("an object", |ws| {
        let object = fs::read_link(ws.dir.join("result")).unwrap();
        set_mode(&object, 0o700);
        fs::rename(object, ws.temp().join("away")).unwrap();
    }),
    ("a listing", |ws| {
        let object = fs::read_link(ws.dir.join("result")).unwrap();
        let name = object.file_name().unwrap().to_str().unwrap();
        fs::remove_file(ws.part("manifests").join(name.split_once('-').unwrap().0)).unwrap();
    }),
    ("the realisations", |ws| {
        for file in fs::read_dir(ws.part("realisations")).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
    }),
    ("the key", |ws| fs::remove_file(any(ws, "keys")).unwrap()),
    ("the README", |ws| fs::remove_file(ws.store.join("README.md")).unwrap()),
    ("the state", |ws| fs::remove_file(memo(ws).with_file_name("state")).unwrap()),
    ("what a killed process left", |ws| fs::create_dir(ws.part("tmp").join("session-1")).unwrap()),
    ("the memo", |ws| {
        let mut bytes = fs::read(memo(ws)).unwrap();
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        fs::write(memo(ws), bytes).unwrap();
    }),
];

/// Makes an edit after a remembered build, and puts the directory back.
fn edits(all: &[Edit]) {
    let workspace = example();
    settle(&workspace);
    let files = ["cluster.yaml", "install-config.yaml", "cluster.lock", "manifests/mine.yaml"];
    let before = files.map(|file| (file, fs::read(workspace.dir.join(file)).unwrap()));
    for (what, edit) in all {
        edit(&workspace);
        let (output, is_hit) = run(&workspace, &["build"]);
        assert!(!is_hit, "{what}: {}", workspace.text(&output));
        for (file, bytes) in &before {
            fs::write(workspace.dir.join(file), bytes).unwrap();
        }
        workspace.write_seed(&super::harness::SEED);
        set_mode(&workspace.temp().join("elsewhere.yaml"), 0o644);
        let more = ["manifests/more.yaml", "patches/dns.yaml", "recipes/60-mine/one.toml"];
        more.iter().for_each(|file| drop(fs::remove_file(workspace.dir.join(file))));
        let _ = fs::remove_dir(workspace.dir.join(".git"));
        settle(&workspace);
    }
    workspace.assert_sound();
}

#[test]
fn no_edit_of_the_directory_is_hidden() {
    edits(&IN_THE_DIRECTORY);
}

#[test]
fn no_change_around_it_is_hidden() {
    edits(&AROUND_IT);
}

/// Another program, another home, other rules about the network: each has to look for itself.
#[test]
fn how_it_is_called_counts() {
    let workspace = example();
    let program = workspace.temp().join("tinderbox");
    fs::copy(env!("CARGO_BIN_EXE_tinderbox"), &program).unwrap();
    let other_home = workspace.temp().join("home");
    fs::create_dir(&other_home).unwrap();
    let mut copy = workspace.command_of(&program, &["build"]);
    let mut at_home = workspace.command(&["build"]);
    at_home.env("HOME", other_home);
    let mut offline = workspace.command(&["build", "--offline"]);
    let mut elsewhere = workspace.command(&["-C", "..", "build"]);
    elsewhere.current_dir(workspace.dir.join("manifests"));
    for (what, command) in [
        ("program", &mut copy),
        ("home", &mut at_home),
        ("network", &mut offline),
        ("a relative path from elsewhere", &mut elsewhere),
    ] {
        settle(&workspace);
        let before = last_session(&workspace);
        assert!(command.output().unwrap().status.success(), "{what}");
        assert_ne!(last_session(&workspace), before, "{what}");
    }
}

/// What decides nothing does not count: times of files, files that nobody reads.
#[test]
fn what_decides_nothing_is_not_looked_at() {
    let workspace = example();
    settle(&workspace);
    workspace.write("notes.txt", "nothing to see\n");
    workspace.write("manifests/.hidden.yaml.swp", "");
    fs::remove_file(workspace.dir.join("manifests/.hidden.yaml.swp")).unwrap();
    let text = fs::read(workspace.dir.join("cluster.yaml")).unwrap();
    fs::remove_file(workspace.dir.join("cluster.yaml")).unwrap();
    workspace.write("cluster.yaml", std::str::from_utf8(&text).unwrap());
    assert!(run(&workspace, &["build"]).1);
}
