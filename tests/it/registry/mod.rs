//! Images from layouts, archives and registries: one suite for all of them, the real docker-registry, and a registry of our
//! own that misbehaves in every way the real one cannot. Only loopback is reached.

pub(crate) mod bad;
mod cache;
mod copy;
pub(crate) mod host;
mod hostile;
mod layout;
mod mirrors;
mod proxy;
pub(crate) mod sample;
pub(crate) mod server;
mod suite;
