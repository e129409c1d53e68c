//! Shared by the benchmarks: directories, sizes, and which parts run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::measure;

/// The name and function of a part.
pub(crate) type Part = (&'static str, fn(&Bench));

/// The working directory and the sizes.
pub(crate) struct Bench {
    pub(crate) root: PathBuf,
    dirs: AtomicU32,
    /// Small sizes and few runs.
    pub(crate) quick: bool,
}

impl Bench {
    fn new(quick: bool) -> Self {
        // Below target/: a temporary directory in memory would hide the cost of durability.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{}", std::process::id()));
        tinderbox::internals::fs::create_dirs(&root).unwrap();
        Self { root, dirs: AtomicU32::new(0), quick }
    }

    /// A new, empty directory. All of them stay until the end: ext4 without a journal creates files slowly for a while
    /// after many deletions, because it skips recently freed inodes one by one.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        let dir = self.root.join(format!("{}-{name}", self.dirs.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&dir).unwrap();
        dir
    }

    /// Chooses one of two sizes.
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
    // `cargo bench` passes `--bench`; `cargo test --all-targets` does not, and only needs a smoke test.
    let quick =
        arguments.iter().any(|argument| argument == "--quick") || !arguments.iter().any(|a| a == "--bench");
    let wanted: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| !a.starts_with('-')).collect();
    if let Some(unknown) = wanted.iter().find(|name| !parts.iter().any(|(part, _)| part == *name)) {
        let known: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        eprintln!("there is no part `{unknown}`; known parts: {}", known.join(", "));
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
