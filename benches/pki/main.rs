//! How fast a cluster's keys, certificates and kubeconfigs are created, compared with openssl. `cargo bench --bench
//! pki` runs everything and prints ratios; `-- cold` runs one part; `--quick` uses few seeds, as a smoke test.
//!
//! | part | what | against |
//! |---|---|---|
//! | `cold` | `build key pki kubeconfig` of the example in a fresh store, whole process, mean over seeds | `openssl genrsa 2048`, 26 times: as many keys as `openshift-install create ignition-configs` creates |
//! | `sans` | the same after a master's address changed: no key is regenerated | the cold build |
//!
//! `cold` is measured with the default algorithms (seven RSA keys) and with P-256 everywhere.

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

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench::Bench;
use measure::{note, ratio, run, settle, show, title, verdict};

/// RSA keys of one `openshift-install create ignition-configs`.
const INSTALLER_KEYS: u32 = 26;
const P256: &str = "pki: {keyAlgorithm: ecdsa-p256, authorityKeyAlgorithm: ecdsa-p256}\n";

fn main() {
    bench::run(&[("cold", cold), ("sans", sans)]);
}

fn cold(bench: &Bench) {
    let seeds = bench.size(10, 2);
    title(&format!("all keys, certificates and kubeconfigs, cold, mean over {seeds} seeds"));
    let openssl = openssl(bench.size(3, 1));
    for (what, extra, least) in [("default", "", 6.0), ("P-256 everywhere", P256, 20.0)] {
        let mut total = Duration::ZERO;
        for seed in 0..seeds {
            let cluster = cluster(bench, seed, extra);
            settle(&bench.root);
            total += run(&mut build(bench, &cluster));
        }
        let mean = total / u32::from(seeds);
        note(what, &show(mean));
        let Some(openssl) = openssl else { continue };
        let ratio = ratio(openssl, mean);
        verdict("openssl / ours", ratio, "×", &format!("at least {least}"), ratio >= least);
    }
}

fn sans(bench: &Bench) {
    title("after a master's address changed");
    let cluster = cluster(bench, 0, "");
    let first = run(&mut build(bench, &cluster));
    let file = cluster.join("cluster.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("192.168.126.102", "192.168.126.152")).unwrap();
    settle(&bench.root);
    let start = Instant::now();
    let done = build(bench, &cluster).arg("--json").stdin(Stdio::null()).output().unwrap();
    let time = start.elapsed();
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let built: Vec<&str> =
        report["built"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    note("built", &built.join(" "));
    assert!(!built.iter().any(|name| name.starts_with("key/")), "a key was regenerated");
    note("cold", &show(first));
    note("changed", &format!("{}, {:.1} times faster", show(time), ratio(first, time)));
}

/// A copy of the example with a seed and a store of its own.
fn cluster(bench: &Bench, seed: u8, extra: &str) -> PathBuf {
    let dir = bench.dir("cluster");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ocp4");
    for name in ["install-config.yaml", "cluster.yaml"] {
        fs::copy(example.join(name), dir.join(name)).unwrap();
    }
    let yaml = fs::read_to_string(dir.join("cluster.yaml")).unwrap();
    fs::write(dir.join("cluster.yaml"), yaml + extra).unwrap();
    fs::write(dir.join("cluster.seed"), [seed; 32]).unwrap();
    fs::set_permissions(dir.join("cluster.seed"), fs::Permissions::from_mode(0o600)).unwrap();
    run(tinderbox(bench, &dir).arg("lock")); // reads the release, which is not measured
    dir
}

fn build(bench: &Bench, cluster: &Path) -> Command {
    let mut command = tinderbox(bench, cluster);
    command.args(["build", "key", "pki", "kubeconfig"]);
    command
}

fn tinderbox(bench: &Bench, cluster: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinderbox"));
    command.env_remove("TINDERBOX_STORE").env("HOME", &bench.root).arg("--quiet").arg("-C").arg(cluster);
    command.arg("--store").arg(cluster.join("store"));
    command
}

/// The mean time of 26 keys, created one after another like the installer; none without openssl.
fn openssl(rounds: u32) -> Option<Duration> {
    let genrsa = || {
        let mut command = Command::new("openssl");
        command.args(["genrsa", "2048"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    if genrsa().status().is_err() {
        note("openssl genrsa 2048", "not measured: openssl is not installed");
        return None;
    }
    let start = Instant::now();
    (0..rounds * INSTALLER_KEYS).for_each(|_| assert!(genrsa().status().unwrap().success()));
    let mean = start.elapsed() / rounds;
    note("openssl genrsa 2048, 26 times", &show(mean));
    Some(mean)
}
