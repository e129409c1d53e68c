//! The build system: recipes become a graph, the graph becomes derivations, derivations become objects of the store.
//!
//! Knows nothing of what is built (tested): callers pass in the builders and the fields that recipes see. Uses `base`.
//!
//! | module | responsibility |
//! |---|---|
//! | `fields` | what recipes see of a configuration: leaves with their origins, and projections |
//! | `recipe` | recipe text and fields → an acyclic graph with all names resolved |
//! | `drv` | the derivation, its canonical encoding, and the table of what is identity |
//! | `tree` | what an output may contain, how it becomes an id, its listing, its writer |
//! | `store` | objects, realisations, sessions, roots, gc, verify, scan |
//! | `builders` | the builder interface, and the generic builders |
//! | `registry` | images from registries and OCI layouts, as verified bytes |
//! | `reapi` | the Remote Execution API: blobs and action results of farms |
//! | `download` | large files into the store: resumed, verified, unpacked |
//! | `archive_limits` | how far archives from outside are read |
//! | `sandbox` | runs one program on given inputs, without network |
//! | `cache` | outputs that others built: signed, on registries and farms |
//! | `remote` | derivations that farms execute |
//! | `exec` | the scheduler: takes outputs from the store, else builds them |

pub(crate) mod archive_limits;
pub(crate) mod builders;
pub(crate) mod cache;
pub(crate) mod download;
pub(crate) mod drv;
pub(crate) mod exec;
pub(crate) mod fields;
pub(crate) mod reapi;
pub(crate) mod recipe;
pub(crate) mod registry;
pub(crate) mod remote;
pub(crate) mod sandbox;
pub(crate) mod store;
pub(crate) mod tree;
