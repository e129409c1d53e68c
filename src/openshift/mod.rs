//! OpenShift: the user's configuration, releases, manifests, Ignition, checks, trust, and the builders for all of them.
//!
//! Uses `engine` and `base`. Nothing here prints or runs a program of the host.
//!
//! | module | responsibility |
//! |---|---|
//! | `knowledge` | tables about OpenShift's releases: hand-over objects, trust, node disruption, component names |
//! | `config` | install-config.yaml and cluster.yaml: one row per field, and the tree that recipes see |
//! | `lock` | what is pinned from outside; which certificates were renewed |
//! | `fleet` | many clusters written down once: layers, tables, one seed and one lock; each is a cluster directory in memory |
//! | `release`, `demo` | from `release:` to an image source; the built-in demo release |
//! | `builders` | the OpenShift builders, and the set of all builders |
//! | `hosts` | machines in other installers' files: agent-config.yaml, ClusterInstance |
//! | `ignition`, `iso` | node configurations, and the live ISO's reserved areas |
//! | `install_dir` | what openshift-install left in its directory: what is ours, an edit of the user, or the user's own |
//! | `image_policy` | which images nodes pull only if they are signed |
//! | `nmstate` | a node's own network: from NMState to NetworkManager keyfiles |
//! | `patch` | patches of Kubernetes objects |
//! | `pod` | a static pod's flags, and the node paths of the files that they name |
//! | `schema` | validates objects against OpenAPI schemas and Kubernetes' types, like the API server |
//! | `trust` | who presents which credential to whom, and who accepts it before and after the pivot |
//! | `workspace` | a parsed cluster directory, and the store that it builds into |

pub(crate) mod builders;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod fleet;
pub(crate) mod hosts;
pub(crate) mod ignition;
pub(crate) mod image_policy;
pub(crate) mod install_dir;
pub(crate) mod iso;
pub(crate) mod knowledge;
pub(crate) mod lock;
pub(crate) mod nmstate;
pub(crate) mod patch;
pub(crate) mod pod;
pub(crate) mod release;
pub(crate) mod schema;
pub(crate) mod trust;
pub(crate) mod workspace;
