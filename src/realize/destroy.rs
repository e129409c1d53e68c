//! Everything that `apply` made, removed: exactly that, and nothing else.

use serde::Serialize;

use super::apply::Hands;
use super::balancer::Balancer;
use super::host::PIVOTED;
use super::leftover::brought;
use super::{Host, Privileged, RealizeError, firewall, privileged, volumes};
use crate::base::event::Event;

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Destroyed {
    /// Kinds and names, in order.
    pub removed: Vec<(String, String)>,
    /// What was left, and why.
    pub left: Vec<String>,
    /// What only root can remove, as commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub privileged: Vec<Privileged>,
}

impl Hands<'_> {
    /// Removes what is ours on the host. What is not there is not missed.
    pub(crate) fn destroy(&self) -> Result<Destroyed, RealizeError> {
        let held = self.state.lock()?;
        let host = Host::look(self.virsh, self.wanted, self.state, self.access)?;
        let mut done = Destroyed::default();
        self.machines(&host, &mut done)?;
        self.files(&host, &mut done)?;
        let mut others = Vec::new();
        for balancer in Balancer::all(self.state)? {
            match balancer.stop()? {
                true => self.gone(&mut done, "load balancer", "haproxy"),
                false => others.push(balancer.pid()),
            }
        }
        if self.access.root && self.access.local && firewall::missing(self.virsh, self.wanted).is_some() {
            firewall::run(self.virsh, self.wanted, "close")?;
        }
        let network = host.networks.iter().find(|network| network.uuid == self.wanted.network.uuid);
        if let Some(network) = network.filter(|_| !self.virsh.is_session()) {
            if network.active {
                self.virsh.ask(&["net-destroy", &network.uuid])?;
            }
            self.virsh.ask(&["net-undefine", &network.uuid])?;
            self.gone(&mut done, "network", &network.name);
        }
        let systems = network.is_some() && self.virsh.is_session();
        let made = !done.removed.is_empty() || systems || !others.is_empty();
        if made {
            done.privileged = privileged::leftovers(self.wanted, &others, systems, self.access);
        }
        drop(held);
        self.state.remove()?;
        Ok(done)
    }

    fn machines(&self, host: &Host, done: &mut Destroyed) -> Result<(), RealizeError> {
        let ours = |mark: super::wanted::Mark| mark.cluster == self.wanted.cluster;
        for machine in host.machines.iter().filter(|machine| machine.mark().is_some_and(ours)) {
            self.stop(&machine.uuid)?;
            self.virsh.ask(&["undefine", "--nvram", &machine.uuid])?;
            self.gone(done, "machine", &machine.name);
        }
        Ok(())
    }

    /// The files that we brought or let machines write, then the pool; its directory only if it is empty then.
    fn files(&self, host: &Host, done: &mut Destroyed) -> Result<(), RealizeError> {
        let Some(pool) = host.pools.iter().find(|pool| pool.uuid == self.wanted.pool.uuid) else {
            return Ok(());
        };
        if !pool.active {
            self.virsh.ask(&["pool-start", &pool.uuid])?;
        }
        let nodes: Vec<String> = host
            .machines
            .iter()
            .filter_map(|machine| machine.mark().filter(|mark| mark.cluster == self.wanted.cluster))
            .map(|mark| mark.node)
            .chain(self.wanted.machines.iter().map(|machine| machine.node.clone()))
            .collect();
        let ours = |name: &str| {
            let bare = name.strip_suffix(".ok").unwrap_or(name);
            brought(bare).is_some()
                || name == PIVOTED
                || nodes.iter().any(|node| {
                    let rest = name.strip_prefix(node.as_str());
                    rest.is_some_and(|rest| rest == ".qcow2" || rest == ".log" || rest.starts_with(".log."))
                })
        };
        let files = super::host::volumes(self.virsh, &pool.uuid)?;
        for name in files.iter().filter(|name| ours(name)) {
            if volumes::remove(self.virsh, &pool.uuid, name)? && !name.ends_with(".ok") && name != PIVOTED {
                self.gone(done, kind(name), name);
            }
        }
        self.virsh.ask(&["pool-destroy", &pool.uuid])?;
        if !self.virsh.run(&["pool-delete", &pool.uuid])?.is_success() {
            done.left.push(format!("the directory `{}`: others have files in it", self.wanted.directory));
        }
        self.virsh.ask(&["pool-undefine", &pool.uuid])?;
        self.gone(done, "pool", &pool.name);
        Ok(())
    }

    fn gone(&self, done: &mut Destroyed, what: &str, name: &str) {
        done.removed.push((what.to_owned(), name.to_owned()));
        self.events.emit(Event::Step {
            phase: "destroy",
            action: "remove",
            thing: "",
            name: format!("{what} {name}"),
            milliseconds: 0,
        });
    }
}

/// What a file of ours is, by its name.
fn kind(name: &str) -> &'static str {
    match brought(name) {
        Some(thing) => thing.as_str(),
        None if name.ends_with(".qcow2") => "disk",
        None => "console log",
    }
}
