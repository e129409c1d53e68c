//! Releases: fetched, read, pinned and copied.

mod architecture;
mod bad;
pub(crate) mod data;
mod go_yaml;
mod host;
pub(crate) mod pack;
mod signatures;
mod story;
mod try_release;
