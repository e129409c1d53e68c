//! YAML: reading with source positions, writing in one canonical form, editing files that people wrote.

mod adapt;
mod edit;
mod emit;
mod go;
mod means;
mod read;
mod scalar;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use edit::{edit, replace_scalar};
pub(crate) use emit::{emit, scalar};
pub use read::{Source, documents, go_documents, parse};
pub(crate) use read::{TOO_LARGE, YamlEntry};
pub use read::{YamlData, YamlNode};
pub(crate) use scalar::{Scalar, resolve};
pub(crate) use write::{block, flow};

/// Whether a file name denotes YAML or JSON (which is YAML too): the formats that a cluster applies.
pub(crate) fn is_manifest(path: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending))
}
