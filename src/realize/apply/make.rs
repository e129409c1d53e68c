//! One step, taken: made or removed.

use std::time::{Duration, Instant};

use super::Hands;
use crate::realize::plan::{Action, Step, Thing};
use crate::realize::wanted::Machine;
use crate::realize::{RealizeError, balancer, firewall, volumes};

/// How long a machine has to shut down before its power is cut.
const SHUTDOWN: Duration = Duration::from_secs(120);
/// How long libvirt may take to start a machine or a network.
pub(super) const START: Duration = Duration::from_secs(300);

impl Hands<'_> {
    pub(super) fn make(&self, step: &Step) -> Result<(), RealizeError> {
        let pool = &self.wanted.pool.uuid;
        let machine =
            |named: fn(&Machine) -> &str| self.wanted.machines.iter().find(|one| named(one) == step.name);
        match step.thing {
            Thing::Network => self.network(),
            Thing::Pool => self.pool(),
            Thing::Firewall => firewall::run(self.virsh, self.wanted, "open").map(drop),
            Thing::Balancer => self.balance(),
            Thing::Mark => volumes::mark(self.virsh, pool, &step.name),
            Thing::Image => {
                self.wanted.base.as_ref().map_or(Ok(()), |base| volumes::bring(self.virsh, pool, base))
            }
            Thing::Medium => match machine(|one| &one.medium.name) {
                Some(machine) => volumes::bring(self.virsh, pool, &machine.medium),
                None => Ok(()),
            },
            Thing::Disk => match machine(|one| &one.disk.name) {
                Some(machine) => {
                    if step.action == Action::Change {
                        self.forget(machine)?;
                    }
                    self.disk(machine)
                }
                None => Ok(()),
            },
            Thing::Machine => match machine(|one| &one.object.name) {
                Some(machine) => self.machine(machine),
                None => Ok(()),
            },
        }
    }

    pub(super) fn remove(&self, step: &Step) -> Result<(), RealizeError> {
        match step.thing {
            Thing::Machine => {
                self.stop(&step.name)?;
                self.virsh.ask(&["undefine", "--nvram", &step.name]).map(drop)
            }
            Thing::Network => self.off("net-destroy", &["net-undefine", &step.name]),
            Thing::Pool => self.off("pool-destroy", &["pool-undefine", &step.name]),
            _ => {
                volumes::remove(self.virsh, &self.wanted.pool.uuid, &volumes::whole(&step.name))?;
                volumes::remove(self.virsh, &self.wanted.pool.uuid, &step.name).map(drop)
            }
        }
    }

    /// Stops what may be stopped already, and forgets it.
    fn off(&self, stop: &str, forget: &[&str]) -> Result<(), RealizeError> {
        self.virsh.run(&[stop, forget[1]])?;
        self.virsh.ask(forget).map(drop)
    }

    /// Defines the pool and starts it. Its files stay, whatever changes.
    fn pool(&self) -> Result<(), RealizeError> {
        let (uuid, file) = (&self.wanted.pool.uuid, self.wanted.pool.file.display().to_string());
        let found = self.virsh.find("pools", ["pool-list", "pool-dumpxml", "pool"], uuid)?;
        let differs = found.is_none_or(|found| !self.wanted.pool.xml.differences(&found).is_empty());
        let active = self.virsh.uuids(&["pool-list"])?.contains(uuid);
        if differs {
            if active {
                self.virsh.ask(&["pool-destroy", uuid])?;
            }
            self.virsh.ask(&["pool-define", &file])?;
        }
        if differs || !active {
            self.virsh.ask(&["pool-build", uuid])?; // a directory that is there already stays
            self.virsh.ask(&["pool-start", uuid])?;
        }
        self.virsh.ask(&["pool-autostart", uuid]).map(drop)
    }

    fn balance(&self) -> Result<(), RealizeError> {
        if !self.access.may_listen() {
            return Err(RealizeError::NeedsRoot { what: "the load balancer", commands: self.commands()? });
        }
        let configuration = self.wanted.balancer(self.plan()?.pivoted);
        let running = balancer::Balancer::look(self.state)?;
        balancer::start(self.virsh, self.state, &configuration, running.as_ref())
    }

    /// What the user has to run.
    pub(super) fn commands(&self) -> Result<Vec<String>, RealizeError> {
        Ok(self.plan()?.privileged.into_iter().map(|one| one.command).collect())
    }

    /// Makes a disk, or makes it again: its machine does not run meanwhile.
    fn disk(&self, machine: &Machine) -> Result<(), RealizeError> {
        self.stop(&machine.object.uuid)?;
        volumes::remove(self.virsh, &self.wanted.pool.uuid, &machine.disk.name)?;
        volumes::create(self.virsh, &self.wanted.pool.uuid, &machine.disk, self.wanted.base.as_ref())
    }

    /// Defines a machine and starts it; one that runs and has to change is shut down first.
    fn machine(&self, machine: &Machine) -> Result<(), RealizeError> {
        let uuid = &machine.object.uuid;
        let found = self.virsh.find("machines", ["list", "dumpxml", "domain"], uuid)?;
        if found.as_ref().is_none_or(|found| !machine.object.xml.differences(found).is_empty()) {
            if found.is_some() {
                self.shut_down(uuid)?;
            }
            self.virsh.ask(&["define", &machine.object.file.display().to_string()])?;
        }
        match self.virsh.uuids(&["list"])?.contains(uuid) {
            true => Ok(()),
            false => self.virsh.ask_for(START, &["start", uuid]).map(drop),
        }
    }

    /// Asks a machine to end, and ends it if it does not.
    fn shut_down(&self, uuid: &String) -> Result<(), RealizeError> {
        let runs = || Ok::<_, RealizeError>(self.virsh.uuids(&["list"])?.contains(uuid));
        if !runs()? {
            return Ok(());
        }
        self.virsh.run(&["shutdown", uuid])?;
        let end = Instant::now() + SHUTDOWN;
        while runs()? {
            if Instant::now() > end || self.virsh.is_cancelled() {
                return self.stop(uuid);
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }

    /// Cuts a machine's power, if it has any.
    pub(in crate::realize) fn stop(&self, machine: &str) -> Result<(), RealizeError> {
        let ended = self.virsh.run(&["destroy", machine])?;
        let gone = ["domain is not running", "failed to get domain", "Domain not found"];
        match ended.is_success() || gone.iter().any(|words| ended.stderr.contains(words)) {
            true => Ok(()),
            false => Err(self.virsh.failed(&["destroy", machine], &ended)),
        }
    }
}
