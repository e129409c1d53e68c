//! Builders that read a release: `payload`, `images`, `crds`, `os-images`.

mod crds;
mod feature_gate;
mod images;
mod os_images;
mod payload;
mod select;

pub(super) use crds::Crds;
pub(crate) use feature_gate::applied_kinds;
pub(super) use images::Images;
pub(super) use os_images::OsImages;
pub(super) use payload::Payload;
