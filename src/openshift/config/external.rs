//! Machines that `realize` does not make: `machines: external`.
//!
//! What describes a virtual machine is refused, since nothing would follow from it; what the seed or a default says of a virtual
//! machine is required, since a real one has its own.

use super::fragment::join;
use super::inputs::{INSTALLATION_DISK, Inputs};
use super::words::Machines;
use crate::base::hint::Problems;

/// Fields of cluster.yaml that describe what `realize` would make on libvirt, and why they would do nothing.
const OF_LIBVIRT: [(&str, &str); 2] = [
    ("libvirt", "with `machines: external`, nothing is made on libvirt"),
    ("network.dhcp", "with `machines: external`, tinderbox runs no DHCP server: yours decides"),
];

/// Fields of a node that describe its virtual machine.
const SIZES: [&str; 3] = ["vcpus", "memory", "disk"];

/// The rule: fields that make no sense for machines of the user's own, and fields that only they need.
pub(super) fn fields(inputs: &Inputs<'_>, problems: &mut Problems) {
    let cluster = inputs.cluster;
    if cluster.get("machines") != Some(&Machines::External) {
        return;
    }
    for (field, why) in OF_LIBVIRT {
        if cluster.wrote(field) {
            cluster.report(problems, field, why, "remove it");
        }
    }
    for node in &inputs.nodes {
        let field = |name: &str| join(&node.field, name);
        for size in SIZES.map(field).iter().filter(|size| cluster.wrote(size)) {
            let message = "with `machines: external`, the machine is as large as it is";
            cluster.report(problems, size, message, "remove it");
        }
        if !cluster.wrote(&field("mac")) && !cluster.wrote(&field("interfaces")) {
            let message = "required with `machines: external`, but missing";
            let hint =
                "the address of the machine's port, by which its network and its boot medium recognise it";
            cluster.report(problems, &field("mac"), message, hint);
        }
        let has_disk = inputs.in_place().is_some() && inputs.wrote(INSTALLATION_DISK);
        if !cluster.wrote(&field("installDevice")) && !has_disk {
            let message = "required with `machines: external`, but missing";
            let hint = "the disk that is overwritten, such as `/dev/nvme0n1` or `/dev/disk/by-path/…`; machines of your own \
                        have no common default";
            cluster.report(problems, &field("installDevice"), message, hint);
        }
    }
}
