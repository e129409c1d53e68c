//! The build system: recipes become a graph, the graph becomes derivations, derivations become objects of the store.
//!
//! Knows nothing of what is built (tested): which builders there are and which fields recipes see is handed in. Uses `base`.
//!
//! | module | what it owns |
//! |---|---|
//! | `fields` | what recipes see of a configuration: leaves that know who decided them, and projections of them |
//! | `recipe` | recipe text and fields → an acyclic graph with all names resolved |
//! | `drv` | the derivation, its canonical encoding, and the table of what is identity |
//! | `tree` | what an output may hold, how it becomes an id, its listing, its writer |
//! | `store` | objects, realisations, sessions, roots, gc, verify, scan |
//! | `builders` | what a builder is, and those that any build needs |
//! | `registry` | images: registries, OCI layouts; verified bytes |
//! | `sandbox` | one program on given inputs, without network |
//! | `exec` | the scheduler: the store's output, else a build |

pub(crate) mod builders;
pub(crate) mod drv;
pub(crate) mod exec;
pub(crate) mod fields;
pub(crate) mod recipe;
pub(crate) mod registry;
pub(crate) mod sandbox;
pub(crate) mod store;
pub(crate) mod tree;
