//! tinderbox
pub mod config;
pub mod hint;
pub mod secret;
pub mod value;
