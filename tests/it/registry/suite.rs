//! What every source of images does. Its fixture holds a [`Sample`] under a name with its tag.

use std::io::Read;

use tinderbox::internals::registry::{
    Descriptor, ImageName, Images, Reference, RegistryError, Result, Sha256, image,
};

use crate::registry::sample::{OCI_INDEX, Sample};

/// A blob to its end.
pub(crate) fn read(images: &dyn Images, name: &ImageName, blob: &Descriptor) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match images.blob(name, blob)?.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(RegistryError::from_io(error).expect("an error of the registry's")),
    }
}

pub(crate) fn run(images: &dyn Images, name: &ImageName, sample: &Sample) {
    // A tag is resolved, a digest means itself.
    assert_eq!(images.resolve(name).unwrap(), sample.list);
    assert_eq!(images.resolve(&name.at(sample.image)).unwrap(), sample.image);
    let other = ImageName { reference: Reference::Tag("none".into()), ..name.clone() };
    let error = images.resolve(&other).unwrap_err();
    assert!(matches!(error, RegistryError::NotFound { .. }), "{error}");
    assert!(error.to_string().contains("the tag `none` not found"), "{error}");

    // Manifests, by digest, with their types.
    let (media_type, bytes) = images.manifest(name, &sample.list).unwrap();
    assert_eq!((media_type.as_str(), Sha256::of(&bytes)), (OCI_INDEX, sample.list));
    let found = image(images, name, &sample.list, "amd64").unwrap();
    assert_eq!(found.digest, sample.image);
    assert_eq!(found, image(images, name, &sample.image, "amd64").unwrap());
    let error = image(images, name, &sample.list, "s390x").unwrap_err().to_string();
    assert!(error.ends_with("no image for linux/s390x, only for linux/amd64, linux/arm64"), "{error}");
    let error = images.manifest(name, &Sha256::of(b"none")).unwrap_err();
    assert!(matches!(error, RegistryError::NotFound { .. }), "{error}");

    // Blobs, whole, twice.
    for (blob, bytes) in sample.blobs.iter().chain(&sample.blobs) {
        assert_eq!(&read(images, name, blob).unwrap(), bytes);
    }
    let error = read(images, name, &Descriptor { digest: Sha256::of(b"none"), ..found.config.clone() });
    assert!(matches!(error, Err(RegistryError::NotFound { .. })), "{error:?}");
    let error = read(images, name, &Descriptor { size: 3, ..found.config.clone() }).unwrap_err();
    assert!(matches!(error, RegistryError::Mismatch { .. }), "{error}");

    // A reader that is given up in the middle hurts nobody.
    let mut some = [0; 10];
    images.blob(name, &found.layers[0]).unwrap().read_exact(&mut some).unwrap();
    assert_eq!(some, sample.blobs[1].1[..10]);

    // Many readers at once.
    std::thread::scope(|scope| {
        for (blob, bytes) in &sample.blobs {
            scope.spawn(move || assert_eq!(&read(images, name, blob).unwrap(), bytes));
        }
    });
}
