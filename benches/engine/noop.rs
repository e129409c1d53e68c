//! A build with nothing to do, as a whole process.

use std::process::Command;
use std::time::Duration;

use crate::Bench;
use crate::clusters::{add_recipes, derivations, example, nix_graph};
use crate::measure::{note, ratio, repeat, row, run as run_once, title, verdict};
use crate::peers::Nix;

pub(crate) fn run(bench: &Bench) {
    let wanted = bench.size(100, 40);
    let runs = bench.size(50, 5);
    let dir = example(bench, "noop");
    let store = bench.dir("noop-store");
    let built_in = derivations(bench, &dir, &store, &[]);
    add_recipes(&dir, "50-manifest", wanted - built_in.min(wanted));
    let count = derivations(bench, &dir, &store, &[]);
    title(&format!("noop: `build` of {count} derivations that are all built, whole process, {runs} runs"));

    let ours = || -> Command {
        let mut command = bench.tinderbox(&store);
        command.arg("-C").arg(&dir).arg("build");
        command
    };
    note("tinderbox build, cold", &crate::measure::show(run_once(&mut ours())));
    let ours = repeat(runs, ours);
    row("tinderbox build", &ours);
    let limit = Duration::from_millis(10);
    verdict(
        "tinderbox build, min",
        ours.min().as_secs_f64() * 1e3,
        " ms",
        "at most 10 on an idle machine",
        ours.min() <= limit,
    );

    let Some(nix) = Nix::new(bench) else { return };
    let graph = bench.dir("noop-nix").join("graph.nix");
    nix_graph(&graph, count);
    let theirs = repeat(runs, || nix.build(&graph));
    row("nix-build", &theirs);
    let times = ratio(theirs.min(), ours.min());
    verdict("nix-build / tinderbox build, min", times, "", "at least 3", times >= 3.0);
}
