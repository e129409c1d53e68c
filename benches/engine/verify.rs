//! Verify-on-use: what a builder reads, and what leaves the store, is hashed first. A build that reads everything which
//! the example consists of would pay this once; a build that reads nothing pays nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use tinderbox::internals::store::Store;

use crate::Bench;
use crate::clusters::example;
use crate::measure::{Times, mebibytes, note, ratio, row, run as run_once, title, verdict};
use crate::peers::has;

pub(crate) fn run(bench: &Bench) {
    let runs = bench.size(20, 2);
    let (dir, root) = (example(bench, "verify"), bench.dir("verify-store"));
    run_once(bench.tinderbox(&bench.dir("verify-lock")).arg("-C").arg(&dir).arg("lock"));
    let cold = run_once(bench.tinderbox(&root).arg("-C").arg(&dir).arg("build"));
    let store = Store::open(&root).unwrap();
    let objects: Vec<_> =
        store.objects().unwrap().iter().map(|name| store.object(name.id).unwrap()).collect();
    let files = files(&objects.iter().map(|object| object.path.clone()).collect::<Vec<_>>());
    let bytes = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    title(&format!(
        "verify: {} objects of the example, {} in {} files, {runs} runs",
        objects.len(),
        mebibytes(bytes),
        files.len()
    ));
    let mut ours = Times::default();
    for _ in 0..runs {
        let start = Instant::now();
        objects.iter().for_each(|object| store.verify_part(object, "").unwrap());
        ours.push(start.elapsed());
    }
    note("the build that made them, cold", &crate::measure::show(cold));
    row("verifying all of them", &ours);
    let share = 100.0 * ratio(ours.min(), cold);
    verdict("verifying / cold build, min", share, " %", "at most 10", share <= 10.0);
    if has("b3sum", "b3sum") {
        let mut theirs = Times::default();
        for _ in 0..runs {
            theirs.push(run_once(Command::new("b3sum").args(&files).stdout(Stdio::null())));
        }
        row("b3sum", &theirs);
        verdict(
            "verifying / b3sum, min",
            ratio(ours.min(), theirs.min()),
            "",
            "at most 2",
            ratio(ours.min(), theirs.min()) <= 2.0,
        );
    }
}

/// All regular files below these directories.
fn files(roots: &[PathBuf]) -> Vec<PathBuf> {
    fn walk(path: &Path, found: &mut Vec<PathBuf>) {
        let kind = std::fs::symlink_metadata(path).unwrap().file_type();
        if kind.is_dir() {
            for entry in std::fs::read_dir(path).unwrap() {
                walk(&entry.unwrap().path(), found);
            }
        } else if kind.is_file() {
            found.push(path.to_owned());
        }
    }
    let mut found = Vec::new();
    roots.iter().for_each(|root| walk(root, &mut found));
    found
}
