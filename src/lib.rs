//! tinderbox
pub mod hint;
pub mod secret;
pub mod value;
