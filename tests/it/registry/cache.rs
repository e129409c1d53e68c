//! The cache: once from afar, then from near; never anything half-written.

use std::io::Read as _;
use std::sync::Arc;

use tempfile::tempdir;
use tinderbox::internals::registry::{Cached, Images as _, RegistryError};

use crate::registry::sample::Sample;
use crate::registry::server::{Answer, Server};
use crate::registry::suite::read;

#[test]
fn what_was_read_to_its_end_is_not_fetched_again() {
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    let server = Server::of(&sample);
    let cached = || Cached::new(dir.path(), Arc::new(server.remote())).unwrap();
    let (blob, bytes) = &sample.blobs[1];
    // Given up in the middle: nothing is kept.
    let mut some = [0; 100];
    cached().blob(&server.name(), blob).unwrap().read_exact(&mut some).unwrap();
    assert_eq!(std::fs::read_dir(dir.path().join("sha256")).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);

    for _ in 0..3 {
        assert_eq!(&read(&cached(), &server.name(), blob).unwrap(), bytes);
        assert_eq!(cached().manifest(&server.name(), &sample.list).unwrap().1, sample.manifests[2].1);
        assert_eq!(cached().manifest(&server.name(), &sample.list).unwrap().0, sample.manifests[2].0);
    }
    assert_eq!(server.count("blobs/"), 2);
    assert_eq!(server.count("manifests/"), 1);
    assert_eq!(std::fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn wrong_bytes_are_not_kept_and_damaged_ones_are_fetched_again() {
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    let (blob, bytes) = sample.blobs[2].clone();
    let length = bytes.len();
    let server = Server::with(&sample, move |_, before| {
        (before == 0).then(|| Answer { status: 200, body: vec![0; length], ..Answer::default() })
    });
    let cached = Cached::new(dir.path(), Arc::new(server.remote())).unwrap();
    let error = read(&cached, &server.name(), &blob).unwrap_err();
    assert!(matches!(error, RegistryError::Mismatch { .. }), "{error}");
    assert_eq!(std::fs::read_dir(dir.path().join("sha256")).unwrap().count(), 0);
    assert_eq!(read(&cached, &server.name(), &blob).unwrap(), bytes);

    let kept = dir.path().join("sha256").join(blob.digest.hex());
    std::fs::write(&kept, vec![1; length]).unwrap();
    assert!(read(&cached, &server.name(), &blob).is_err());
    assert_eq!(read(&cached, &server.name(), &blob).unwrap(), bytes);
    std::fs::write(&kept, b"short").unwrap();
    assert_eq!(read(&cached, &server.name(), &blob).unwrap(), bytes);
}

#[test]
fn many_at_once_agree() {
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    let server = Server::of(&sample);
    let (blob, bytes) = &sample.blobs[1];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let cached = Cached::new(dir.path(), Arc::new(server.remote())).unwrap();
                assert_eq!(&read(&cached, &server.name(), blob).unwrap(), bytes);
            });
        }
    });
    assert_eq!(std::fs::read(dir.path().join("sha256").join(blob.digest.hex())).unwrap(), *bytes);
}
