//! A host's NMState document: what it says about addresses, and where its lines are.

use std::net::IpAddr;

use ipnet::IpNet;

use super::line_of;
use crate::base::hint::Place;
use crate::base::yaml::YamlNode;

#[derive(Debug, Clone)]
pub(crate) struct HostNetwork {
    /// Of the whole document.
    pub place: Place,
    pub document: YamlNode,
    /// Static addresses with their networks, in the order of the interfaces.
    pub addresses: Vec<IpNet>,
    /// Next hops of default routes.
    pub gateways: Vec<IpAddr>,
    pub dns: Vec<IpAddr>,
}

impl HostNetwork {
    pub(super) fn of(place: Place, document: &YamlNode) -> Self {
        let text = |node: &YamlNode, key: &str| node.get(key).and_then(YamlNode::text).map(str::to_owned);
        let mut addresses = Vec::new();
        for interface in document.get("interfaces").map_or(&[][..], YamlNode::items) {
            for family in ["ipv4", "ipv6"].into_iter().filter_map(|key| interface.get(key)) {
                for entry in family.get("address").map_or(&[][..], YamlNode::items) {
                    let ip = text(entry, "ip").and_then(|ip| ip.parse::<IpAddr>().ok());
                    let prefix = text(entry, "prefix-length").and_then(|prefix| prefix.parse::<u8>().ok());
                    addresses.extend(ip.zip(prefix).and_then(|(ip, prefix)| IpNet::new(ip, prefix).ok()));
                }
            }
        }
        let routes = document.get("routes").and_then(|routes| routes.get("config"));
        let is_default = |route: &&YamlNode| {
            let to = text(route, "destination").and_then(|to| to.parse::<IpNet>().ok());
            to.is_some_and(|to| to.prefix_len() == 0)
        };
        let hop = |route: &YamlNode| text(route, "next-hop-address")?.parse().ok();
        let gateways = routes.map_or(&[][..], YamlNode::items).iter().filter(is_default).filter_map(hop);
        let servers = document.get("dns-resolver").and_then(|dns| dns.get("config")?.get("server"));
        let servers = servers.map_or(&[][..], YamlNode::items).iter();
        Self {
            addresses,
            gateways: gateways.collect(),
            dns: servers.filter_map(|server| server.text()?.parse().ok()).collect(),
            place,
            document: document.clone(),
        }
    }

    /// Where a part of the document is.
    pub(crate) fn place_of(&self, path: &str) -> Place {
        let field =
            if path.is_empty() { self.place.field.clone() } else { format!("{}.{path}", self.place.field) };
        Place { file: self.place.file.clone(), line: Some(line_of(&self.document, path)), field }
    }
}
