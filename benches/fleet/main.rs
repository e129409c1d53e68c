//! How much many clusters cost. `cargo bench --bench fleet` prints the curve at 10, 100, 1,000 and 3,500 single-node sites;
//! `--quick` stops at 10, as a smoke test.
//!
//! | figure | what | goal |
//! |---|---|---|
//! | cold | `fleet build` into an empty store, whole process, RSA authorities | 1,000 sites in at most 150 s; the cost per site flat within 20 % from 100 to 3,500 |
//! | no-op | the same again; and its peak memory | 1,000 sites in at most 3 s and 500 MiB |
//! | one value | the same after one value of one site changed | proportional to what it reaches |
//! | diff | `fleet diff` after one field that all sites share changed, whole process, and its peak memory | the cost per site flat |
//! | one field | `fleet build` after that | the cost per site flat |
//!
//! `--sites=100,300` measures other sizes than those.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark: it panics on errors, and prints"
)]

#[path = "../engine/bench.rs"]
mod bench;
#[allow(dead_code, reason = "the engine's benchmark uses the rest")]
#[path = "../engine/measure.rs"]
mod measure;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bench::Bench;
use measure::{note, peak_memory, run, settle, show, title, verdict};

fn main() {
    bench::run(&[("curve", curve)]);
}

fn curve(bench: &Bench) {
    let sizes = asked().unwrap_or_else(|| bench.size(vec![10, 100, 1000, 3500], vec![10]));
    let mut per_site = Vec::new();
    for sites in &sizes {
        title(&format!("curve: {sites} single-node sites"));
        let (dir, store) = (fleet(bench, *sites), bench.dir("store"));
        settle(&store);
        let cold = run(&mut build(&dir, &store));
        note("cold", &each(cold, *sites));
        let noop = (0..5).map(|_| run(&mut build(&dir, &store))).min().unwrap();
        note("no-op", &each(noop, *sites));
        let memory = peak_memory(&mut build(&dir, &store));
        note("no-op, peak memory", &format!("{} MiB", memory >> 20));
        let table = dir.join("sites.csv");
        let text = fs::read_to_string(&table).unwrap();
        fs::write(&table, text.replacen("10.0.0.10,", "10.0.0.99,", 1)).unwrap();
        note("one value of one site", &show(run(&mut build(&dir, &store))));
        // A field of a manifest that every site has.
        let layers = dir.join("fleet.yaml");
        let text = fs::read_to_string(&layers).unwrap();
        fs::write(&layers, text.replace("hostPrefix: 23", "hostPrefix: 24")).unwrap();
        note("one common field, diff", &each(run_to(&mut diff(&dir, &store), 1), *sites));
        let memory_of_diff = peak_memory(&mut diff(&dir, &store));
        note("one common field, diff again, peak memory", &format!("{} MiB", memory_of_diff >> 20));
        note("one common field, build", &each(run(&mut build(&dir, &store)), *sites));
        if *sites == 1000 {
            verdict("cold", cold.as_secs_f64(), " s", "at most 150", cold <= Duration::from_secs(150));
            verdict("no-op", noop.as_secs_f64(), " s", "at most 3", noop <= Duration::from_secs(3));
            let mebibytes = (memory >> 20) as f64;
            verdict("no-op, peak memory", mebibytes, " MiB", "at most 500", memory <= 500 << 20);
        }
        per_site.push((*sites, cold.as_secs_f64() / *sites as f64));
    }
    let of = |wanted: usize| per_site.iter().find(|(sites, _)| *sites == wanted).map(|(_, cost)| *cost);
    if let (Some(hundred), Some(most)) = (of(100), of(3500)) {
        let growth = (most / hundred - 1.0) * 100.0;
        verdict("cost per site from 100 to 3,500 sites", growth, " %", "at most 20", growth <= 20.0);
    }
}

/// Sizes that were asked for.
fn asked() -> Option<Vec<usize>> {
    let sizes = std::env::args().find_map(|argument| Some(argument.strip_prefix("--sites=")?.to_owned()))?;
    Some(sizes.split(',').map(|size| size.parse().expect("a number of sites")).collect())
}

/// The time of a process that ends with this code.
fn run_to(command: &mut Command, code: i32) -> Duration {
    let start = std::time::Instant::now();
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(code));
    start.elapsed()
}

fn each(time: Duration, sites: usize) -> String {
    format!("{}, {} each", show(time), show(time / u32::try_from(sites).unwrap()))
}

/// A fleet of the example's single nodes.
fn fleet(bench: &Bench, sites: usize) -> PathBuf {
    let dir = bench.dir("fleet");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fleet/fleet.yaml");
    // The sites are where the example has its pods.
    let text = fs::read_to_string(example).unwrap().replace("10.128.0.0/14", "172.20.0.0/14");
    fs::write(dir.join("fleet.yaml"), text).unwrap();
    let mut table = String::from("name,groups,network,gateway,ip,api,ingress,bootstrap,ip1,ip2\n");
    for n in 0..sites {
        let (above, net) = (n / 250, n % 250);
        let _ = writeln!(
            table,
            "site-{n},single-node,10.{above}.{net}.0/24,10.{above}.{net}.1,10.{above}.{net}.10,,,,,"
        );
    }
    fs::write(dir.join("sites.csv"), table).unwrap();
    let seed = dir.join("fleet.seed");
    fs::write(&seed, [7; 32]).unwrap();
    fs::set_permissions(seed, fs::Permissions::from_mode(0o600)).unwrap();
    dir
}

fn build(dir: &Path, store: &Path) -> Command {
    verb(&["fleet", "build"], dir, store)
}

fn diff(dir: &Path, store: &Path) -> Command {
    verb(&["fleet", "diff", "--summary"], dir, store)
}

fn verb(words: &[&str], dir: &Path, store: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinderbox"));
    command.args(words).args(["-q", "-C"]).arg(dir).arg("--store").arg(store);
    command.env_remove("TINDERBOX_STORE").stdin(Stdio::null());
    command
}
