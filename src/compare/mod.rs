//! From closures to what people read: what differs between two builds, by meaning, and why.
//!
//! Uses `openshift`, `engine` and `base`; data in, data and text out, nothing printed.
//!
//! | module | what it owns |
//! |---|---|
//! | `cause` | what changed first, by the names that people know |
//! | `delta` | two files compared by meaning: what is in them decides how, down to the leaf |
//! | `diff` | two closures compared: what differs, why, what follows for running nodes |
//! | `report` | outcomes as rows, Markdown and pages |

pub(crate) mod cause;
pub(crate) mod delta;
pub(crate) mod diff;
pub(crate) mod report;
