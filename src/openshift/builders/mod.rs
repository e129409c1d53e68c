//! The OpenShift builders: releases, keys and certificates, manifests, Ignition, checks, media.
//!
//! [`ALL`] is the set that recipes can name, including the engine's.

mod error;
mod identity;
mod ignition;
mod iso;
mod iso_areas;
mod iso_for_all;
mod iso_patch;
mod machine_config;
mod mco_render;
mod netboot;
mod nmstate;
mod objects;
mod patch;
mod pki;
mod projection;
pub(crate) mod release;
mod secrets;
mod tree;
pub(crate) mod validate;

pub(crate) use error::ArtifactError;
pub(crate) use machine_config::SALT as RENDERED_SALT;

// Used by every builder here.
use crate::engine::builders::{
    BuildError, Builder, Builders, DigestOf, Grants, Image, InputTree, Job, JobError, MadeFile, PinnedFile,
    Run, Template,
};

pub const ALL: Builders = Builders(&[
    &Image,
    &release::Payload,
    &release::Images,
    &release::Crds,
    &release::OsImages,
    &identity::Identity,
    &pki::Keypair,
    &pki::Authority,
    &pki::SelfSigned,
    &pki::Certificate,
    &Template,
    &Run { inspect: secrets::empty },
    &mco_render::Placeholders,
    &mco_render::McoRender(Run { inspect: secrets::empty }),
    &machine_config::MachineConfig,
    &nmstate::Nmstate,
    &ignition::Ignition,
    &tree::Tree,
    &patch::Patches,
    &validate::Validate,
    &iso::Iso,
    &iso_areas::IsoAreas,
    &iso_patch::IsoPatch,
    &iso_for_all::IsoForAll,
    &netboot::Netboot,
    &PinnedFile,
    &DigestOf,
]);
