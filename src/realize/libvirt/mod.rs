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
//! | `provider` | all of that as [`Provider`](crate::realize::provider::Provider) and its inventory |
//! | `resources`, `network`, `volumes` | taking a step |
//! | `machines`, `neighbours`, `consoles`, `documents` | what libvirt knows about a machine: state, addresses, console, XML |
//! | `error` | what can go wrong |
//!
//! The rest of `realize` knows it as one of the two [providers](crate::realize::provider) (tested).
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
mod provider;
mod resources;
mod volumes;
mod xml;

pub(crate) use definitions::Definitions;
pub(crate) use error::LibvirtError;
pub(crate) use provider::Libvirt;

use inventory::Inventory;
use neighbours::Neighbours;
