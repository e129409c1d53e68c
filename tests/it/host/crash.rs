//! `kill -9` at random points, Ctrl-C, several processes at once, gc in between, failures, divergence.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::harness::{Workspace, list, names, tree};

/// Derivations in layers, each of two of the layer below; the first layer is of `salt.j2`, but for one of `single.j2`.
fn load(layers: usize, width: usize, pad: usize) -> Workspace {
    let ws = Workspace::example();
    let name = |layer: usize, at: usize| format!("l{layer}-{at}-{}", "x".repeat(pad));
    ws.write("recipes/10-load/salt.j2", "salt\n");
    ws.write("recipes/10-load/single.j2", "single\n");
    let parts = "{% for path, text in a | items %}{{ text }}{% endfor %}{% for path, text in b | items %}{{ text }}{% endfor %}";
    ws.write("recipes/10-load/join.j2", parts);
    for at in 0..width {
        let file = if at == 0 { "single.j2" } else { "salt.j2" };
        let text = format!("builder = 'template'\n[files]\n'out-{at}' = '{file}'\n");
        ws.write(&format!("recipes/10-load/{}.toml", name(0, at)), &text);
        for layer in 1..layers {
            let (a, b) = (name(layer - 1, at), name(layer - 1, (at + 1) % width));
            let text = format!(
                "builder = 'template'\n[inputs]\na = 'load/{a}'\nb = 'load/{b}'\n[files]\n'out-{layer}-{at}' = 'join.j2'\n"
            );
            ws.write(&format!("recipes/10-load/{}.toml", name(layer, at)), &text);
        }
    }
    ws
}

/// A small generator, so that a failing run can be run again.
struct Random(u64);

