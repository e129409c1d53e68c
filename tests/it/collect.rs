//! Garbage collection: what no root needs goes, and nothing else; and it says what.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::harness::{Workspace, list, tree, without_counts};

/// Three generations; the third is current.
fn three_generations() -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    for (from, to) in [("192.168.126.110", "192.168.126.120"), ("192.168.126.120", "192.168.126.130")] {
        ws.edit("cluster.yaml", from, to);
        ws.build(&[]);
    }
    ws
}

fn objects(ws: &Workspace) -> BTreeSet<String> {
    list(&ws.store).into_iter().filter(|name| !name.starts_with('.') && name != "README.md").collect()
}

fn doomed(plan: &serde_json::Value) -> BTreeSet<String> {
    plan["objects"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// Makes a file or directory look as old as this.
fn age(path: &Path, age: Duration) {
    let times = fs::FileTimes::new().set_modified(SystemTime::now() - age);
    fs::File::open(path).unwrap().set_times(times).unwrap();
}

/// All that a generation has stays; what was added and is nobody's goes.
#[test]
fn roots_keep_what_they_name() {
    let ws = three_generations();
    let before = objects(&ws);
    ws.write("stray.txt", "nobody's\n");
    ws.json(&["store", "add", "stray.txt"]);
    insta::assert_snapshot!(without_counts(&ws.run(&["store", "gc", "--dry-run"])), @r"
    [SIZE] OBJECT
    [SIZE] [ID]-stray.txt
    would free [SIZE] in 1 object; [N] stay
    [exit 0]
    ");
    assert_eq!(objects(&ws).len(), before.len() + 1, "a dry run frees nothing");
    insta::assert_snapshot!(without_counts(&ws.run(&["store", "gc"])), @r"
    [SIZE] OBJECT
    [SIZE] [ID]-stray.txt
    freed [SIZE] in 1 object; [N] stay
    [exit 0]
    ");
    assert_eq!(objects(&ws), before);
    assert_eq!(doomed(&ws.json(&["store", "gc"])), [].into());
    ws.assert_sound();
    assert_eq!(ws.build(&[]), [""; 0]);
    for number in ["1", "2", "3"] {
        ws.json(&["rollback", number]);
    }
}

/// `--keep-last` forgets older generations, and never the current one.
#[test]
fn keep_last() {
    let ws = three_generations();
    ws.json(&["rollback", "1"]);
    let plan = ws.json(&["store", "gc", "--keep-last", "1", "--dry-run"]);
    assert_eq!(plan["generations"].as_array().unwrap().len(), 1, "{plan}");
    assert_eq!(plan["generations"][0][1], 2);
    let before = objects(&ws);
    let planned = doomed(&plan);
    let text = without_counts(&ws.run(&["store", "gc", "--keep-last", "1"]));
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable(); // objects go by age, to the nanosecond
    insta::assert_snapshot!(lines.join("\n"), @r"
    [SIZE] OBJECT
    [SIZE] [ID]-cluster
    [SIZE] [ID]-ignition-id-worker-0
    [SIZE] [ID]-ignition-worker-0
    [SIZE] [ID]-infra-haproxy
    [SIZE] [ID]-infra-haproxy-pivoted
    [SIZE] [ID]-infra-network
    [SIZE] [ID]-infra-worker-0
    [exit 0]
    freed [SIZE] in [N] objects; [N] stay
    generation 2 of [DIR]
    ");
    assert_eq!(objects(&ws), before.difference(&planned).cloned().collect());
    assert!(!planned.is_empty());
    insta::assert_snapshot!(ws.run(&["generations"]), @"
    GENERATION   MADE                  PATH
    1 (current)  [TIME]  [STORE]/[ID]-cluster
    3            [TIME]  [STORE]/[ID]-cluster
    [exit 0]
    ");
    ws.assert_sound();
    assert_eq!(ws.build(&[]), [""; 0]);
    // What was freed is made again when it is needed.
    ws.edit("cluster.yaml", "192.168.126.130", "192.168.126.120");
    assert_eq!(ws.build(&[]).len(), 7, "all but `check/infra`, whose output is the same");
}

/// `--older-than` forgets generations of that age, and keeps objects that are younger.
#[test]
fn older_than() {
    let ws = three_generations();
    let day = Duration::from_secs(86400);
    let root = ws.part("roots").join(list(&ws.part("roots")).first().unwrap());
    age(&root.join("generations/1.json"), 40 * day);
    let plan = ws.json(&["store", "gc", "--older-than", "30d", "--dry-run"]);
    assert_eq!(plan["generations"][0][1], 1, "{plan}");
    assert_eq!(doomed(&plan), [].into(), "its objects are young");
    for name in list(&ws.part("manifests")) {
        age(&ws.part("manifests").join(name), 40 * day);
    }
    let before = objects(&ws);
    let gone = doomed(&ws.json(&["store", "gc", "--older-than", "30d"]));
    assert_eq!(gone.len(), 7, "all but `check/infra`, whose output is the same: {gone:?}");
    assert_eq!(objects(&ws), before.difference(&gone).cloned().collect());
    ws.assert_sound();
    // The current one stays, however old.
    for number in ["2", "3"] {
        age(&root.join(format!("generations/{number}.json")), 40 * day);
    }
    ws.json(&["store", "gc", "--older-than", "1s", "--keep-last", "0"]);
    assert_eq!(ws.json(&["generations"]).as_array().unwrap().len(), 1);
    assert_eq!(ws.build(&[]), [""; 0]);
}

/// `--max-size` removes the oldest, and only until the store is small enough.
#[test]
fn max_size() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let mut strays = Vec::new();
    for (at, letter) in ["a", "b", "c"].into_iter().enumerate() {
        ws.write("stray", &letter.repeat(10_000_000));
        let added = ws.json(&["store", "add", "stray"]);
        let object = added["object"].as_str().unwrap().to_owned();
        age(&ws.part("manifests").join(&object), Duration::from_secs(1000 - 100 * at as u64));
        strays.push(format!("{object}-stray"));
    }
    let gone = doomed(&ws.json(&["store", "gc", "--max-size", "100M"]));
    assert_eq!(gone, [].into());
    let less = ws.json(&["store", "du"])["stored"].as_u64().unwrap() - 1;
    let plan = ws.json(&["store", "gc", "--max-size", &less.to_string(), "--dry-run"]);
    assert_eq!(doomed(&plan), [strays[0].clone()].into(), "the oldest");
    assert_eq!(plan["freed"], 10_000_000);
    let gone = doomed(&ws.json(&["store", "gc", "--max-size", "0"]));
    assert_eq!(gone, strays.into_iter().collect(), "what is needed stays, whatever the size");
    ws.assert_sound();
}

/// Bytes that a living object shares are not freed.
#[test]
fn shared_bytes_are_not_freed() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.write("copy/infra/haproxy.cfg", &fs::read_to_string(ws.dir.join("result/infra/haproxy.cfg")).unwrap());
    ws.json(&["store", "add", "copy"]);
    let plan = ws.json(&["store", "gc"]);
    assert_eq!((doomed(&plan).len(), &plan["freed"]), (1, &serde_json::json!(0)), "{plan}");
    ws.assert_sound();
}

/// A cluster directory that is away keeps its generations for a while; once it is forgotten it keeps nothing any more.
#[test]
fn a_removed_cluster_directory() {
    let ws = three_generations();
    fs::rename(&ws.dir, ws.temp().join("away")).unwrap();
    fs::create_dir(&ws.dir).unwrap(); // the program is started somewhere
    let elsewhere = ws.command(&["store", "gc", "--dry-run"]).current_dir(ws.temp()).output().unwrap();
    assert!(ws.text(&elsewhere).contains("would free 0 B"), "an empty directory of that name is still there");
    fs::remove_dir(&ws.dir).unwrap();
    let before = objects(&ws);
    let gc = |args: &[&str]| {
        let gc = ws.command(&[&["store", "gc"], args].concat()).current_dir(ws.temp()).output().unwrap();
        assert!(gc.status.success(), "{}", ws.text(&gc));
        ws.text(&gc)
    };
    let said = gc(&[]);
    assert!(said.contains("its generations are kept for 30 more days"), "{said}");
    assert_eq!(objects(&ws), before, "it may only be unmounted");
    gc(&["--forget-missing"]);
    assert_eq!(objects(&ws), [].into());
    for part in ["realisations", "manifests", "links", "roots", "tmp"] {
        assert_eq!(list(&ws.part(part)), [].into(), "{part}");
    }
    fs::rename(ws.temp().join("away"), &ws.dir).unwrap();
    assert!(ws.build(&[]).len() > 15);
    ws.assert_sound();
    assert!(tree(&ws.dir.join("result/")).len() > 10);
}

/// Two cluster directories in one store keep each their own.
#[test]
fn two_directories_share_a_store() {
    let (one, mut other) = (three_generations(), Workspace::example().prebuilt());
    other.store = one.store.clone();
    assert_eq!(other.build(&[]), [""; 0], "the first generation of the one");
    one.json(&["store", "gc", "--keep-last", "1"]);
    assert_eq!(other.build(&[]), [""; 0]);
    assert_eq!(one.build(&[]), [""; 0]);
    one.assert_sound();
}
