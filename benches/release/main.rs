//! How fast a release gets into the store, side by side with what people use today. `cargo bench --bench release` runs
//! everything and prints ratios; `-- unpack` runs one part; `--quick` uses small sizes, to see that it works and not how
//! fast it is.
//!
//! | part | what | against |
//! |---|---|---|
//! | `unpack` | all of an image, from a registry to hashed and synced in the store; peak memory, passes over the bytes | `skopeo copy` + `umoci unpack` |
//! | `manifests` | only `/release-manifests` of a release image | `skopeo copy` + `tar` |
//! | `crds` | payload, images, CRDs and feature gates of an unpacked release | itself: 100 ms |
//!
//! Ours is this program, started again with a hidden first argument, because the command line refuses registries without
//! TLS and says nothing about its memory. The registry is Debian's docker-registry on a loopback port; where it is not
//! installed, our side reads the same image from a layout. Everything happens in one directory below cargo's target
//! directory, which takes up to 16 GiB and is gone afterwards.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark: it stops at the first thing that is wrong, and prints"
)]

mod crds;
mod fetch;
mod made;
mod manifests;
#[allow(dead_code, reason = "the engine's benchmark uses the rest")]
#[path = "../engine/measure.rs"]
mod measure;
#[allow(dead_code, reason = "the engine's benchmark uses the rest")]
#[path = "../engine/peers.rs"]
mod peers;
mod place;
mod unpack;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

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
        let root =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-release-{}", std::process::id()));
        tinderbox::fs::create_dirs(&root).unwrap();
        Self { root, dirs: AtomicU32::new(0), quick }
    }

    /// A new, empty directory. All of them stay until the end, as in the engine's benchmark.
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
        if let Err(error) = tinderbox::fs::remove_all(&self.root) {
            eprintln!("{error}: {}", error.source);
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((fetch::HIDDEN, rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return fetch::child(rest);
    }
    // `cargo bench` says `--bench`; `cargo test --all-targets` does not, and wants to see that it works.
    let quick =
        arguments.iter().any(|argument| argument == "--quick") || !arguments.iter().any(|a| a == "--bench");
    let wanted: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| !a.starts_with('-')).collect();
    let parts: [Part; 3] = [("unpack", unpack::run), ("manifests", manifests::run), ("crds", crds::run)];
    if let Some(unknown) = wanted.iter().find(|name| !parts.iter().any(|(part, _)| part == *name)) {
        eprintln!("there is no part `{unknown}`; there are unpack, manifests and crds");
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
