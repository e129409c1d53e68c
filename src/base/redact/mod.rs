//! Masks secrets, and removes what would control a terminal.
//!
//! | module | responsibility |
//! |---|---|
//! | `patterns` | which parts of a secret file would give the secret away |
//! | `forms` | the encodings in which a pattern can appear in a text |
//! | `matcher` | finds thousands of patterns in one pass |
//! | `shapes` | recognises unknown secrets by their format |
//! | `redactor` | masks all of these in a stream |
//! | `values` | which part of a document's value, line or name may be shown |
//! | `terminal` | removes control sequences from untrusted text |

mod der;
mod forms;
mod matcher;
mod patterns;
mod redactor;
mod shapes;
mod terminal;
mod values;

pub(crate) use forms::{Encoding, SHORTEST, forms};
pub(crate) use matcher::Matcher;
pub(crate) use patterns::{patterns, patterns_and_whole};
pub(crate) use redactor::{RedactingWriter, Redactor};
pub(crate) use terminal::{ControlFilter, controls_terminal, one_line};
pub(crate) use values::{line, name, value};
