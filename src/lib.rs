//! tinderbox: a Nix-style, content-addressed build system for OpenShift bootstrap artifacts.
//!
//! Every artifact is a pure derivation of its inputs, hashed with BLAKE3 into a local store.
//!
//! # The tree, by layers
//!
//! Nothing points upwards (tested). Layers 0 and 1 are for everyone above; `→` names everything else a module uses.
//!
//! ```text
//! main.rs        parse, dispatch, exit code
//! cli/        6  one argument struct per verb; tables, progress, colour                   → ops report, store's outcomes
//! ops/        5  one file per verb: reads the files, hands text and values down           → all of 2-4
//! exec/       4  the scheduler: ready queue on rayon; the store's output, else a build    → builders store registry
//! report/     4  outcomes for people: rows, Markdown, pages; data in, text out              → diff
//! diff/       4  two closures compared by meaning: what differs, why, what follows          → store
//! realize/    4  from a closure to a cluster on libvirt: what is wanted, what is there, what lies between   → api
//! builders/   3  the trait, and one file or folder per builder                            → registry sandbox
//! store/      2  objects, realisations, sessions, roots, gc, verify, scan
//! api/        2  a running cluster's API, blocking: any object, nodes, requests for certificates
//! registry/   2  images: registries, OCI layouts, the demo release; verified bytes        → config's release
//! sandbox/    2  runs one program on given inputs without network; says what came of it
//! delta/      1  two files compared by meaning: what is in them decides how, down to the leaf   → ignition pki
//! recipe/     1  recipe text + config + lock → an acyclic graph with all names resolved   → config
//! config/     1  install-config and cluster file: fragments, inputs, settings; fields         → pki
//! lock/       1  what comes from outside, pinned; which certificates were renewed
//! iso/        1  a RHCOS live ISO's reserved areas: where they are, and what to write there
//! ignition/   1  Ignition configs: read strictly, merged, written in one canonical form
//! patch/      1  patches of Kubernetes objects: which object, and what becomes of it
//! trust/      1  who shows what to whom, and who trusts it before and after the pivot         → pki
//! drv/        1  derivation, canonical encoding, explanation; the table of what is identity
//! pki/        1  keys and certificates: made out of the seed, read from users' files
//! schema/     0  objects against OpenAPI schemas and Kubernetes' types, as the API server does it
//! tree/       0  what an output may hold, how it becomes an id, its listing, its writer
//! yaml/       0  reading with lines, writing canonically
//! pod.rs      0  a static pod's flags, their comments, and where the files that they name are on the node
//! process.rs  0  programs of the host, run to their end within a limit, or with the user's terminal
//! needle/     0  what would give a secret away, in which forms; masks it in what is shown
//! digest.rs fs.rs event.rs hint.rs secret.rs value.rs                                   0
//! ```
//!
//! Layer 1 is pure: text and values in, values out; no disk, clock, environment or threads. `fs` is the only module that
//! touches the file system; `cli` the only one that prints or reads the environment.
//!
//! # The life of one build
//!
//! 1. [`ops`] reads the cluster directory. [`config`] turns the two YAML files into a model, in which every leaf knows the
//!    lines that decided it; all problems are reported at once.
//! 2. [`recipe`] expands the recipes (built in, under the user's own) for this cluster: `for_each` over nodes, inputs by
//!    name, config fields projected one by one. The result is a graph in build order.
//! 3. [`exec`] walks it. A derivation whose inputs are done gets their content digests in place of their names;
//!    [`drv::Derivation::id`] hashes that. The store knows the id, or a builder writes the output into a staging tree.
//! 4. [`store`] hashes while files are written, shares equal files, makes batches durable with one sync, and renames them
//!    into place. A realisation records which derivation gave which object, and from what.
//! 5. A new `cluster` object becomes a generation, and `result` points to it.
//!
//! # Secrets
//!
//! The seed, the pull secret and what is made from them are tainted: such outputs are for their owner only, their digests
//! are keyed with a key from the seed, and they are masked wherever something is shown. See [`secret`] and [`tree`].
//! [`ops::seed`] keeps the seed, plain or encrypted; [`ops::scan`] proves that no secret is where none belongs.

pub mod api;
pub mod builders;
pub mod cli;
pub mod config;
pub mod delta;
pub mod diff;
pub mod digest;
pub mod drv;
pub mod event;
pub mod exec;
pub mod fs;
pub mod hint;
pub mod ignition;
pub mod iso;
pub mod lock;
pub mod needle;
pub mod ops;
pub mod patch;
pub mod pki;
pub mod pod;
pub mod process;
pub mod realize;
pub mod recipe;
pub mod registry;
pub mod report;
pub mod sandbox;
pub mod schema;
pub mod secret;
pub mod store;
pub mod tree;
pub mod trust;
pub mod value;
pub mod yaml;
