//! Large graphs of tiny derivations: the time per derivation must not depend on their number.

use std::process::Command;
use std::time::Duration;

use crate::Bench;
use crate::clusters::{add_recipes, derivations, example};
use crate::measure::{Times, repeat, run as run_once, settle, show, title, verdict};

/// Growth that counts as noise: caches get colder as graphs get larger.
const NOISE: f64 = 1.2;

pub(crate) fn run(bench: &Bench) {
    let sizes = bench.size([1_000, 10_000], [50, 200]);
    title(&format!("many: tiny derivations, cold and as a no-op, at {} and {}", sizes[0], sizes[1]));
    let [small, large] = sizes.map(|size| one(bench, size));
    for (what, small, large) in [("cold", small.0, large.0), ("no-op", small.1, large.1)] {
        let growth = large.as_secs_f64() / small.as_secs_f64();
        verdict(
            &format!("{what}: growth of the time per derivation"),
            growth,
            "",
            "does not grow",
            growth <= NOISE,
        );
    }
}

/// Times per derivation at one size: cold, and no-op.
fn one(bench: &Bench, size: usize) -> (Duration, Duration) {
    let dir = example(bench, "many");
    add_recipes(&dir, "10-bench", size);
    let rounds = bench.size(if size > 1_000 { 2 } else { 5 }, 1);
    let mut cold = Times::default();
    let mut store = bench.dir("many-store");
    let count = derivations(bench, &dir, &store, &["bench"]);
    let build = |store: &std::path::Path| -> Command {
        let mut command = bench.tinderbox(store);
        command.arg("-C").arg(&dir).args(["build", "bench"]);
        command
    };
    for _ in 0..rounds {
        store = bench.dir("many-store");
        settle(&store);
        cold.push(run_once(&mut build(&store)));
    }
    let noop = repeat(bench.size(10, 2), || build(&store));
    let each = |times: &Times| times.min() / u32::try_from(count).unwrap();
    for (what, times) in [("cold", &cold), ("no-op", &noop)] {
        let what = format!("{count} derivations, {what}");
        println!("  {what:<46} min {:>10}   each   {:>10}", show(times.min()), show(each(times)));
    }
    (each(&cold), each(&noop))
}
