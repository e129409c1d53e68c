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

pub mod apply;
pub mod approve;
mod balancer;
pub mod booted;
mod console;
pub mod destroy;
mod error;
mod firewall;
pub mod gather;
pub mod host;
mod leftover;
mod live;
pub mod logs;
mod neighbours;
mod obstacles;
mod phase;
pub mod plan;
mod ports;
mod privileged;
mod reach;
pub mod shown;
pub mod ssh;
pub mod state;
pub mod status;
mod virsh;
mod volumes;
mod wait;
pub mod wanted;
mod xml;

pub use apply::{Applied, Hands};
pub use booted::Booted;
pub use destroy::Destroyed;
pub use error::RealizeError;
pub use gather::{Gathered, Request};
pub use host::Host;
pub use live::{Check, Cluster, Operator};
pub use logs::Log;
pub use obstacles::Obstacle;
pub use phase::Phase;
pub use plan::{Action, Plan, Step, Thing};
pub use privileged::{Access, Privileged};
pub use reach::Visit;
pub use ssh::{ReachError, Way};
pub use state::State;
pub use status::Status;
pub use virsh::Virsh;
pub use wanted::{Images, Wanted};

/// The namespace of our mark in a machine's description.
pub const MARK: &str = "urn:tinderbox:node:1";
