//! How fast a release gets into the store, compared with what people use today. `cargo bench --bench release` runs
//! everything and prints ratios; `-- unpack` runs one part; `--quick` uses small sizes, as a smoke test.
//!
//! | part | what | against |
//! |---|---|---|
//! | `unpack` | all of an image, from a registry to hashed and synced in the store; peak memory, passes over the bytes | `skopeo copy` + `umoci unpack` |
//! | `manifests` | only `/release-manifests` of a release image | `skopeo copy` + `tar` |
//! | `crds` | payload, images, CRDs and feature gates of an unpacked release | itself: 100 ms |
//!
//! Our side is this program, started again with a hidden first argument, because the command line rejects registries
//! without TLS and does not report its memory. The registry is Debian's docker-registry on a loopback port; if it is
//! not installed, our side reads the same image from a layout. Everything happens in one directory below cargo's
//! target directory, which takes up to 16 GiB and is removed afterwards.

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

pub(crate) use bench::Bench;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((fetch::HIDDEN, rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return fetch::child(rest);
    }
    bench::run(&[("unpack", unpack::run), ("manifests", manifests::run), ("crds", crds::run)]);
}
