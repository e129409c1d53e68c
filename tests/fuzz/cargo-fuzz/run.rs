//! All targets: the binary's name says which.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tinderbox::internals::fuzz::TARGETS;

fuzz_target!(|bytes: &[u8]| {
    let dir = tempfile::tempdir().unwrap();
    let (_, target) = TARGETS.iter().find(|(name, _)| *name == env!("CARGO_BIN_NAME")).unwrap();
    target(bytes, dir.path());
});
