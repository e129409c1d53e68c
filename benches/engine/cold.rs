//! The whole example on the demo release, into an empty store: every key, manifest and node configuration.

use std::process::Command;
use std::time::Duration;

use crate::Bench;
use crate::clusters::example;
use crate::measure::{Times, note, ratio, row, run as run_once, settle, title, verdict};

/// The tool that people use today, if it is installed.
const INSTALLER: &str = "openshift-install";

pub(crate) fn run(bench: &Bench) {
    let runs = bench.size(10, 2);
    let dir = example(bench, "cold");
    title(&format!("cold: `build` of the whole example into an empty store, whole process, {runs} runs"));
    // The lock and the seed are created once, and are not part of a build.
    run_once(bench.tinderbox(&bench.dir("cold-lock")).arg("-C").arg(&dir).arg("lock"));
    let mut ours = Times::default();
    for _ in 0..runs {
        let store = bench.dir("cold-store");
        settle(&store);
        ours.push(run_once(bench.tinderbox(&store).arg("-C").arg(&dir).arg("build")));
    }
    row("tinderbox build", &ours);
    let limit = Duration::from_secs(2);
    let seconds = ours.min().as_secs_f64();
    verdict("tinderbox build, min", seconds, " s", "under 2 on 2 cores", ours.min() < limit);

    // It has no `--version`.
    let found = Command::new(INSTALLER).arg("version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        return note(INSTALLER, "not on PATH: only our side is measured");
    }
    let mut theirs = Times::default();
    for _ in 0..runs {
        // It consumes its input.
        let assets = bench.dir("cold-installer");
        let config = std::fs::read_to_string(dir.join("install-config.yaml")).unwrap();
        std::fs::write(assets.join("install-config.yaml"), config).unwrap();
        settle(&assets);
        let mut command = Command::new(INSTALLER);
        command.args(["create", "ignition-configs", "--log-level=error", "--dir"]).arg(&assets);
        theirs.push(run_once(&mut command));
    }
    row("openshift-install create ignition-configs", &theirs);
    let times = ratio(theirs.min(), ours.min());
    verdict("openshift-install / tinderbox build, min", times, "", "at least 1", times >= 1.0);
}
