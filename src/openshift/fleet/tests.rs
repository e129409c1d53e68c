//! Literal values of what must never change, and the file formats.

use time::macros::datetime;
use zeroize::Zeroizing;

use super::pins::FleetLock;
use super::site::of_site;
use crate::base::secret::Seed;
use crate::openshift::lock::{Artifact, Lock, LockedRelease};

/// Changing one gives every site of every fleet new keys. Decide it, and say so in the commit.
#[test]
fn seeds_of_sites_are_pinned_and_apart() {
    let fleet = Seed::new(Zeroizing::new([7; 32]));
    let shown = |domain: &str| data_encoding::HEXLOWER.encode(&of_site(&fleet, domain).reveal()[..8]);
    insta::assert_snapshot!(shown("berlin.example.com"), @"592f51318e6dc918");
    assert_ne!(shown("berlin.example.com"), shown("paris.example.com"));
    assert_ne!(of_site(&fleet, "berlin.example.com"), fleet);
}

#[test]
fn a_lock_is_read_as_it_was_written() {
    let epoch = datetime!(2026-11-19 00:00:00 UTC);
    let release = LockedRelease {
        reference: "demo:4.18".into(),
        image: "example.com/release@sha256:00".into(),
        version: "4.18.0-demo".into(),
        architecture: "amd64".into(),
    };
    let mut pins = Lock { release: Some(release), ..Lock::new(epoch) };
    pins.rhcos.iso = Some(Artifact::new("https://example.com/a.iso", &"1".repeat(64)));
    let seed = Seed::new(Zeroizing::new([7; 32])).fingerprint();
    let (bare, later) = (Lock::new(epoch), datetime!(2027-11-19 00:00:00 UTC));
    let lock = FleetLock {
        epoch,
        seed: Some(seed),
        renewed: [("oslo".to_owned(), later)].into(),
        pins: [("demo:4.18 amd64".to_owned(), pins.clone()), ("a \"b\".c x".to_owned(), bare)].into(),
    };
    assert_eq!(FleetLock::parse(&lock.encode()).unwrap(), lock);
    let of_site = |site: &str| lock.of_site(site, "demo:4.18 amd64", seed).unwrap();
    assert_eq!(of_site("berlin"), Lock { seed: Some(seed), ..pins.clone() });
    assert_eq!(of_site("oslo"), Lock { epoch: later, seed: Some(seed), ..pins });
    assert_eq!(lock.of_site("berlin", "demo:4.19 amd64", seed), None);
    // Some sites, then all.
    let some = lock.renewed_at(later, Some(&["berlin"]));
    assert_eq!(["berlin", "oslo", "rome"].map(|site| some.epoch_of(site)), [later, later, epoch]);
    assert_eq!(some.renewed_at(later, None), FleetLock { epoch: later, renewed: [].into(), ..lock });
    let problem = FleetLock::parse("version = 1\nepoch = 'x'\n").unwrap_err().to_string();
    assert!(problem.contains("`x` is not a time"), "{problem}");
}
