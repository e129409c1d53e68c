//! Pinned digests, rejected input, and round trips.

mod certificates;
mod keys;
mod signing;

use zeroize::Zeroizing;

use super::{Algorithm, PrivateKey};
use crate::base::secret::Seed;

const DOMAIN: &str = "ocp4.example.com";

fn seed() -> Seed {
    Seed::new(Zeroizing::new([7; 32]))
}

fn key(name: &str, algorithm: Algorithm) -> PrivateKey {
    PrivateKey::generate(&seed(), DOMAIN, name, 1, algorithm)
}
