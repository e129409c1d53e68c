//! tinderbox
pub mod builders;
pub mod cli;
pub mod config;
pub mod digest;
pub mod drv;
pub mod event;
pub mod exec;
pub mod fs;
pub mod hint;
pub mod lock;
pub mod ops;
pub mod recipe;
pub mod secret;
pub mod store;
pub mod tree;
pub mod value;
pub mod yaml;
