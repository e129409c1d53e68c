//! Layouts and archives.

use tempfile::tempdir;
use tinderbox::internals::config::Release;
use tinderbox::internals::registry::{Access, Cached, Images, Layout, RegistryError, Sha256, Target};
use tinderbox::internals::release::open;

use crate::registry::sample::{Sample, TAG, descriptor, name};
use crate::registry::{server, suite};

#[test]
fn a_layout_passes_the_suite_and_other_repositories_find_it_by_digest() {
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    sample.layout(&dir.path().join("images"));
    let release: Release = format!("oci:images:{TAG}").parse().unwrap();
    let opened = open(&release, dir.path(), Access::default()).unwrap();
    assert_eq!(opened.name.to_string(), format!("oci:images:{TAG}"));
    suite::run(&*opened.images, &opened.name, &sample);
    opened.images.manifest(&name("quay.io/some/other").at(sample.image), &sample.image).unwrap();
}

#[test]
fn an_archive_passes_the_suite() {
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    sample.layout(&dir.path().join("images"));
    let path = dir.path().join("images.tar");
    let mut tar = tar::Builder::new(std::fs::File::create(&path).unwrap());
    tar.append_dir_all(".", dir.path().join("images")).unwrap();
    tar.finish().unwrap();
    suite::run(&Layout::open(&path).unwrap(), &name("oci.example.com/x"), &sample);
}

#[test]
fn a_compressed_archive_and_what_is_no_layout_say_so() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("x.tar.gz");
    std::fs::write(&path, [0x1f, 0x8b, 8, 0]).unwrap();
    let error = Layout::open(&path).err().unwrap().to_string();
    assert!(error.ends_with("it is compressed with gzip; an oci-archive is a plain tar"), "{error}");
    let error = Layout::open(dir.path()).err().unwrap().to_string();
    assert!(error.ends_with("it is not an OCI layout: it has no index.json"), "{error}");
    let error = Layout::open(&dir.path().join("none")).err().unwrap().to_string();
    assert!(error.contains("none"), "{error}");
}

#[test]
fn names_count_in_nested_indexes_and_may_be_whole() {
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    sample.layout(dir.path());
    let inner = std::fs::read(dir.path().join("index.json")).unwrap();
    let inner = String::from_utf8(inner).unwrap().replace(TAG, &format!("quay.io/x:{TAG}")).into_bytes();
    let digest = Sha256::of(&inner);
    std::fs::write(dir.path().join("blobs/sha256").join(digest.hex()), &inner).unwrap();
    let outer = format!(
        r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"{digest}","size":{}}}]}}"#,
        inner.len()
    );
    std::fs::write(dir.path().join("index.json"), outer).unwrap();
    let layout = Layout::open(dir.path()).unwrap();
    assert_eq!(layout.resolve(&name("a.b/c")).unwrap(), sample.list);
}

#[test]
fn a_wrong_blob_is_refused_and_leaves_nothing_behind() {
    let dir = tempdir().unwrap();
    let sample = Sample::new();
    let layout = sample.layout(dir.path());
    let list = || std::fs::read_dir(dir.path().join("blobs/sha256")).unwrap().count();
    let before = list();
    let blob = descriptor("x", b"right");
    for wrong in ["wrong", "rig", "right and more"] {
        let error = layout.put_blob(&name("a.b/c"), &blob, &mut wrong.as_bytes()).unwrap_err();
        assert!(matches!(error, RegistryError::Mismatch { .. }), "{error}");
    }
    assert_eq!(list(), before);
    assert!(!layout.has_blob(&name("a.b/c"), &blob).unwrap());

    // A blob that was damaged on disk is found out when it is read.
    let (victim, bytes) = &sample.blobs[2];
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    std::fs::write(dir.path().join("blobs/sha256").join(victim.digest.hex()), damaged).unwrap();
    let error = suite::read(&layout.images().unwrap(), &name("a.b/c"), victim).unwrap_err();
    assert!(matches!(error, RegistryError::Mismatch { .. }), "{error}");
}

#[test]
fn a_cache_in_front_passes_the_suite() {
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    let layout = sample.layout(&dir.path().join("images")).images().unwrap();
    let cached = Cached::new(dir.path().join("cache"), std::sync::Arc::new(layout)).unwrap();
    suite::run(&cached, &name("a.b/c"), &sample);
}

#[test]
fn our_own_registry_passes_the_suite() {
    let sample = Sample::new();
    let server = server::Server::of(&sample);
    suite::run(&server.remote(), &server.name(), &sample);
}
