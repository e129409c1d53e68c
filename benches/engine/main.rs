//! How fast the engine is, side by side with what people use today. `cargo bench` runs everything and prints ratios;
//! `cargo bench -- noop` runs one part; `--quick` uses small sizes, to see that it works and not how fast it is.
//!
//! | part | what | against |
//! |---|---|---|
//! | `noop` | `build` of a cluster graph that is built already, whole process | `nix-build` of as many derivations |
//! | `add` | many files into a fresh store, whole process; peak memory | `cp -r` + `sync -f` + `b3sum`; `nix-store --add` |
//! | `many` | tiny derivations cold and as a no-op, at two sizes | itself: time per derivation must not grow |
//!
//! Everything happens in one directory below cargo's target directory, which takes up to 12 GiB and is gone afterwards.
//! Other programs on the machine disturb: the minimum of several runs says most.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark: it stops at the first thing that is wrong, and prints"
)]

mod add;
mod clusters;
mod many;
mod measure;
mod noop;
mod peers;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The program under test, as cargo built it for this benchmark.
const TINDERBOX: &str = env!("CARGO_BIN_EXE_tinderbox");

/// One part: its name, and what it does.
type Part = (&'static str, fn(&Bench));

/// Where everything happens, and how large it is.
pub(crate) struct Bench {
    root: PathBuf,
    dirs: AtomicU32,
    /// Small sizes and few runs.
    pub(crate) quick: bool,
}

impl Bench {
    fn new(quick: bool) -> Self {
        // Below target/: a temporary directory in memory would hide what durability costs.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{}", std::process::id()));
        tinderbox::fs::create_dirs(&root).unwrap();
        Self { root, dirs: AtomicU32::new(0), quick }
    }

    /// A new, empty directory. All of them stay until the end: ext4 without a journal makes new files at a fraction of
    /// its speed for a while after many were deleted, because it looks at each of their inodes and does not use it yet.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        let dir = self.root.join(format!("{}-{name}", self.dirs.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&dir).unwrap();
        dir
    }

    /// The program under test, which sees no store but the one given.
    pub(crate) fn tinderbox(&self, store: &Path) -> Command {
        let mut command = Command::new(TINDERBOX);
        command
            .env_remove("TINDERBOX_STORE")
            .env("HOME", &self.root)
            .arg("--quiet")
            .arg("--store")
            .arg(store);
        command
    }

    /// One of two sizes.
    pub(crate) fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Err(error) = tinderbox::fs::remove_all(&self.root) {
            eprintln!("{error}: {}", error.source);
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` says `--bench`; `cargo test --all-targets` does not, and wants to see that it works.
    let quick =
        arguments.iter().any(|argument| argument == "--quick") || !arguments.iter().any(|a| a == "--bench");
    let wanted: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| !a.starts_with('-')).collect();
    let parts: [Part; 3] = [("noop", noop::run), ("add", add::run), ("many", many::run)];
    if let Some(unknown) = wanted.iter().find(|name| !parts.iter().any(|(part, _)| part == *name)) {
        eprintln!("there is no part `{unknown}`; there are noop, add and many");
        std::process::exit(2);
    }
    let bench = Bench::new(quick);
    measure::machine(&bench.root);
    for (name, run) in parts {
        if wanted.is_empty() || wanted.contains(&name) {
            run(&bench);
        }
    }
}
