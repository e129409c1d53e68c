//! How fast two artifacts are compared. `cargo bench --bench diff` runs everything and prints ratios; `--quick` uses
//! few runs, as a smoke test.
//!
//! | part | what | against |
//! |---|---|---|
//! | `closures` | two closures of 100 and of 1,000 artifacts with one field changed; two generations of the example | itself: the time must depend on the difference |
//! | `ignition` | two bootstrap Ignition configs of 4 MB with 100 CRDs each, compared down to the fields; peak memory | Debian's `diffoscope` on the same two files |
//!
//! `ignition` has three pairs: a few files differ; every CRD differs in a field; OpenShift's own CRDs of 4.18 and
//! 4.19, if `TINDERBOX_TEST_DATA` names them, as for the tests.

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
mod closures;
#[allow(dead_code, reason = "the engine's benchmark uses the rest")]
#[path = "../engine/clusters.rs"]
mod clusters;
mod ignition;
mod made;
#[allow(dead_code, reason = "the engine's benchmark uses the rest")]
#[path = "../engine/measure.rs"]
mod measure;

pub(crate) use bench::Bench;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, compare, old, new] = &arguments[..]
        && compare == ignition::COMPARE
    {
        return ignition::compare(old, new);
    }
    bench::run(&[("closures", closures::run), ("ignition", ignition::run)]);
}
