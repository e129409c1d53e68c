//! The neighbour table of this machine: which address each machine was last seen with.
//!
//! libvirt can be asked for it (`domifaddr --source arp`), and has to be where it runs on another host. On this one we
//! read the table ourselves: libvirt 9's reader fails on newer kernels (`wrong nlmsg len`).

use std::net::IpAddr;

use serde::Deserialize;

use super::connection::Connection;
use super::inventory::{Observed, ip};

/// One entry, with iproute2's field names.
#[derive(Debug, Deserialize)]
struct Neighbour {
    dst: String,
    lladdr: Option<String>,
}

/// The table, read once. None if libvirt runs elsewhere, or `ip` fails.
pub(crate) struct Neighbours(Vec<Neighbour>);

impl Neighbours {
    pub(crate) fn read(connection: Connection<'_>) -> Option<Self> {
        let printed = connection.is_local().then(|| ip(connection, "neighbor")).flatten()?;
        parse(&printed).map(Self)
    }

    /// The addresses that a machine was seen with.
    pub(super) fn of(&self, domain: &Observed) -> Vec<String> {
        let devices = domain.xml.at("devices").into_iter().flat_map(|devices| devices.all("interface"));
        let macs: Vec<&str> = devices.filter_map(|one| Some(one.at("mac")?.attribute("address"))).collect();
        addresses(&self.0, &macs)
    }
}

fn parse(table: &[u8]) -> Option<Vec<Neighbour>> {
    serde_json::from_slice(table).ok()
}

/// The addresses of these interfaces in order, without link-local ones, which every interface has.
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

    /// Output of iproute2 6.1.
    #[test]
    fn addresses_are_found_by_mac() {
        let table = br#"[
            {"dst":"192.168.126.111","dev":"virbr-ocp4","state":["INCOMPLETE"]},
            {"dst":"192.168.126.110","dev":"virbr-ocp4","lladdr":"52:54:00:68:14:c4","state":["REACHABLE"]},
            {"dst":"192.168.126.20","dev":"virbr-ocp4","lladdr":"52:54:00:68:14:c4","state":["STALE"]},
            {"dst":"192.168.126.101","dev":"virbr-ocp4","lladdr":"52:54:00:70:8e:50","state":["STALE"]},
            {"dst":"fd00:126::110","dev":"virbr-ocp4","lladdr":"52:54:00:68:14:c4","router":null,"state":["DELAY"]},
            {"dst":"fe80::5054:ff:fe68:14c4","dev":"virbr-ocp4","lladdr":"52:54:00:68:14:c4","state":["STALE"]}]"#;
        let table = parse(table).unwrap();
        let of = |macs: &[&str]| addresses(&table, macs);
        assert_eq!(of(&["52:54:00:68:14:C4"]), ["192.168.126.20", "192.168.126.110", "fd00:126::110"]);
        assert!(of(&["52:54:00:00:00:00"]).is_empty() && of(&[]).is_empty());
        assert!(parse(b"Usage: ip neigh").is_none());
    }
}
