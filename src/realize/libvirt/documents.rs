//! What libvirt says about our objects, as documents for `realize gather`.

use super::connection::Connection;
use super::definitions::Definitions;
use crate::realize::provider::{Document, Program};

/// Programs that libvirt needs, and how they print their versions.
pub(super) const PROGRAMS: &[Program] = &[
    ("host/version-qemu.txt", "qemu-system-x86_64", &["--version"]),
    ("host/version-virsh.txt", "virsh", &["--version"]),
];

/// The version of libvirt: an error if it does not answer.
pub(super) fn version(connection: Connection<'_>) -> Document {
    ("libvirt/version.txt".to_owned(), connection.query(&["version"]))
}

/// Our network, pool and domains as libvirt has them now.
pub(super) fn documents(connection: Connection<'_>, desired: &Definitions) -> Vec<Document> {
    let [network, pool] = [&desired.infrastructure.network.uuid, &desired.infrastructure.pool.uuid];
    let mut queries = vec![
        ("libvirt/network.xml".to_owned(), vec!["net-dumpxml", network]),
        ("libvirt/network-info.txt".to_owned(), vec!["net-info", network]),
        ("libvirt/network-leases.txt".to_owned(), vec!["net-dhcp-leases", network]),
        ("libvirt/pool.xml".to_owned(), vec!["pool-dumpxml", pool]),
        ("libvirt/pool-info.txt".to_owned(), vec!["pool-info", pool]),
        ("libvirt/volumes.txt".to_owned(), vec!["vol-list", "--details", pool]),
    ];
    for machine in &desired.machines {
        let uuid = machine.domain.definition.uuid.as_str();
        queries.push((format!("libvirt/{}.xml", machine.desired.node), vec!["dumpxml", uuid]));
        queries.push((
            format!("libvirt/{}-state.txt", machine.desired.node),
            vec!["domstate", "--reason", uuid],
        ));
    }
    queries.into_iter().map(|(name, args)| (name, connection.query(&args))).collect()
}
