//! The network: created, started, and changed while machines are attached to it.
//!
//! DNS records of an active network can be changed in place. Any other change needs a restart, which cuts its machines off:
//! that is refused while one of them runs.

use super::LibvirtError;
use super::connection::Connection;
use super::definitions::Definitions;
use super::inventory::{Inventory, Observed};
use super::resources::START;
use super::xml::Element;
use crate::realize::Result;

/// What `net-update` can change in place: elements below `dns`, and its names for them.
const LIVE: [(&str, &str); 2] = [("host", "dns-host"), ("srv", "dns-srv")];

/// The name of a network's bridge.
pub(super) fn bridge(network: &Element) -> &str {
    network.at("bridge").map_or("", |bridge| bridge.attribute("name"))
}

/// Creates, updates or starts the network.
pub(super) fn create(connection: Connection<'_>, desired: &Definitions) -> Result<()> {
    let network = &desired.infrastructure.network;
    let (uuid, file) = (&network.uuid, network.file.display().to_string());
    let inventory = Inventory::read(connection, desired)?;
    let found = inventory.networks.iter().find(|found| found.uuid == *uuid);
    let differs = found.is_none_or(|found| !network.xml.differences(&found.xml).is_empty());
    match found.filter(|found| found.active) {
        Some(found) if differs => change(connection, desired, &inventory, found)?,
        Some(_) => {}
        None => {
            if differs {
                connection.query(&["net-define", &file])?;
            }
            connection.query_within(START, &["net-start", uuid])?;
        }
    }
    connection.query(&["net-autostart", uuid]).map(drop)
}

/// Changes an active network.
fn change(
    connection: Connection<'_>,
    desired: &Definitions,
    inventory: &Inventory,
    found: &Observed,
) -> Result<()> {
    let (network, uuid) = (&desired.infrastructure.network, &found.uuid);
    if let Some(updates) = dns_updates(&network.xml, &found.xml) {
        for (verb, section, xml) in updates {
            let args = ["net-update", uuid, verb, section, "--xml", &xml, "--live", "--config"];
            connection.query(&args)?;
        }
        return Ok(());
    }
    let running = desired.machines.iter().filter(|machine| inventory.is_running(machine));
    let machines: Vec<String> = running.map(|machine| machine.domain.definition.name.clone()).collect();
    if !machines.is_empty() {
        return Err(LibvirtError::NetworkInUse { name: found.name.clone(), machines }.into());
    }
    connection.query(&["net-destroy", uuid])?;
    connection.query(&["net-define", &network.file.display().to_string()])?;
    connection.query_within(START, &["net-start", uuid]).map(drop)
}

/// The records to delete and to add, if DNS records are all that differs.
fn dns_updates(desired: &Element, found: &Element) -> Option<Vec<(&'static str, &'static str, String)>> {
    let known = |path: &str| LIVE.iter().any(|(name, _)| path.starts_with(&format!("dns/{name}")));
    if !desired.differences(found).iter().all(|difference| known(&difference.path)) {
        return None;
    }
    let (desired, found) = (desired.at("dns")?, found.at("dns")?);
    let without = |one: &Element, other: &Element, name: &str| -> Vec<String> {
        let same = |element: &Element| other.all(name).any(|there| there.is_same(element));
        one.all(name).filter(|element| !same(element)).map(Element::to_xml).collect()
    };
    let mut updates = Vec::new();
    for (verb, one, other) in [("delete", found, desired), ("add", desired, found)] {
        for (name, section) in LIVE {
            updates.extend(without(one, other, name).into_iter().map(|xml| (verb, section, xml)));
        }
    }
    Some(updates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(dns: &str, bridge: &str) -> Element {
        let text = format!("<network><bridge name='{bridge}'/><dns>{dns}</dns></network>");
        Element::parse("a test", &text).unwrap()
    }

    #[test]
    fn dns_records_are_updated_in_place() {
        let host = |ip: &str, name: &str| format!("<host ip='{ip}'><hostname>{name}</hostname></host>");
        let found = parse(&(host("1", "a") + &host("2", "b&amp;c")), "x");
        let desired = parse(&(host("1", "a") + &host("3", "b")), "x");
        let updates = dns_updates(&desired, &found).unwrap();
        let told: Vec<String> =
            updates.iter().map(|(verb, section, xml)| format!("{verb} {section} {xml}")).collect();
        assert_eq!(
            told,
            [
                r#"delete dns-host <host ip="2"><hostname>b&amp;c</hostname></host>"#,
                r#"add dns-host <host ip="3"><hostname>b</hostname></host>"#
            ]
        );
        assert_eq!(dns_updates(&parse("", "y"), &found), None);
    }
}
