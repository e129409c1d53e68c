//! Releases: fetched, read, pinned and copied.

mod bad;
pub(crate) mod data;
mod host;
pub(crate) mod pack;
mod story;
