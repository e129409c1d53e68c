//! What a document says about a node, as far as checks ask: its interfaces, addresses, routes and DNS.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::{elements, name_of};
use crate::base::value::Value;

/// The routing table that everything uses, by its two numbers.
const MAIN: [i64; 2] = [0, 254];

#[derive(Debug, Default)]
pub(crate) struct Survey<'d> {
    /// Names of interfaces that the document describes.
    pub(crate) interfaces: BTreeSet<&'d str>,
    /// Names of interfaces that others have as ports.
    pub(crate) attached: BTreeSet<&'d str>,
    /// Names of interfaces that others are on top of.
    pub(crate) below: BTreeSet<&'d str>,
    /// Static addresses.
    pub(crate) addresses: Vec<IpAddr>,
    /// Whether some interface gets IPv4 or IPv6 addresses from the network.
    pub(crate) dynamic: [bool; 2],
    /// Whether there is a default route for IPv4 or IPv6 that everything uses, or the network may bring one.
    pub(crate) default_route: [bool; 2],
    /// Whether there is a DNS server, or the network may bring one.
    pub(crate) dns: bool,
}

impl<'d> Survey<'d> {
    pub(crate) fn of(document: &'d Value) -> Self {
        let mut survey = Self::default();
        for interface in elements(document, &["interfaces"]) {
            survey.interfaces.insert(name_of(interface));
            survey.attached.extend(ports(interface).filter(|name| !name.is_empty()));
            survey.below.extend(base(interface));
            if interface.get("state").and_then(Value::as_text) == Some("down") {
                continue; // its addresses are nobody's
            }
            for (at, family) in ["ipv4", "ipv6"].into_iter().enumerate() {
                let Some(own) = interface.get(family) else { continue };
                let on = |key: &str| own.get(key).is_some_and(Value::is_truthy);
                if !on("enabled") {
                    continue;
                }
                if on("dhcp") || on("autoconf") {
                    let is_off = |key: &str| own.get(key) == Some(&Value::Bool(false));
                    survey.dynamic[at] = true;
                    survey.default_route[at] |= !is_off("auto-routes")
                        && !is_off("auto-gateway")
                        && own.get("auto-route-table-id").is_none();
                    survey.dns |= !is_off("auto-dns");
                }
                let address =
                    |entry: &Value| entry.get("ip").and_then(Value::as_text)?.parse::<IpAddr>().ok();
                survey.addresses.extend(elements(own, &["address"]).filter_map(address));
            }
        }
        for route in elements(document, &["routes", "config"]) {
            let to: Option<IpNet> =
                route.get("destination").and_then(Value::as_text).and_then(|to| to.parse().ok());
            let table = route.get("table-id").and_then(Value::as_int).unwrap_or(0);
            if let Some(to) = to.filter(|to| to.prefix_len() == 0 && MAIN.contains(&table)) {
                survey.default_route[usize::from(to.addr().is_ipv6())] = true;
            }
        }
        survey.dns |= elements(document, &["dns-resolver", "config", "server"]).next().is_some();
        survey
    }

    /// Every interface that the document names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'d str> {
        self.interfaces.union(&self.attached).copied()
    }
}

/// Fields of an interface with the name of another that it is on top of.
pub(super) const STACKED: [&str; 7] =
    ["vlan", "vxlan", "mac-vlan", "mac-vtap", "ipvlan", "infiniband", "macsec"];

/// What an interface is on top of.
pub(super) fn base(interface: &Value) -> Option<&str> {
    STACKED.iter().find_map(|kind| interface.get(kind)?.get("base-iface")?.as_text())
}

/// The ports of a bond, bridge or VRF, and those of bonds in an OVS bridge.
pub(super) fn ports(interface: &Value) -> impl Iterator<Item = &str> {
    const LISTS: [&[&str]; 4] = [
        &["link-aggregation", "port"],
        &["link-aggregation", "slaves"],
        &["bridge", "port"],
        &["vrf", "port"],
    ];
    let configured = elements(interface, &["link-aggregation", "ports-config"]);
    let bonds = elements(interface, &["bridge", "port"]);
    let bonded = bonds.flat_map(|bond| elements(bond, &["link-aggregation", "port"]));
    let hsr = ["port1", "port2"].into_iter().filter_map(|key| interface.get("hsr")?.get(key));
    let listed = LISTS
        .into_iter()
        .flat_map(|keys| elements(interface, keys))
        .chain(hsr)
        .chain(configured)
        .chain(bonded);
    listed.filter_map(|port| port.as_text().or_else(|| port.get("name")?.as_text()))
}
