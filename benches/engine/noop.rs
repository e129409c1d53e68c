//! A build with nothing to do, and one after an edit of one address, as whole processes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Bench;
use crate::clusters::{add_recipes, derivations, example, nix_graph};
use crate::measure::{Times, note, ratio, repeat, row, run as run_once, show, title, verdict};
use crate::peers::Nix;

pub(crate) fn run(bench: &Bench) {
    let wanted = bench.size(100, 40);
    let runs = bench.size(50, 5);
    let dir = example(bench, "noop");
    let store = bench.dir("noop-store");
    let ours = || build(bench, &store, &dir);
    let built_in = derivations(bench, &dir, &store, &[]);
    title(&format!("noop: the example ({built_in} derivations), whole process, {runs} runs"));
    note("tinderbox --version", &show(repeat(runs, || version(bench, &store)).min()));
    note("tinderbox build, cold", &show(run_once(&mut ours())));
    note("the next, which looks at everything", &show(run_once(&mut ours())));
    let unchanged = repeat(runs, ours);
    row("tinderbox build, nothing changed", &unchanged);
    let limit = Duration::from_millis(4);
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let reached = unchanged.min() <= limit;
    verdict("no-op, min", milliseconds(unchanged.min()), " ms", "at most 4 on an idle machine", reached);

    let edited = address(bench, &store, &dir, runs);
    row("tinderbox build, one worker's address edited", &edited);
    let limit = Duration::from_millis(30);
    let reached = edited.min() <= limit;
    verdict("address, min", milliseconds(edited.min()), " ms", "at most 30 on an idle machine", reached);

    add_recipes(&dir, "50-manifest", wanted - built_in.min(wanted));
    let count = derivations(bench, &dir, &store, &[]);
    run_once(&mut ours());
    run_once(&mut ours());
    let ours = repeat(runs, ours);
    row(&format!("tinderbox build of {count} derivations"), &ours);
    let Some(nix) = Nix::new(bench) else { return };
    let graph = bench.dir("noop-nix").join("graph.nix");
    nix_graph(&graph, wanted);
    let theirs = repeat(runs, || nix.build(&graph));
    row(&format!("nix-build of {wanted} derivations"), &theirs);
    let times = ratio(theirs.min(), ours.min());
    verdict("nix-build / tinderbox build, min", times, "", "at least 6", times >= 6.0);
}

fn build(bench: &Bench, store: &Path, dir: &Path) -> Command {
    let mut command = bench.tinderbox(store);
    command.arg("-C").arg(dir).arg("build");
    command
}

fn version(bench: &Bench, store: &Path) -> Command {
    let mut command = bench.tinderbox(store);
    command.arg("--version");
    command
}

/// Builds after edits of one worker's address, each to one that it never had.
fn address(bench: &Bench, store: &Path, dir: &Path, runs: usize) -> Times {
    let path = dir.join("cluster.yaml");
    let before = std::fs::read_to_string(&path).unwrap();
    let from = "ip: 192.168.126.110";
    assert!(before.contains(from));
    let mut times = Times::default();
    for at in 0..runs {
        let to = format!("ip: 192.168.126.{}", 130 + at);
        std::fs::write(&path, before.replace(from, &to)).unwrap();
        times.push(run_once(&mut build(bench, store, dir)));
    }
    std::fs::write(&path, before).unwrap();
    run_once(&mut build(bench, store, dir));
    times
}
