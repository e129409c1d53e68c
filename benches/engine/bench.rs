//! What both benchmarks share: where things happen, how large they are, and which parts run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::measure;

/// One part: its name, and what it does.
pub(crate) type Part = (&'static str, fn(&Bench));

/// Where everything happens, and how large it is.
pub(crate) struct Bench {
    pub(crate) root: PathBuf,
    dirs: AtomicU32,
    /// Small sizes and few runs.
    pub(crate) quick: bool,
}

impl Bench {
    fn new(quick: bool) -> Self {
        // Below target/: a temporary directory in memory would hide what durability costs.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{}", std::process::id()));
        tinderbox::internals::fs::create_dirs(&root).unwrap();
        Self { root, dirs: AtomicU32::new(0), quick }
    }

    /// A new, empty directory. All of them stay until the end: ext4 without a journal makes new files at a fraction of
    /// its speed for a while after many were deleted, because it looks at each of their inodes and does not use it yet.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        let dir = self.root.join(format!("{}-{name}", self.dirs.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&dir).unwrap();
        dir
    }

    /// One of two sizes.
    pub(crate) fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Err(error) = tinderbox::internals::fs::remove_all(&self.root) {
            eprintln!("{error}: {}", error.source);
        }
    }
}

/// Runs the parts that the command line names, or all.
pub(crate) fn run(parts: &[Part]) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` says `--bench`; `cargo test --all-targets` does not, and wants to see that it works.
    let quick =
        arguments.iter().any(|argument| argument == "--quick") || !arguments.iter().any(|a| a == "--bench");
    let wanted: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| !a.starts_with('-')).collect();
    if let Some(unknown) = wanted.iter().find(|name| !parts.iter().any(|(part, _)| part == *name)) {
        let known: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        eprintln!("there is no part `{unknown}`; there is {}", known.join(", "));
        std::process::exit(2);
    }
    let bench = Bench::new(quick);
    measure::machine(&bench.root);
    for (name, run) in parts {
        if wanted.is_empty() || wanted.contains(name) {
            run(&bench);
        }
    }
}
