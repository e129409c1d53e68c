//! What must not be seen, and what must not steer a terminal.
//!
//! | module | what it owns |
//! |---|---|
//! | `patterns` | which parts of a secret file would give the secret away |
//! | `forms` | the encodings in which a pattern can stand in a text |
//! | `matcher` | finds thousands of patterns in one pass |
//! | `shapes` | secrets that nobody told us, by what they look like |
//! | `redactor` | masks all of these in whatever passes by |
//! | `values` | what may be shown of a value, a line or a name of a document |
//! | `terminal` | the text of others without what a terminal obeys |

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
pub(crate) use terminal::{ControlFilter, one_line, steers};
pub(crate) use values::{line, name, value};
