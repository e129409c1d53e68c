//! The lab: a bootstrap control plane of real programs on our artifacts. Off unless `TINDERBOX_LAB` names a directory
//! with the programs; docs/lab.md says which, and where people who have a release get them.
//!
//! ```text
//! programs   the programs of TINDERBOX_LAB, or which are missing
//! node       the bootstrap node: our Ignition, applied by the real one, over this machine's root in namespaces
//! pods       its static pods as processes: exact command lines, environment and mounts; restarted as a kubelet would
//! host       what real programs must say to our artifacts
//! machine.sh a node as a systemd container, for a whole cluster by hand
//! ```

mod host;
mod node;
mod pods;
mod programs;
