//! tinderbox
pub mod digest;
pub mod drv;
pub mod fs;
pub mod hint;
pub mod secret;
pub mod store;
pub mod tree;
pub mod value;
