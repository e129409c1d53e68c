//! From closures to what people read: the differences between two builds, by meaning, and why.
//!
//! Uses `openshift`, `engine` and `base`; data in, data and text out, nothing printed.
//!
//! | module | responsibility |
//! |---|---|
//! | `cause` | root causes, by the names that people know |
//! | `delta` | compares two files by meaning, down to the leaf |
//! | `diff` | compares two closures: what differs, why, and the effect on running nodes |
//! | `drift` | compares a live cluster with the closure that made it |
//! | `fleet` | what a change does to many sites: those with the same change are one |
//! | `guide` | a book about one cluster |
//! | `hand_over` | compares our objects with those of the operators' own renders |
//! | `parts` | the parts of an artifact that people ask about, by its format |
//! | `program_settings` | what a program of a static pod is told: flags, environment, configuration, pod |
//! | `static_pods` | compares that with the operators' own renders |
//! | `readiness` | whether a cluster can go to a release |
//! | `page` | the page kit: markup, parts, style and script of every page |
//! | `picture` | the graph of stages, and who trusts what, as SVG |
//! | `report` | results as rows, Markdown and pages |

pub(crate) mod cause;
pub(crate) mod delta;
pub(crate) mod diff;
pub(crate) mod drift;
pub(crate) mod fleet;
pub(crate) mod guide;
pub(crate) mod hand_over;
pub(crate) mod page;
pub(crate) mod parts;
pub(crate) mod picture;
mod program_settings;
pub(crate) mod readiness;
pub(crate) mod report;
pub(crate) mod static_pods;
