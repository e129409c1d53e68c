//! How fast the engine is, compared with what people use today. `cargo bench` runs everything and prints ratios;
//! `cargo bench -- noop` runs one part; `--quick` uses small sizes, as a smoke test.
//!
//! | part | what | against |
//! |---|---|---|
//! | `noop` | `build` of an up-to-date cluster graph, whole process | `nix-build` of as many derivations |
//! | `cold` | the whole example into an empty store, whole process | `openshift-install create ignition-configs`, if installed |
//! | `add` | many files into a fresh store, whole process; peak memory | `cp -r` + `sync -f` + `b3sum`; `nix-store --add` |
//! | `verify` | hashing everything that the build of the example made, as verify-on-use does; against its cold build | `b3sum` of the same files |
//! | `cache` | the example from a registry into an empty store; 1,000 small outputs | building it; `skopeo copy` one by one |
//! | `many` | tiny derivations cold and as a no-op, at two sizes | itself: time per derivation must not grow |
//!
//! Everything happens in one directory below cargo's target directory, which takes up to 12 GiB and is removed
//! afterwards. Other programs on the machine disturb: the minimum of several runs is the most meaningful.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark: it panics on errors, and prints"
)]

mod add;
mod bench;
mod cache;
mod clusters;
mod cold;
mod many;
mod measure;
mod noop;
mod peers;
mod verify;

pub(crate) use bench::Bench;

fn main() {
    bench::run(&[
        ("noop", noop::run),
        ("cold", cold::run),
        ("add", add::run),
        ("verify", verify::run),
        ("many", many::run),
        ("cache", cache::run),
    ]);
}
