//! How fast the engine is, side by side with what people use today. `cargo bench` runs everything and prints ratios;
//! `cargo bench -- noop` runs one part; `--quick` uses small sizes, to see that it works and not how fast it is.
//!
//! | part | what | against |
//! |---|---|---|
//! | `noop` | `build` of a cluster graph that is built already, whole process | `nix-build` of as many derivations |
//! | `cold` | the whole example into an empty store, whole process | `openshift-install create ignition-configs`, if it is there |
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
mod bench;
mod clusters;
mod cold;
mod many;
mod measure;
mod noop;
mod peers;

pub(crate) use bench::Bench;

fn main() {
    bench::run(&[("noop", noop::run), ("cold", cold::run), ("add", add::run), ("many", many::run)]);
}
