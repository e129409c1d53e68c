//! YAML: reading with the line of everything, writing in one canonical way.

mod emit;
mod read;

pub use emit::{emit, scalar};
pub use read::{Data, Entry, Node, Source, documents, parse};