impl Random {
    /// From TINDERBOX_TEST_SEED, else from the clock. Says so; a failing test shows what it said.
    fn new() -> Self {
        let given = std::env::var("TINDERBOX_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed =
            given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
        eprintln!("TINDERBOX_TEST_SEED={seed}");
        Self(seed | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Some part of a duration.
    fn part(&mut self, of: Duration) -> Duration {
        Duration::from_micros(self.below(of.as_micros() as u64 + 1))
    }
}

fn start(ws: &Workspace, args: &[&str]) -> Child {
    ws.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts, and kills after a while that nobody chose. This delay is the point of the test, not a wait. Whether the kill
/// came before the end.
fn start_and_kill(ws: &Workspace, args: &[&str], after: Duration) -> bool {
    let mut child = ws.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    let _ = child.kill(); // it may have ended by itself
    child.wait().unwrap().code().is_none()
}

/// Name and content of every derivation of the load.
fn contents(ws: &Workspace) -> BTreeSet<(String, String)> {
    let report = ws.json(&["build", "load"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    report["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["name"]), text(&one["object"])))
        .collect()
}

/// Builds in a fresh store what the workspace has now, and compares every object byte by byte.
fn assert_as_from_scratch(ws: &Workspace, contents: &BTreeSet<(String, String)>) {
    let fresh = Workspace::example();
    for (path, (_, bytes)) in tree(&ws.dir.join("recipes")) {
        fresh.write(&format!("recipes/{path}"), &String::from_utf8(bytes).unwrap());
    }
    assert_eq!(self::contents(&fresh), *contents);
    let mine: BTreeSet<&str> = contents.iter().map(|(_, object)| object.as_str()).collect();
    let objects = |ws: &Workspace| {
        let of_build = |path: &str| path.split(['-', '/']).next().is_some_and(|id| mine.contains(id));
        tree(&ws.store).into_iter().filter(|(path, _)| of_build(path)).collect::<Vec<_>>()
    };
    let (ours, theirs) = (objects(ws), objects(&fresh));
    assert!(ours.len() >= mine.len());
    assert!(ours == theirs, "not the same bytes as from scratch");
}

/// 100 rounds of an edit, a build that is killed, and the questions whether the store is sound, whether the next build
/// succeeds and cleans up, and whether it serves what the files say.
#[test]
fn kill_nine_at_random_points() {
    let ws = load(5, 40, 0);
    let mut random = Random::new();
    let begin = Instant::now();
    assert_eq!(ws.build(&["load"]).len(), 200);
    let whole = begin.elapsed();
    let mut killed = 0;
    for round in 0..100 {
        let file = if random.below(4) == 0 { "recipes/10-load/single.j2" } else { "recipes/10-load/salt.j2" };
        ws.write(file, &format!("round {round}\n"));
        killed += usize::from(start_and_kill(&ws, &["build", "load"], random.part(whole)));
        ws.assert_sound();
        let contents = contents(&ws);
        assert_eq!(contents.len(), 200);
        assert_eq!(list(&ws.part("tmp")), [].into(), "round {round}");
        if round % 10 == 9 {
            assert_as_from_scratch(&ws, &contents);
            ws.json(&["store", "gc"]);
        }
    }
    ws.assert_sound();
    eprintln!("{killed} of 100 builds were killed");
    assert!(killed > 0, "no build was killed");
}

/// The same for gc: whatever it was about to remove is either whole or gone.
#[test]
fn kill_nine_during_gc() {
    let ws = load(3, 20, 0);
    let mut random = Random::new();
    ws.build(&["load"]);
    let mut whole = Duration::from_millis(50);
    let mut killed = 0;
    for round in 0..30 {
        for half in ["one", "other"] {
            ws.write("recipes/10-load/salt.j2", &format!("round {round} {half}\n"));
            ws.build(&["load"]);
        }
        if round % 5 == 0 {
            let begin = Instant::now();
            ws.json(&["store", "gc"]);
            whole = begin.elapsed();
            continue;
        }
        killed += usize::from(start_and_kill(&ws, &["store", "gc"], random.part(whole)));
        ws.assert_sound();
        assert_eq!(ws.build(&["load"]), [""; 0], "round {round}: nothing that is needed is gone");
        assert_eq!(list(&ws.part("tmp")), [].into(), "round {round}");
        // What was collected, or only half, is made again when it is asked for.
        ws.write("recipes/10-load/salt.j2", &format!("round {round} one\n"));
        assert_eq!(contents(&ws).len(), 60);
        ws.assert_sound();
    }
    assert!(killed > 0, "no gc was killed");
}

/// Processes that build the same graph at once build every derivation once, between them.
#[test]
fn each_derivation_is_built_once() {
    let ws = load(4, 25, 0);
    for (round, processes) in [2, 4].into_iter().enumerate() {
        ws.write("recipes/10-load/salt.j2", &format!("together {round}\n"));
        ws.write("recipes/10-load/single.j2", &format!("together {round}\n"));
        let children: Vec<Child> = (0..processes).map(|_| start(&ws, &["build", "load", "--json"])).collect();
        let mut built = Vec::new();
        let mut paths = BTreeSet::new();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", ws.text(&output));
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            built.extend(names(&report["built"]));
            assert_eq!(names(&report["built"]).len() + names(&report["cached"]).len(), 100);
            paths.insert(report["targets"].to_string());
        }
        assert_eq!(built.len(), 100, "{processes} processes");
        assert_eq!(built.iter().collect::<BTreeSet<_>>().len(), 100);
        assert_eq!(paths.len(), 1, "and all have the same");
        assert_eq!(list(&ws.part("tmp")), [].into());
        ws.assert_sound();
    }
}

/// Two builders of one store, in two directories, while gc never stops.
#[test]
fn gc_during_builds() {
    let one = load(4, 10, 0);
    let mut other = load(4, 10, 0);
    other.store = one.store.clone();
    one.build(&["infra/pool"]);
    let done = AtomicBool::new(false);
    let builder = |ws: &Workspace, word: &str| {
        for round in 0..10 {
            ws.write("recipes/10-load/salt.j2", &format!("{word} {}\n", round / 2 % 3));
            ws.write("recipes/10-load/single.j2", &format!("{word} {round}\n"));
            ws.build(&["load"]);
            assert!(ws.json(&["build", "load", "cluster"])["failed"].as_array().unwrap().is_empty());
        }
    };
    std::thread::scope(|threads| {
        let collector = threads.spawn(|| {
            let mut rounds = 0;
            while !done.load(Ordering::Relaxed) {
                one.json(&["store", "gc"]);
                rounds += 1;
            }
            rounds
        });
        let builders = [threads.spawn(|| builder(&one, "same")), threads.spawn(|| builder(&other, "same"))];
        let ends: Vec<_> = builders.into_iter().map(|builder| builder.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(collector.join().unwrap() > 0);
        assert!(ends.iter().all(Result::is_ok));
    });
    one.assert_sound();
    assert_eq!(one.build(&["load", "cluster"]), [""; 0]);
    assert_eq!(other.build(&["load", "cluster"]), [""; 0]);
}

/// Verification beside builds and gc never cries wolf.
#[test]
fn verify_during_builds() {
    let ws = load(3, 15, 0);
    ws.build(&["load"]);
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let verifier = threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                ws.assert_sound();
            }
        });
        let builder = threads.spawn(|| {
            for round in 0..12 {
                ws.write("recipes/10-load/salt.j2", &format!("round {round}\n"));
                ws.build(&["load"]);
                if round % 2 == 1 {
                    ws.json(&["store", "gc"]);
                }
            }
        });
        let end = builder.join();
        done.store(true, Ordering::Relaxed);
        verifier.join().unwrap();
        end.unwrap();
    });
}

/// Ctrl-C: what is finished is kept, nothing else stays, and the next build goes on from there.
#[test]
fn an_interrupt_leaves_the_store_clean() {
    // The names are long so that what the build says does not fit into a pipe: it cannot finish before we read on.
    let ws = load(20, 20, 120);
    let mut child = start(&ws, &["build", "load", "-v"]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("built ") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "the build ended early");
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest}");
    let last = rest.lines().last().unwrap();
    let kept = last.strip_prefix("error: interrupted; ").and_then(|rest| rest.split(' ').next());
    let kept: usize = kept.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{last}"));
    assert!((1..400).contains(&kept), "{last}");
    assert!(last.ends_with("kept in the store, and the next build continues from there"), "{last}");
    assert_eq!(list(&ws.part("tmp")), [].into());
    ws.assert_sound();
    assert_eq!(ws.build(&["load"]).len(), 400 - kept, "exactly what was said to be kept was kept");
    ws.assert_sound();
}

const FAIL: (&str, &str) = ("recipes/10-demo/fail.j2", "{{ nothing }}\n");

/// A chain of twenty, and a failure with a user beside it.
fn with_failure() -> Workspace {
    let ws = Workspace::with(&[
        ("recipes/10-demo/fail.toml", "builder = 'template'\n[files]\n'a' = 'fail.j2'\n"),
        FAIL,
        (
            "recipes/10-demo/user.toml",
            "builder = 'tree'\n[inputs]\nx = 'demo/fail'\n[params.place]\nx = ''\n",
        ),
        ("recipes/10-demo/c00.toml", "builder = 'template'\n[files]\n'a' = 'a.j2'\n"),
        ("recipes/10-demo/a.j2", "a\n"),
    ]);
    for at in 1..20 {
        let text =
            format!("builder = 'tree'\n[inputs]\nx = 'demo/c{:02}'\n[params.place]\nx = 'd'\n", at - 1);
        ws.write(&format!("recipes/10-demo/c{at:02}.toml"), &text);
    }
    ws
}

/// With `-k`, everything is built that does not need what failed.
#[test]
fn keep_going() {
    let ws = with_failure();
    insta::assert_snapshot!(ws.run(&["build", "demo", "-k", "-q"]), @"
    [STORE]/[ID]-demo-c00
    [STORE]/[ID]-demo-c01
    [STORE]/[ID]-demo-c02
    [STORE]/[ID]-demo-c03
    [STORE]/[ID]-demo-c04
    [STORE]/[ID]-demo-c05
    [STORE]/[ID]-demo-c06
    [STORE]/[ID]-demo-c07
    [STORE]/[ID]-demo-c08
    [STORE]/[ID]-demo-c09
    [STORE]/[ID]-demo-c10
    [STORE]/[ID]-demo-c11
    [STORE]/[ID]-demo-c12
    [STORE]/[ID]-demo-c13
    [STORE]/[ID]-demo-c14
    [STORE]/[ID]-demo-c15
    [STORE]/[ID]-demo-c16
    [STORE]/[ID]-demo-c17
    [STORE]/[ID]-demo-c18
    [STORE]/[ID]-demo-c19
    [stderr]
    error: `demo/fail` cannot be built (recipes/10-demo/fail.toml)
    caused by: recipes/10-demo/fail.j2:1: undefined value: `nothing` is undefined
    [exit 1]
    ");
    let output = ws.output(&["build", "demo", "-k", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["failed"][0]["name"], "demo/fail");
    assert_eq!(names(&report["skipped"]), ["demo/user"]);
    assert_eq!(names(&report["cached"]).len(), 20);
    ws.write(FAIL.0, "fixed\n");
    assert_eq!(ws.build(&["demo"]), ["demo/fail", "demo/user"]);
}

/// Without `-k`, a failure ends the build; what was finished before is kept.
#[test]
fn a_failure_stops() {
    let ws = with_failure();
    let output = ws.output(&["build", "demo", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["failed"].as_array().unwrap().len(), 1);
    let built = names(&report["built"]);
    assert!(!built.contains(&"demo/c19".to_owned()), "{built:?}");
    ws.assert_sound();
    assert_eq!(list(&ws.part("tmp")), [].into());
    ws.write(FAIL.0, "fixed\n");
    assert_eq!(ws.build(&["demo"]).len(), 22 - built.len());
}

/// A derivation that gave other bytes at another time: `--check` finds it, both are kept, and every build says so.
#[test]
fn a_divergence_is_reported_on_every_build() {
    let ws = Workspace::example();
    ws.build(&["infra/pool"]);
    insta::assert_snapshot!(ws.run(&["build", "--check", "infra/pool", "-q"]), @"
    [STORE]/[ID]-infra-pool
    [exit 0]
    ");
    // As if `infra/pool` had once given something else: its realisation names another, whole object.
    ws.write("other/pool.xml", "<pool/>\n");
    let other = ws.json(&["store", "add", "other"])["object"].as_str().unwrap().to_owned();
    let shown = ws.json(&["show", "infra/pool"]);
    let (drv, object) = (shown["drv"].as_str().unwrap(), shown["object"].as_str().unwrap());
    let path = ws.part("realisations").join(drv);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replacen(object, &other, 1).replacen("\"name\":\"infra-pool\"", "\"name\":\"other\"", 1),
    )
    .unwrap();
    let short = |text: String| text.replace(&object[..12], "[POOL]").replace(&other[..12], "[OTHER]");
    insta::assert_snapshot!(short(ws.run(&["build", "--check", "infra/pool", "-q"])), @"
    [STORE]/[ID]-other
    differs infra/pool
      before [STORE]/[ID]-other
      now    [STORE]/[ID]-infra-pool
      changed pool.xml
    [exit 1]
    ");
    for _ in 0..2 {
        let text = short(ws.run(&["build", "infra/pool"]));
        assert!(text.contains("gave different bytes at different times ([OTHER], [POOL])"), "{text}");
        assert!(text.ends_with("[exit 0]\n"), "{text}");
    }
    ws.assert_sound();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3, "both outputs, each with its trace");
}
