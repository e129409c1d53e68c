//! Releases: fetched, read, pinned and copied.

mod bad;
mod data;
pub(crate) mod pack;
mod real;
mod story;
