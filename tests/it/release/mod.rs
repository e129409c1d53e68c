//! Releases: fetched, read, pinned and copied.

mod bad;
pub(crate) mod data;
pub(crate) mod pack;
mod host;
mod story;
