//! Two bootstrap Ignition configs, down to the fields of their CRDs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tinderbox::internals::delta::{DeltaContext, File, files};

use crate::bench::Bench;
use crate::made::{CRDS, config, real};
use crate::measure::{Times, mebibytes, note, peak_memory, ratio, repeat, row, title, verdict};

/// Makes this program compare two files and exit: a process of its own.
pub(crate) const COMPARE: &str = "--compare";
/// Maximum memory, and minimum speedup.
const MEMORY: u64 = 200 << 20;
const FASTER: f64 = 20.0;

pub(crate) fn run(bench: &Bench) {
    title(&format!("ignition: two bootstrap configs with {CRDS} CRDs each"));
    if !has("diffoscope") {
        note("diffoscope", "not installed: apt-get install diffoscope-minimal");
    }
    let none = config(|_| false);
    pair(bench, "a few files differ", &none, &config(|number| number % 20 == 0));
    pair(bench, "every CRD differs", &none, &config(|_| true));
    let data = std::env::var_os("TINDERBOX_TEST_DATA").map(|data| PathBuf::from(data).join("openshift-api"));
    match data.filter(|data| data.join("4.18/crds").is_dir()) {
        Some(data) => {
            let side = |version: &str| real(&data.join(version).join("crds"));
            pair(bench, "OpenShift's CRDs, 4.18 and 4.19", &side("4.18"), &side("4.19"));
        }
        None => note("TINDERBOX_TEST_DATA", "names no real CRDs"),
    }
}

fn pair(bench: &Bench, what: &str, old: &str, new: &str) {
    let dir = bench.dir("pair");
    let (one, two) = (dir.join("a.ign"), dir.join("b.ign"));
    std::fs::write(&one, old).unwrap();
    std::fs::write(&two, new).unwrap();
    let (changes, _) = timed(old, new);
    note(what, &format!("{} each, {changes} differences", mebibytes(old.len() as u64)));
    let runs = bench.size(10, 2);
    let mut inside = Times::default();
    (0..runs).for_each(|_| inside.push(timed(old, new).1));
    row("  in process", &inside);
    let process = repeat(runs, || this(&one, &two));
    row("  a process of its own, as JSON", &process);
    let peak = peak_memory(&mut this(&one, &two));
    verdict("  peak memory", peak as f64 / f64::from(1 << 20), " MiB", "under 200", peak < MEMORY);
    if !has("diffoscope") {
        return;
    }
    let other = diffoscope(bench.size(3, 1), &one, &two);
    row("  diffoscope", &other);
    let ratio = ratio(other.min(), process.min());
    verdict("  diffoscope / ours", ratio, "×", "at least 20", ratio >= FASTER);
}

fn timed(old: &str, new: &str) -> (usize, Duration) {
    let start = Instant::now();
    let found = files(
        Some(file(old)),
        Some(file(new)),
        &DeltaContext { limit: usize::MAX, ..DeltaContext::default() },
    );
    (found.len(), start.elapsed())
}

fn file(text: &str) -> File<'_> {
    File { path: "bootstrap.ign", content: text.as_bytes(), secret: true, executable: false }
}

fn this(old: &Path, new: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(COMPARE).arg(old).arg(new);
    command
}

/// Reads two files, compares them and prints the differences.
pub(crate) fn compare(old: &str, new: &str) {
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let (old, new) = (read(old), read(new));
    let found = files(
        Some(file(&old)),
        Some(file(&new)),
        &DeltaContext { limit: usize::MAX, ..DeltaContext::default() },
    );
    println!("{}", serde_json::to_string(&found).unwrap());
}

/// Its exit status says that they differ, like `diff`.
fn diffoscope(runs: usize, old: &Path, new: &Path) -> Times {
    let mut times = Times::default();
    for _ in 0..=runs {
        let start = Instant::now();
        let done = Command::new("diffoscope").args([old, new]).stdin(Stdio::null()).output().unwrap();
        assert_eq!(done.status.code(), Some(1), "{}", String::from_utf8_lossy(&done.stderr));
        times.push(start.elapsed());
    }
    times
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success())
}
