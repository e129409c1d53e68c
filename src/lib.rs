//! tinderbox: a Nix-style, content-addressed build system for OpenShift bootstrap artifacts.
//!
//! Every artifact is a pure derivation of its inputs, hashed with BLAKE3 into a local store.
//!
//! # Rooms
//!
//! Nothing points upwards (tested): a room uses those after its `→`, and nothing else. Each has a `mod.rs` that lists its
//! contents.
//!
//! ```text
//! main.rs     parse, dispatch, exit code
//! base/       digests, files, values, YAML, keys, events, hints, secrets, redaction
//! engine/     recipes, derivations, trees, store, scheduler, sandbox, registries    → base
//! openshift/  knowledge tables, configuration, releases, Ignition, checks, trust    → base engine
//! compare/    two files, two closures; reports and pages                            → base engine openshift
//! realize/    from a closure to a running cluster                                   → base openshift
//! cli/        verbs: arguments, help, calls, rendering; prints, reads environment   → base engine openshift compare realize
//! ```
//!
//! `engine` knows nothing of OpenShift (tested). Modules that only turn text and values into values are pure (tested):
//! no disk, clock or threads. [`base::fs`] is the only module that touches the file system, [`cli`] the only one that
//! prints or reads the environment.
//!
//! # The life of one build
//!
//! 1. [`openshift::workspace`] reads the cluster directory. [`openshift::config`] turns the two YAML files into a model
//!    whose leaves know the lines that set them; all problems are reported at once.
//! 2. [`engine::recipe`] expands the recipes (the user's own on top of the built-in ones) for this cluster: `for_each`
//!    over nodes, inputs by name, config fields projected one by one. The result is a graph in build order.
//! 3. [`engine::exec`] walks it. A derivation whose inputs are done gets their content digests in place of their names;
//!    [`engine::drv::Derivation::id`] hashes that. The store has the id, or a builder writes the output into a staging
//!    tree.
//! 4. [`engine::store`] hashes files while they are written, shares equal files, makes batches durable with one sync, and
//!    renames them into place. A realisation records which derivation produced which object, and from what.
//! 5. A new `cluster` object becomes a generation, and `result` points to it.
//!
//! # Glossary
//!
//! | here | Nix | Bazel | what it is |
//! |---|---|---|---|
//! | recipe | package expression | rule | data that names a builder, inputs and parameters |
//! | derivation | derivation | action | a recipe's instance with all inputs by content |
//! | `DrvId` | hash of a `.drv` | action key | its identity, known before it runs |
//! | object, `ObjectId` | store path | CAS blob or tree | an output, by its content |
//! | realisation | realisation | action result | which derivation produced which object |
//! | builder | builder | action implementation | one of a closed, versioned set |
//! | closure | closure | transitive outputs | a derivation with everything it needs |
//! | generation | generation | – | a retained build of `cluster` |
//! | gc root | gc root | – | what garbage collection keeps |
//! | epoch | `SOURCE_DATE_EPOCH` | – | the only time that certificates may see |
//! | pivot | – | – | the control plane's move from the bootstrap node to the masters |
//! | hand-over | – | – | the objects that operators adopt at the pivot |
//!
//! # Secrets
//!
//! The seed, the pull secret and everything derived from them are tainted: such outputs are readable by their owner only,
//! their digests are keyed with a key from the seed, and they are masked wherever something is shown. See [`base::secret`]
//! and [`base::redact`]. `store scan` proves that no secret is where none belongs.

#![allow(rustdoc::private_intra_doc_links, reason = "this documentation is for people who work on the crate")]

mod base;
mod cli;
mod compare;
mod engine;
mod openshift;
mod realize;

pub use cli::main;

/// What this repository's own tests and benchmarks reach. No interface for anybody else: it changes without notice.
#[doc(hidden)]
pub mod internals {
    pub mod api {
        pub use crate::realize::api::{ApiError, Client, Gvr};
    }
    pub mod booted {
        pub use crate::realize::booted::{Booted, Expected};
    }
    pub mod builders {
        pub use crate::openshift::builders::ALL;
    }
    pub mod cancel {
        pub use crate::base::cancel::Cancel;
    }
    pub mod config {
        pub use crate::openshift::config::Release;
    }
    pub mod console_filter {
        pub use crate::realize::console_filter::*;
    }
    pub mod delta {
        pub use crate::compare::delta::{
            Change, ChangeKind, DeltaContext, Edit, File, ShownValue, Tone, files,
        };
    }
    pub mod demo {
        pub use crate::openshift::demo::{Demo, open, versions};
    }
    pub mod diff {
        pub use crate::compare::cause::Cause;
        pub use crate::compare::diff::{Diff, Part, Side, Tree, compare};
    }
    pub mod download {
        pub use crate::engine::download::{DownloadError, Downloader, Fetched, Wanted};
    }
    pub mod event {
        pub use crate::base::event::{Event, Events};
    }
    pub mod exec {
        pub use crate::engine::exec::{BuildContext, Options, build, path_of};
    }
    pub mod fields {
        pub use crate::engine::fields::{Field, Fields};
    }
    pub mod fleet {
        pub use crate::compare::fleet::{Collector, Found, NodePool, OwnValues, rollout};
        pub use crate::compare::report::fleet_html;
    }
    pub mod fs {
        pub use crate::base::fs::{create_dirs, remove_all, sync_file_system};
    }
    pub mod fuzz;
    pub mod hint {
        pub use crate::base::hint::{Hint, Place, Problems, chain};
    }
    pub mod ignition {
        pub use crate::openshift::ignition::{Config, encode};
    }
    pub mod pki {
        pub use crate::base::pki::{Algorithm, Certificate, Form, Issuer, Name, PrivateKey, Request, issue};
    }
    pub mod pod {
        pub use crate::openshift::pod::{Container, Flag, containers};
    }
    pub mod recipe {
        pub use crate::engine::recipe::{Graph, Names, Sources, load};
    }
    pub mod registry {
        pub use crate::engine::registry::{
            Access, Cached, Copied, Deferred, Descriptor, Directory, ImageName, Images, Layout, MirrorRule,
            Opened, Patience, Platforms, Progress, ProxySettings, Reference, RegistryError, Remote, Result,
            Sha256, Target, copy_image, image,
        };
    }
    pub mod release {
        pub use crate::openshift::release::open;
    }
    pub mod remote {
        pub use crate::engine::remote::Farms;
    }
    pub mod sandbox {
        pub use crate::engine::sandbox::{
            Ended, Isolation, Limits, Mount, Program, Ran, Sandbox, SandboxError, Variation, Walls,
        };
    }
    pub mod secret {
        pub use crate::base::secret::{Secret, Seed};
    }
    pub mod store {
        pub use crate::engine::store::{Session, Store};
    }
    pub mod knowledge {
        pub use crate::openshift::knowledge::Knowledge;
    }
    pub mod trust {
        pub use crate::openshift::trust::{Machine, Pool, Trust};
    }
    pub mod value {
        pub use crate::base::value::Value;
    }
    pub mod yaml {
        pub use crate::base::yaml::{Source, YamlData, YamlNode, documents, go_documents, parse};
    }
}
