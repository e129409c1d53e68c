//! The neighbour table of this machine: who has spoken to it from which address.
//!
//! libvirt can be asked for it (`domifaddr --source arp`), and must be where it is on another machine. On this one we look
//! ourselves: libvirt 9's reader fails on newer kernels (`wrong nlmsg len`), and a node's address would never be seen.

use std::net::IpAddr;

use serde::Deserialize;

use super::Virsh;
use super::host::{Found, ip};

/// One entry, in iproute2's words.
#[derive(Debug, Deserialize)]
pub(super) struct Neighbour {
    dst: String,
    lladdr: Option<String>,
}

/// The table, read once. None if libvirt is elsewhere, or nobody here can tell.
pub(super) struct Neighbours(Vec<Neighbour>);

impl Neighbours {
    pub(super) fn look(virsh: Virsh<'_>) -> Option<Self> {
        let said = virsh.is_local().then(|| ip(virsh, "neighbor")).flatten()?;
        read(&said).map(Self)
    }

    /// Addresses that a machine has spoken from.
    pub(super) fn of(&self, machine: &Found) -> Vec<String> {
        let devices = machine.xml.at("devices").into_iter().flat_map(|devices| devices.all("interface"));
        let macs: Vec<&str> = devices.filter_map(|one| Some(one.at("mac")?.attribute("address"))).collect();
        addresses(&self.0, &macs)
    }
}

/// None if this is no such table.
fn read(table: &[u8]) -> Option<Vec<Neighbour>> {
    serde_json::from_slice(table).ok()
}

/// The addresses of these interfaces, in order; not those that every interface has.
fn addresses(table: &[Neighbour], macs: &[&str]) -> Vec<String> {
    let is_its = |one: &&Neighbour| {
        one.lladdr.as_ref().is_some_and(|seen| macs.iter().any(|mac| mac.eq_ignore_ascii_case(seen)))
    };
    let mut found: Vec<IpAddr> = table.iter().filter(is_its).filter_map(|one| one.dst.parse().ok()).collect();
    found.retain(|address| !matches!(address, IpAddr::V6(six) if six.is_unicast_link_local()));
    found.sort();
    found.dedup();
    found.iter().map(IpAddr::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What iproute2 6.1 says.
    #[test]
    fn a_table_is_read() {
        let table = br#"[
            {"dst":"192.168.126.111","dev":"virbr-ocp4","state":["INCOMPLETE"]},
            {"dst":"192.168.126.110","dev":"virbr-ocp4","lladdr":"52:54:00:68:14:c4","state":["REACHABLE"]},
            {"dst":"192.168.126.20","dev":"virbr-ocp4","lladdr":"52:54:00:68:14:c4","state":["STALE"]},
            {"dst":"192.168.126.101","dev":"virbr-ocp4","lladdr":"52:54:00:70:8e:50","state":["STALE"]},
            {"dst":"fd00:126::110","dev":"virbr-ocp4","lladdr":"52:54:00:68:14:c4","router":null,"state":["DELAY"]},
            {"dst":"fe80::5054:ff:fe68:14c4","dev":"virbr-ocp4","lladdr":"52:54:00:68:14:c4","state":["STALE"]}]"#;
        let table = read(table).unwrap();
        let of = |macs: &[&str]| addresses(&table, macs);
        assert_eq!(of(&["52:54:00:68:14:C4"]), ["192.168.126.20", "192.168.126.110", "fd00:126::110"]);
        assert!(of(&["52:54:00:00:00:00"]).is_empty() && of(&[]).is_empty());
        assert!(read(b"Usage: ip neigh").is_none());
    }
}
