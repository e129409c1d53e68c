//! From a closure to a running cluster.
//!
//! | module | what it owns |
//! |---|---|
//! | `realizer` | `Realizer`: everything that the verbs work with |
//! | [`desired`] | what the closure asks for |
//! | `host` | what is on the host: queried every time, never cached |
//! | `plan`, `obstacles`, `privileged` | the difference as steps with reasons; what prevents them; what needs root |
//! | `phase`, `apply`, `phases` | steps taken phase by phase, and what each phase waits for |
//! | `wait` | the one wait loop: deadline, poll interval, cancellation, last seen state |
//! | `destroy`, `remove`, `status`, `gather` | the other verbs |
//! | [`ssh`], [`logs`], [`console`], [`console_filter`] | a node over SSH, its logs, its serial console without secrets |
//! | [`booted`] | what a node booted with, according to its console |
//! | [`api`], `cluster`, [`approve`] | the cluster's API, its objects, and certificates for our own kubelets |
//! | `state` | what is kept beside the cluster's files |
//! | `load_balancer`, `ports`, `firewall` | HAProxy, the ports that it needs, and the closure's firewall script |
//! | `libvirt` | the provider of machines: the only module that knows libvirt (tested) |
//!
//! Phases, in order: host, media, bootstrap, control-plane, pivot, workers, convergence, verify. A single node that bootstraps itself
//! has neither bootstrap nor pivot. `phases/mod.rs` has a table
//! of what each creates and waits for.
//!
//! # What creates machines
//!
//! `libvirt` does, and the rest knows it as `provider`: plain types and functions, listed at the end of `libvirt/mod.rs`. It
//! reads the definitions of the closure, takes inventory, plans and takes the steps for networks, disks and machines, and
//! answers questions about one machine (state, addresses, console, ssh). Machines that users boot themselves (`external`)
//! would be a second module beside it, and `provider` the choice between the two.
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
mod firewall;
mod gather;
mod host;
mod libvirt;
mod load_balancer;
pub(crate) mod logs;
mod obstacles;
mod phase;
mod phases;
mod plan;
mod ports;
mod privileged;
mod realizer;
mod remove;
pub(crate) mod ssh;
mod state;
mod status;
mod wait;

use libvirt as provider;

pub(crate) use apply::{Applied, apply};
pub(crate) use booted::Booted;
pub(crate) use cluster::{ClusterAccess, Operator};
pub(crate) use desired::{BaseImage, BootImages, Desired};
pub(crate) use destroy::{Destroyed, destroy};
pub(crate) use error::{RealizeError, Result};
pub(crate) use gather::{GatherRequest, Gathered, gather};
pub(crate) use host::Host;
pub(crate) use libvirt::{Connection, LibvirtError as ProviderError};
pub(crate) use logs::NodeLog;
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
