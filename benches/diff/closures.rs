//! Two closures with one field changed: the time depends on the difference, not on the size.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tinderbox::internals::diff::{Cause, Part, Side, Tree, compare};
use tinderbox::internals::knowledge::Knowledge;
use tinderbox::internals::store::Store;

use crate::bench::Bench;
use crate::clusters::{add_recipes, example};
use crate::measure::{Times, output, ratio, repeat, row, show, title, verdict};

/// Time limit of a comparison, without process start.
const LIMIT: Duration = Duration::from_millis(50);
/// Maximum growth at ten times the size.
const GROWTH: f64 = 5.0;

pub(crate) fn run(bench: &Bench) {
    let sizes = bench.size([100, 1_000], [20, 60]);
    title(&format!(
        "closures: one field of one artifact changed, at {} and {} artifacts",
        sizes[0], sizes[1]
    ));
    let [small, large] = sizes.map(|size| one(bench, size));
    let growth = ratio(large, small);
    verdict("growth at ten times the size", growth, "", "depends on the difference", growth <= GROWTH);
    verb(bench);
}

/// The time for one size, in this process.
fn one(bench: &Bench, size: usize) -> Duration {
    let (dir, store) = (example(bench, "closures"), bench.dir("closures-store"));
    add_recipes(&dir, "10-bench", size);
    let build = || output(bench.tinderbox(&store).arg("-C").arg(&dir).args(["--json", "build", "bench"]));
    let old = side(&store, &build());
    // The last of a chain: it has no users.
    let template = dir.join("recipes/10-bench/bench-00009.yaml.j2");
    let text = std::fs::read_to_string(&template).unwrap();
    std::fs::write(&template, text.replace("namespace: openshift-config", "namespace: openshift-etcd"))
        .unwrap();
    let new = side(&store, &build());
    let mut times = Times::default();
    let knowledge = Knowledge::built_in().unwrap();
    for _ in 0..bench.size(50, 3) {
        let start = Instant::now();
        let name =
            |_: &str, change: Option<&_>| Cause::unnamed(change.expect("both sides have all artifacts"));
        let diff = compare(&old, &new, &|_| true, &name, knowledge.disruption.get().unwrap());
        times.push(start.elapsed());
        assert_eq!(diff.unwrap().summary.counts.changed, 1);
    }
    row(&format!("{size} artifacts, one differs"), &times);
    times.min()
}

fn side(store: &Path, built: &str) -> Side {
    let built: Value = serde_json::from_str(built).unwrap();
    let part = |target: &Value| {
        let id = |field: &str| target[field].as_str().unwrap();
        let part = Part { drv: id("drv").parse().ok(), tree: Tree::Object(id("object").parse().unwrap()) };
        (id("name").to_owned(), part)
    };
    let parts = built["targets"].as_array().unwrap().iter().map(part).collect();
    Side { title: "bench".into(), store: Some(Store::open(store).unwrap()), parts }
}

/// The verb on two generations of the example, whole process, compared with a process that does nothing.
fn verb(bench: &Bench) {
    let (dir, store) = (example(bench, "generations"), bench.dir("generations-store"));
    let build = || output(bench.tinderbox(&store).arg("-C").arg(&dir).args(["build"]));
    build();
    let config = dir.join("cluster.yaml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("ip: 192.168.126.110", "ip: 192.168.126.120")).unwrap();
    build();
    let rounds = bench.size(20, 2);
    let start = repeat(rounds, || {
        let mut command = bench.tinderbox(&store);
        command.arg("--version");
        command
    });
    let mut whole = Times::default();
    for _ in 0..rounds {
        let start = Instant::now();
        let code = bench
            .tinderbox(&store)
            .arg("-C")
            .arg(&dir)
            .args(["diff", "--format", "json"])
            .output()
            .unwrap()
            .status;
        whole.push(start.elapsed());
        assert_eq!(code.code(), Some(1));
    }
    row("the example's last two generations, whole process", &whole);
    row("`tinderbox --version`", &start);
    let beyond = whole.min().saturating_sub(start.min());
    let text = format!("beyond process start ({})", show(LIMIT));
    verdict(&text, beyond.as_secs_f64() * 1e3, " ms", "under 50 ms", beyond <= LIMIT);
}
