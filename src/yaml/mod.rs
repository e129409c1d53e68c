//! YAML: reading with the place of everything, writing in one canonical way, editing what somebody wrote.

mod edit;
mod emit;
mod means;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use edit::edit;
pub use emit::{emit, scalar};
pub use read::{Data, Entry, Node, Source, TOO_LARGE, documents, parse};
pub use write::{block, flow};

/// Whether a file's name says that YAML is in it, or JSON, which is YAML too: what a cluster applies.
pub fn is_manifest(path: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending))
}
