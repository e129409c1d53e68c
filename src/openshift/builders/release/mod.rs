//! Builders that read a release: `payload`, `images`, `crds`.

mod crds;
mod feature_gate;
mod images;
mod payload;
mod select;

pub(super) use crds::Crds;
pub(super) use images::Images;
pub(super) use payload::Payload;
