//! The network: made, started, and changed while machines are in it.
//!
//! Names can be changed in a network that runs. For anything else it has to be stopped, which cuts its machines off: that is
//! refused while one of them runs.

use super::Hands;
use super::make::START;
use crate::realize::host::Found;
use crate::realize::wanted::Machine;
use crate::realize::xml::Element;
use crate::realize::{Host, RealizeError};

/// What libvirt can change in a network that runs: elements below `dns`, and what it calls them.
const LIVE: [(&str, &str); 2] = [("host", "dns-host"), ("srv", "dns-srv")];

impl Hands<'_> {
    /// Makes the network as it should be.
    pub(super) fn network(&self) -> Result<(), RealizeError> {
        if self.virsh.is_session() {
            return Err(RealizeError::NeedsRoot { what: "the network", commands: self.commands()? });
        }
        let (uuid, file) = (&self.wanted.network.uuid, self.wanted.network.file.display().to_string());
        let host = Host::look(self.virsh, self.wanted, self.state, self.access)?;
        let found = host.networks.iter().find(|network| network.uuid == *uuid);
        let differs = found.is_none_or(|found| !self.wanted.network.xml.differences(&found.xml).is_empty());
        let running = found.filter(|found| found.active);
        match running {
            Some(found) if differs => self.change_network(&host, found, &file)?,
            Some(_) => {}
            None => {
                if differs {
                    self.virsh.ask(&["net-define", &file])?;
                }
                self.virsh.ask_for(START, &["net-start", uuid])?;
            }
        }
        self.virsh.ask(&["net-autostart", uuid]).map(drop)
    }

    /// Changes one that runs.
    fn change_network(&self, host: &Host, found: &Found, file: &str) -> Result<(), RealizeError> {
        let uuid = &found.uuid;
        if let Some(changes) = names(&self.wanted.network.xml, &found.xml) {
            for (verb, section, xml) in changes {
                let args = ["net-update", uuid, verb, section, "--xml", &xml, "--live", "--config"];
                self.virsh.ask(&args)?;
            }
            return Ok(());
        }
        let runs = |machine: &&Machine| {
            host.machines.iter().any(|one| one.active && one.uuid == machine.object.uuid)
        };
        let machines: Vec<String> =
            self.wanted.machines.iter().filter(runs).map(|one| one.object.name.clone()).collect();
        if !machines.is_empty() {
            return Err(RealizeError::InUse { name: found.name.clone(), machines });
        }
        self.virsh.ask(&["net-destroy", uuid])?;
        self.virsh.ask(&["net-define", file])?;
        self.virsh.ask_for(START, &["net-start", uuid]).map(drop)
    }
}

/// What has to be taken out and put in, if names are all that differs.
fn names(wanted: &Element, found: &Element) -> Option<Vec<(&'static str, &'static str, String)>> {
    let known = |path: &str| LIVE.iter().any(|(name, _)| path.starts_with(&format!("dns/{name}")));
    if !wanted.differences(found).iter().all(|difference| known(&difference.path)) {
        return None;
    }
    let (wanted, found) = (wanted.at("dns")?, found.at("dns")?);
    let without = |one: &Element, other: &Element, name: &str| -> Vec<String> {
        let same = |element: &Element| other.all(name).any(|there| there.is_same(element));
        one.all(name).filter(|element| !same(element)).map(Element::to_xml).collect()
    };
    let mut changes = Vec::new();
    for (verb, one, other) in [("delete", found, wanted), ("add", wanted, found)] {
        for (name, section) in LIVE {
            changes.extend(without(one, other, name).into_iter().map(|xml| (verb, section, xml)));
        }
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(dns: &str, bridge: &str) -> Element {
        let text = format!("<network><bridge name='{bridge}'/><dns>{dns}</dns></network>");
        Element::parse("a test", &text).unwrap()
    }

    #[test]
    fn names_are_changed_and_nothing_else() {
        let host = |ip: &str, name: &str| format!("<host ip='{ip}'><hostname>{name}</hostname></host>");
        let found = parse(&(host("1", "a") + &host("2", "b&amp;c")), "x");
        let wanted = parse(&(host("1", "a") + &host("3", "b")), "x");
        let changes = names(&wanted, &found).unwrap();
        let told: Vec<String> =
            changes.iter().map(|(verb, section, xml)| format!("{verb} {section} {xml}")).collect();
        assert_eq!(
            told,
            [
                r#"delete dns-host <host ip="2"><hostname>b&amp;c</hostname></host>"#,
                r#"add dns-host <host ip="3"><hostname>b</hostname></host>"#
            ]
        );
        assert_eq!(names(&parse("", "y"), &found), None);
    }
}
