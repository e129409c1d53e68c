//! libvirt, the provider of machines: the only module that runs `virsh`, reads libvirt's XML, or knows its objects.
//!
//! | file | what it owns |
//! |---|---|
//! | `connection` | `virsh` on any connection URI (`qemu:///system`, `qemu+ssh://host/system`) |
//! | `xml` | libvirt's XML, and the comparison of ours with it |
//! | `definitions`, `marker` | network, pool, domains and volumes as the closure defines them; the marker of our domains |
//! | `inventory` | what libvirt has now |
//! | `plan`, `obsolete` | the steps from one to the other |
//! | `obstacles`, `privileged` | what prevents them, and what needs root |
//! | `resources`, `network`, `volumes` | taking a step |
//! | `machines`, `neighbours`, `consoles`, `documents` | what libvirt knows about a machine: state, addresses, console, XML |
//! | `error` | what can go wrong |
//!
//! The rest of `realize` uses it as `provider`, through the names that this file exports and nothing else (tested). Machines
//! that users boot themselves (`external`) would be a second module of the same shape beside this one.
//!
//! Invariant: objects are ours if they have the UUID that the seed gives them, and domains only with our marker besides.
//! Nothing else is ever changed: an object that has our name but not our UUID is an obstacle.

mod capabilities;
mod connection;
mod consoles;
mod definitions;
mod documents;
mod error;
mod inventory;
mod machines;
mod marker;
mod neighbours;
mod network;
mod obsolete;
mod obstacles;
mod plan;
mod privileged;
mod resources;
mod volumes;
mod xml;

pub(crate) use connection::Connection;
pub(crate) use error::LibvirtError;

pub(super) use consoles::{ConsoleSource, log_of};
pub(super) use definitions::{Domain, Infrastructure};
pub(super) use documents::{DIRECTORY, PROGRAMS, documents, version};
pub(super) use inventory::Inventory;
pub(super) use machines::{MachineState, SshTarget};
pub(super) use neighbours::Neighbours;
pub(super) use obsolete::removal_of;
pub(super) use obstacles::find as obstacles;
pub(super) use plan::{
    machine_of, machines as plan_machines, record_pivot, replaces_disk, shared as plan_shared,
};
pub(super) use privileged::{
    to_apply as privileged_to_apply, to_remove_network as privileged_to_remove_network,
};
pub(super) use resources::{create, destroy_machines, destroy_network, remove};
