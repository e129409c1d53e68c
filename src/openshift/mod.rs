//! What OpenShift is: the user's configuration, releases, manifests, Ignition, checks, trust, and the builders of all that.
//!
//! Uses `engine` and `base`. Nothing here prints or runs a program of the host.
//!
//! | module | what it owns |
//! |---|---|
//! | `knowledge` | tables of what is known about OpenShift's releases: hand-over objects, trust, node disruption, component names |
//! | `config` | install-config.yaml and cluster.yaml: one row per field, and the tree that recipes see |
//! | `lock` | what comes from outside, pinned; which certificates were renewed |
//! | `release`, `demo` | from `release:` to a source of images; the built-in demo release |
//! | `builders` | the builders that know what they build, and the set of all |
//! | `ignition`, `iso` | node configurations, and the live ISO's reserved areas |
//! | `patch` | patches of Kubernetes objects |
//! | `pod` | a static pod's flags, and where the files that they name are on the node |
//! | `schema` | objects against OpenAPI schemas and Kubernetes' types, as the API server does it |
//! | `trust` | who shows what to whom, and who trusts it before and after the pivot |
//! | `workspace` | a cluster directory, read and understood; the store that it builds into |

pub(crate) mod builders;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod ignition;
pub(crate) mod iso;
pub(crate) mod knowledge;
pub(crate) mod lock;
pub(crate) mod patch;
pub(crate) mod pod;
pub(crate) mod release;
pub(crate) mod schema;
pub(crate) mod trust;
pub(crate) mod workspace;
