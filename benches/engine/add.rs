//! Many files into a fresh store, durably; against copying, syncing and hashing the same files.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Bench;
use crate::clusters::files;
use crate::measure::{
    Times, mebibytes, note, peak_memory, ratio, row, run as run_once, settle, title, verdict,
};
use crate::peers::{Nix, has};

/// 10,000 of them are 1 GiB.
const FILE: usize = (1 << 30) / 10_000;

pub(crate) fn run(bench: &Bench) {
    let count = bench.size(10_000, 200);
    let rounds = bench.size(3, 2);
    let source = bench.dir("add");
    files(&source, count, FILE);
    title(&format!("add: {} in {count} files, {rounds} rounds", mebibytes((count * FILE) as u64)));

    let plain = has("b3sum", "b3sum") && has("cp", "coreutils");
    let nix = has("nix-store", "nix-bin");
    let (mut ours, mut copy, mut nixes) = (Times::default(), Times::default(), Times::default());
    for _ in 0..rounds {
        ours.push(add(bench, &source, run_once));
        if plain {
            copy.push(copy_sync_hash(bench, &source));
        }
    }
    for _ in 0..if nix { 2 } else { 0 } {
        let nix = Nix::new(bench).unwrap();
        settle(&source);
        nixes.push(run_once(nix.command("nix-store").arg("--add").arg(&source)));
    }

    row("tinderbox store add", &ours);
    if plain {
        row("cp -r + sync -f + b3sum", &copy);
        let times = ratio(ours.min(), copy.min());
        verdict("tinderbox / (cp + sync + b3sum), min", times, "", "at most 1.3", times <= 1.3);
    }
    if nix {
        row("nix-store --add", &nixes);
        let times = ratio(nixes.min(), ours.min());
        verdict("nix-store --add / tinderbox, min", times, "", "at least 3", times >= 3.0);
    }
    memory(bench, &source, count);
}

/// Adds to a fresh store.
fn add<T>(bench: &Bench, source: &Path, run: impl FnOnce(&mut Command) -> T) -> T {
    let store = bench.dir("add-store");
    settle(source);
    run(bench.tinderbox(&store).args(["store", "add"]).arg(source))
}

fn copy_sync_hash(bench: &Bench, source: &Path) -> std::time::Duration {
    let copy = bench.dir("add-copy");
    settle(source);
    let copied = run_once(Command::new("cp").arg("-r").arg(source).arg(copy.join("files")));
    let synced = run_once(Command::new("sync").arg("-f").arg(&copy));
    let folders = std::fs::read_dir(source).unwrap().map(|folder| folder.unwrap().file_name());
    let paths = folders.flat_map(|folder| {
        let inside = std::fs::read_dir(source.join(&folder)).unwrap();
        inside.map(move |file| Path::new(&folder).join(file.unwrap().file_name())).collect::<Vec<_>>()
    });
    let mut sum = Command::new("b3sum");
    sum.current_dir(source).args(paths).stdout(Stdio::null());
    let hashed = run_once(&mut sum);
    copied + synced + hashed
}

fn memory(bench: &Bench, source: &Path, count: usize) {
    let tenth = bench.dir("add-tenth");
    files(&tenth, count / 10, FILE);
    let small = add(bench, &tenth, peak_memory);
    let large = add(bench, source, peak_memory);
    note(&format!("peak memory, {}", mebibytes((count / 10 * FILE) as u64)), &mebibytes(small));
    note(&format!("peak memory, {}", mebibytes((count * FILE) as u64)), &mebibytes(large));
}
