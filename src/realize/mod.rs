//! From a closure to a running cluster.
//!
//! | module | what it owns |
//! |---|---|
//! | `realizer` | `Realizer`: everything that the verbs work with |
//! | [`desired`] | what the closure asks for |
//! | `host` | what is on the host: queried every time, never cached |
//! | `plan`, `obstacles`, `privileged` | the difference as steps with reasons; what prevents them; what needs root |
//! | `phase`, `apply`, `phases` | steps taken phase by phase, and what each phase waits for |
//! | `timed_stream` | a connection with one deadline |
//! | `wait` | the one wait loop: deadline, poll interval, cancellation, last seen state |
//! | [`preflight`] | DNS, load balancer, registry and time servers, asked before anything boots |
//! | `destroy`, `remove`, `status`, `gather` | the other verbs |
//! | [`ssh`], [`logs`], [`console`], [`console_filter`] | a node over SSH, its logs, its serial console without secrets |
//! | [`booted`] | what a node booted with, according to its console |
//! | [`api`], `cluster`, [`approve`] | the cluster's API, its objects, and certificates for our own kubelets |
//! | `state` | what is kept beside the cluster's files |
//! | `load_balancer`, `ports`, `firewall` | HAProxy, the ports that it needs, and the closure's firewall script |
//! | [`provider`] | what creates machines: the trait |
//! | `libvirt` | libvirt as a provider: the only module that knows it (tested) |
//! | [`external`] | machines of the user's own as one |
//! | `needs` | what the user's DNS and load balancer must have |
//! | `live` | what a machine meets that joins a running cluster |
//!
//! Phases, in order: host, media, bootstrap, control-plane, pivot, workers, convergence, verify. A single node that bootstraps itself
//! has neither bootstrap nor pivot. `phases/mod.rs` has a table
//! of what each creates and waits for.
//!
//! # What creates machines
//!
//! A [`provider::Provider`] does: `libvirt`, or [`external`] where the user has the machines. It takes inventory, plans and takes the steps
//! for machines and what they share, and answers questions about one machine (state, addresses, console, ssh). Phases, approval,
//! convergence and verification know no more of it than that trait.
//!
//! Invariants: what is ours on the host is recognised by a UUID that comes from the seed, and nothing else is ever changed.
//! Every step can be repeated, so that a run continues from wherever the last one was interrupted.

pub(crate) mod api;
mod apply;
pub(crate) mod approve;
pub(crate) mod booted;
mod cluster;
pub(crate) mod console;
pub(crate) mod console_filter;
pub(crate) mod desired;
mod destroy;
mod error;
pub(crate) mod external;
mod firewall;
mod gather;
mod host;
mod libvirt;
mod live;
mod load_balancer;
pub(crate) mod logs;
mod needs;
mod obstacles;
mod phase;
mod phases;
mod plan;
mod ports;
pub(crate) mod preflight;
mod privileged;
pub(crate) mod provider;
mod realizer;
mod remove;
pub(crate) mod ssh;
mod state;
mod status;
mod timed_stream;
mod wait;

pub(crate) use apply::{Applied, apply};
pub(crate) use booted::Booted;
pub(crate) use cluster::{ClusterAccess, Operator};
pub(crate) use desired::{BaseImage, BootImages, Desired};
pub(crate) use destroy::{Destroyed, destroy};
pub(crate) use error::{RealizeError, Result};
pub(crate) use gather::{GatherRequest, Gathered, gather};
pub(crate) use host::Host;
pub(crate) use libvirt::{Definitions, Libvirt, LibvirtError as ProviderError};
pub(crate) use logs::NodeLog;
pub(crate) use needs::Need;
pub(crate) use obstacles::Obstacle;
pub(crate) use phase::Phase;
pub(crate) use phases::SmokeCheck;
pub(crate) use plan::{PlanStep, RealizePlan, ResourceKind, StepAction};
pub(crate) use privileged::{HostAccess, Privileged};
pub(crate) use realizer::Realizer;
pub(crate) use remove::{Removed, remove};
pub(crate) use ssh::SshRoute;
pub(crate) use state::StateDir;
pub(crate) use status::{RealizeStatus, status};
