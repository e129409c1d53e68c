//! Copies between layouts: whole lists, one architecture, and nothing twice.

use tempfile::tempdir;
use tinderbox::internals::registry::{Copied, Directory, Platforms, Progress, copy_image};

use crate::registry::sample::{Sample, name};
use crate::registry::suite;

#[test]
fn a_list_is_copied_once_and_whole() {
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    let from = sample.layout(&dir.path().join("from")).images().unwrap();
    let to = Directory::create(&dir.path().join("to")).unwrap();
    let (here, there) = (name("a.b/c"), name("d.e/f"));
    let mut sent = 0;
    let mut progress = |progress: Progress<'_>| sent += u64::from(matches!(progress, Progress::Sent(_)));
    let copied = copy_image(&from, &to, &here, &there, &sample.list, Platforms::All, &mut progress).unwrap();
    assert_eq!((copied.blobs, copied.skipped, copied.manifests, sent), (5, 1, 3, 5));
    suite::run(&to.images().unwrap(), &there, &sample);
    let again = copy_image(&from, &to, &here, &there, &sample.list, Platforms::All, &mut |_| {}).unwrap();
    assert_eq!(again, Copied { blobs: 0, bytes: 0, skipped: 6, manifests: 3 });
}

#[test]
fn one_architecture_of_a_list() {
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    let from = sample.layout(&dir.path().join("from")).images().unwrap();
    let to = Directory::create(&dir.path().join("to")).unwrap();
    let only = |architecture| {
        copy_image(
            &from,
            &to,
            &name("a.b/c"),
            &name("d.e/f"),
            &sample.list,
            Platforms::Only(architecture),
            &mut |_| {},
        )
    };
    let copied = only("amd64").unwrap();
    assert_eq!((copied.blobs, copied.manifests), (3, 2));
    let images = to.images().unwrap();
    let image =
        tinderbox::internals::registry::image(&images, &name("d.e/f"), &sample.list, "amd64").unwrap();
    assert_eq!(image.digest, sample.image);
    assert!(only("s390x").unwrap_err().to_string().contains("linux/s390x"));
}
