//! From a closure to machines on libvirt: what is wanted, what is there, and what lies between.
//!
//! | module | what it owns |
//! |---|---|
//! | `virsh` | the one way to libvirt: a program, any connection (`qemu:///system`, `qemu+ssh://host/system`) |
//! | `xml` | libvirt's XML, and ours looked for in it |
//! | [`wanted`] | what the closure asks for |
//! | [`host`], `ports` | what is on the host, looked at and never remembered |
//! | [`plan`], `leftover` | the difference as steps, each with its reason; what needs root; what stands in the way |
//! | `phase` | the parts of the way |
//! | [`apply`] | steps taken, phase by phase |
//! | [`approve`] | certificates for the kubelets of machines that we made |
//! | `wait`, `live` | waits with an end, and what they wait for: the cluster itself |
//! | [`destroy`] | everything removed that was made |
//! | [`status`] | how it stands |
//! | [`booted`] | what a node booted with, as its console tells it |
//! | [`ssh`], `reach` | the way to a node, and scripts that run there |
//! | `console`, [`shown`], [`logs`] | what a node writes to its serial console; its journal and its pods' logs |
//! | [`gather`] | one archive after a boot that failed, secrets masked |
//! | [`state`] | what is kept beside the cluster's files |
//! | `volumes`, `balancer`, `firewall`, `neighbours` | files in the pool, HAProxy, the closure's firewall script, who is there |
//!
//! Invariant: what is ours is known by its UUID, which comes out of the seed, and machines by their mark besides. Nothing
//! else is ever changed: an object of the same name that is not ours is an obstacle.

pub(crate) mod api;
pub(crate) mod apply;
pub(crate) mod approve;
mod balancer;
pub(crate) mod booted;
mod console;
pub(crate) mod destroy;
mod error;
mod firewall;
pub(crate) mod gather;
pub(crate) mod host;
mod leftover;
mod live;
pub(crate) mod logs;
mod neighbours;
mod obstacles;
mod phase;
pub(crate) mod plan;
mod ports;
mod privileged;
mod reach;
pub(crate) mod shown;
pub(crate) mod ssh;
pub(crate) mod state;
pub(crate) mod status;
mod virsh;
mod volumes;
mod wait;
pub(crate) mod wanted;
mod xml;

pub(crate) use apply::{Applied, Hands};
pub(crate) use booted::Booted;
pub(crate) use error::RealizeError;
pub(crate) use gather::{Gathered, Request};
pub(crate) use host::Host;
pub(crate) use live::{Check, Cluster, Operator};
pub(crate) use logs::Log;
pub(crate) use obstacles::Obstacle;
pub(crate) use phase::Phase;
pub(crate) use plan::{Action, Plan, Step, Thing};
pub(crate) use privileged::{Access, Privileged};
pub(crate) use ssh::Way;
pub(crate) use state::State;
pub(crate) use status::Status;
pub(crate) use virsh::Virsh;
pub(crate) use wanted::{Images, Wanted};

/// The namespace of our mark in a machine's description.
pub(crate) const MARK: &str = "urn:tinderbox:node:1";
